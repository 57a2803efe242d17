"""Only a verified token identifies a caller. Every other token is refused with its reason."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import example, given
from hypothesis import strategies as st

from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason
from service.rpc.authentication import Authenticator, Issuer
from service.rpc.call import Caller
from service.rpc.errors import Refused
from service.rpc.revocations import Revocations
from service.rpc.token_keys import KeySet, parse_key_set
from tests.service.tokens import (
    AUDIENCE,
    ISSUER,
    base64url,
    claims,
    jwk,
    metadata,
    sign,
    signing_input,
)

MISSING = reasons.ERROR_REASON_TOKEN_MISSING
INVALID = reasons.ERROR_REASON_TOKEN_INVALID
EXPIRED = reasons.ERROR_REASON_TOKEN_EXPIRED


@pytest.fixture(scope="module")
def ed_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


@pytest.fixture(scope="module")
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


def authenticator_for(keys: KeySet, **options: Any) -> Authenticator:
    settings = {"issuer": Issuer(ISSUER, AUDIENCE), "leeway_seconds": 5, "cache_size": 100}
    return Authenticator(keys, Revocations(), **{**settings, **options})


@pytest.fixture
async def keys(
    tmp_path: Path,
    ed_key: ed25519.Ed25519PrivateKey,
    ec_key: ec.EllipticCurvePrivateKey,
    rsa_key: rsa.RSAPrivateKey,
) -> KeySet:
    path = tmp_path / "jwks.json"
    pairs: dict[str, Any] = {"ed": ed_key, "ec": ec_key, "rsa": rsa_key}
    entries = [jwk(key.public_key(), key_id) for key_id, key in pairs.items()]
    secret = {"kty": "oct", "kid": "secret", "k": base64url(b"s" * 32).decode()}
    path.write_text(json.dumps({"keys": [*entries, secret]}))
    key_set = KeySet(
        str(path), refresh_seconds=300, retry_seconds=30, timeout_seconds=5, stale_seconds=600
    )
    await key_set.load()
    return key_set


@pytest.fixture
def authenticator(keys: KeySet) -> Authenticator:
    return authenticator_for(keys)


async def refusal_of(
    authenticator: Authenticator, header: dict[str, str | bytes]
) -> ErrorReason.ValueType:
    with pytest.raises(Refused) as refused:
        await authenticator.authenticate(header)
    return refused.value.refusal.reason


async def test_a_valid_token_identifies_its_caller(
    authenticator: Authenticator, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    exp = int(time.time()) + 60
    token = sign(ed_key, "EdDSA", "ed", name="Ann", roles=["player", "juggler"], exp=exp)
    caller = await authenticator.authenticate(metadata(token))
    assert caller == Caller("ann", "Ann", frozenset({"player"}), float(exp))


async def test_every_accepted_algorithm_works(
    authenticator: Authenticator,
    ed_key: ed25519.Ed25519PrivateKey,
    ec_key: ec.EllipticCurvePrivateKey,
    rsa_key: rsa.RSAPrivateKey,
) -> None:
    for key, algorithm, key_id in (
        (ed_key, "EdDSA", "ed"),
        (ec_key, "ES256", "ec"),
        (rsa_key, "RS256", "rsa"),
    ):
        caller = await authenticator.authenticate(metadata(sign(key, algorithm, key_id)))
        assert caller.subject == "ann"


async def test_a_call_without_a_token_is_TOKEN_MISSING(authenticator: Authenticator) -> None:
    for header in ({}, {"authorization": ""}, {"authorization": "Bearer  "}):
        assert await refusal_of(authenticator, header) == MISSING  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "chess"},
        {"aud": ["chess", "go"]},
        {"iss": "https://elsewhere.test"},
        {"exp": None},
        {"sub": None},
        {"aud": None},
        {"iss": None},
        {"exp": "soon"},
        {"exp": {"at": 1}},
        {"exp": 1e300 * 1e300},
        {"sub": 7},
        {"sub": ""},
        {"sub": "a" * 256},
        {"sub": "ann\n"},
        {"sub": "ann lee"},
        {"sub": "Анна"},
        {"roles": "player"},
        {"roles": [1]},
        {"roles": ["x"] * 1_000},
        {"nbf": 4_000_000_000},
        {"iat": 4_000_000_000},
    ],
    ids=repr,
)
async def test_wrong_and_missing_claims_are_refused(
    authenticator: Authenticator, ed_key: ed25519.Ed25519PrivateKey, changes: dict[str, Any]
) -> None:
    payload = json.dumps(claims(**changes)).encode()
    token = signed_by_hand(ed_key, payload)
    assert await refusal_of(authenticator, metadata(token)) == INVALID


NESTED = {"realm_access": {"roles": ["player", "offline_access"]}}
DOTTED = "https://game.example/roles"


@pytest.mark.parametrize(
    ("path", "given", "roles"),
    [
        ("realm_access.roles", NESTED, {"player"}),
        ("access.durak.roles", {"access": {"durak": {"roles": ["player"]}}}, {"player"}),
        (DOTTED, {DOTTED: ["operator"]}, {"operator"}),
        ("realm_access.roles", {"realm_access.roles": ["auditor"], **NESTED}, {"auditor"}),
        ("realm_access.roles", {}, set()),
        ("realm_access.roles", {"realm_access": {}}, set()),
        ("realm_access.roles", {"roles": ["operator"]}, set()),
        (DOTTED, {"https://game": {"example/roles": ["player"]}}, {"player"}),
        (DOTTED, {"https://game": {}}, set()),
    ],
)  # fmt: skip
async def test_roles_are_read_from_the_claim_that_the_operator_names(
    keys: KeySet,
    ed_key: ed25519.Ed25519PrivateKey,
    path: str,
    given: dict[str, Any],
    roles: set[str],
) -> None:
    authenticator = authenticator_for(keys, issuer=Issuer(ISSUER, AUDIENCE, path))
    token = sign(ed_key, "EdDSA", "ed", **{"roles": None, **given})
    assert (await authenticator.authenticate(metadata(token))).roles == roles


@pytest.mark.parametrize(
    "found",
    [
        *("roles", 7, True, None, ["roles"]),
        *(
            {"roles": it}
            for it in ("player", None, {"player": True}, [["player"]], ["player", None])
        ),
        {"roles": ["player"] * 65},
    ],
    ids=repr,
)
async def test_roles_of_another_shape_are_refused(
    keys: KeySet, ed_key: ed25519.Ed25519PrivateKey, found: object
) -> None:
    authenticator = authenticator_for(
        keys, issuer=Issuer(ISSUER, AUDIENCE, "realm.roles", "player")
    )
    payload = json.dumps({**claims(), "realm": found}).encode()
    assert await refusal_of(authenticator, metadata(signed_by_hand(ed_key, payload))) == INVALID


async def test_claims_nested_to_any_depth_are_refused_or_ignored(
    keys: KeySet, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    deep = '{"realm":' * 500 + "[]" + "}" * 500
    payload = json.dumps(claims()).removesuffix("}") + f', "realm": {deep}}}'
    token = metadata(signed_by_hand(ed_key, payload.encode()))
    authenticator = authenticator_for(keys, issuer=Issuer(ISSUER, AUDIENCE, "realm.roles"))
    assert (await authenticator.authenticate(token)).roles == set()
    authenticator = authenticator_for(keys, issuer=Issuer(ISSUER, AUDIENCE, "realm.realm"))
    assert await refusal_of(authenticator, token) == INVALID


async def test_the_default_role_is_for_tokens_without_the_claim_only(
    keys: KeySet, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    authenticator = authenticator_for(keys, issuer=Issuer(ISSUER, AUDIENCE, default_role="player"))
    for listed, roles in ((None, {"player"}), ([], set()), (["auditor"], {"auditor"})):
        token = sign(ed_key, "EdDSA", "ed", roles=listed)
        assert (await authenticator.authenticate(metadata(token))).roles == roles


def signed_by_hand(key: ed25519.Ed25519PrivateKey, payload: bytes) -> str:
    """Return a token with a valid signature that no library would make."""
    signed = signing_input({"alg": "EdDSA", "kid": "ed"}, payload)
    return (signed + b"." + base64url(key.sign(signed))).decode()


async def test_an_expired_token_is_TOKEN_EXPIRED(
    authenticator: Authenticator, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    for seconds_ago in (1, 3_600):  # `exp` has no leeway
        token = sign(ed_key, "EdDSA", "ed", exp=int(time.time()) - seconds_ago)
        assert await refusal_of(authenticator, metadata(token)) == EXPIRED


async def test_a_forged_token_is_refused(authenticator: Authenticator) -> None:
    other = ed25519.Ed25519PrivateKey.generate()
    assert await refusal_of(authenticator, metadata(sign(other, "EdDSA", "ed"))) == INVALID
    assert await refusal_of(authenticator, metadata(sign(other, "EdDSA", "other"))) == INVALID
    assert await refusal_of(authenticator, metadata(sign(other, "EdDSA"))) == INVALID


async def test_a_changed_payload_is_refused(
    authenticator: Authenticator, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    header, _, signature = sign(ed_key, "EdDSA", "ed").split(".")
    payload = base64url(json.dumps(claims(sub="bob")).encode()).decode()
    assert await refusal_of(authenticator, metadata(f"{header}.{payload}.{signature}")) == INVALID


async def test_the_algorithm_none_is_refused(authenticator: Authenticator) -> None:
    for alg in ("none", "None", "NONE"):
        for key_id in ("ed", "rsa"):
            token = signing_input({"alg": alg, "kid": key_id}, json.dumps(claims()).encode()) + b"."
            assert await refusal_of(authenticator, metadata(token.decode())) == INVALID


async def test_HS256_with_a_public_key_as_the_secret_is_refused(
    authenticator: Authenticator, rsa_key: rsa.RSAPrivateKey, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    pem, spki = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    for key_id, key in (("rsa", rsa_key), ("ed", ed_key)):
        secret = key.public_key().public_bytes(pem, spki)
        signed = signing_input({"alg": "HS256", "kid": key_id}, json.dumps(claims()).encode())
        token = signed + b"." + base64url(hmac.digest(secret, signed, hashlib.sha256))
        assert await refusal_of(authenticator, metadata(token.decode())) == INVALID


async def test_a_secret_in_the_key_set_is_not_used(authenticator: Authenticator) -> None:
    assert await refusal_of(authenticator, metadata(sign(b"s" * 32, "HS256", "secret"))) == INVALID


async def test_a_key_accepts_only_its_own_algorithm(
    authenticator: Authenticator, rsa_key: rsa.RSAPrivateKey
) -> None:
    for algorithm in ("RS512", "PS256"):
        assert await refusal_of(authenticator, metadata(sign(rsa_key, algorithm, "rsa"))) == INVALID


async def test_a_huge_token_is_refused(
    authenticator: Authenticator, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    token = sign(ed_key, "EdDSA", "ed", note="x" * 10_000)
    assert await refusal_of(authenticator, metadata(token)) == INVALID


@given(st.one_of(st.text(max_size=300), st.binary(max_size=300).map(lambda b: b.decode("latin-1"))))
@example("Bearer " + "." * 1_000)
@example("Bearer " + base64url(b"[" * 4_000).decode() + "..")
@example("Bearer " + base64url(b'{"alg":[],"kid":{}}').decode() + ".e30.")
async def test_random_headers_are_refused(header: str) -> None:
    key_set = KeySet(
        "/nowhere",
        refresh_seconds=300,
        retry_seconds=30,
        timeout_seconds=5,
        stale_seconds=float("inf"),
    )
    authenticator = authenticator_for(key_set)
    for value in (header, f"Bearer {header}"):
        assert await refusal_of(authenticator, {"authorization": value}) in {MISSING, INVALID}
    assert await refusal_of(authenticator, {"authorization": header.encode()}) in {MISSING, INVALID}


async def test_a_verified_token_is_cached_until_it_expires(
    keys: KeySet, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    now = time.time()
    times = iter([now, now + 59, now + 61])
    authenticator = authenticator_for(keys, clock=lambda: next(times))
    header = metadata(sign(ed_key, "EdDSA", "ed", exp=int(now) + 60))
    first = await authenticator.authenticate(header)
    assert await authenticator.authenticate(header) is first
    assert await refusal_of(authenticator, header) == EXPIRED


async def test_the_cache_is_bounded(keys: KeySet, ed_key: ed25519.Ed25519PrivateKey) -> None:
    authenticator = authenticator_for(keys, cache_size=3)
    for number in range(10):
        await authenticator.authenticate(metadata(sign(ed_key, "EdDSA", "ed", sub=f"p{number}")))
    assert len(authenticator._verified) == 3  # noqa: SLF001 - the bound that is tested


async def test_one_token_has_one_entry_in_the_cache_in_any_spelling(
    keys: KeySet, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    authenticator = authenticator_for(keys)
    token = sign(ed_key, "EdDSA", "ed")
    written = [
        f"{scheme} {' ' * n}{token}{' ' * n}" for scheme in ("bEaReR", "Bearer") for n in (0, 9)
    ]
    callers = {id(await authenticator.authenticate({"authorization": one})) for one in written}
    assert len(callers) == 1
    assert len(authenticator._verified) == 1  # noqa: SLF001 - as above


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Анна Ω", "Анна Ω"),
        (None, "ann"),
        (17, "ann"),
        ("", "ann"),
        ("\x00\n\u202e", "ann"),
        ("A\u202enn\x1b[31m", "Ann[31m"),
        ("x" * 100, "x" * 64),
        # T17: nothing visible is left of the first ones.
        ("\u3164", "ann"),
        ("\u3164\u115f\u1160\uffa0\u2800\u17b4\u17b5", "ann"),
        ("\u200b\u200d\u2060\ufeff\u00ad", "ann"),
        ("\u0301\u0301", "ann"),
        ("Bob\u3164", "Bob"),
        ("\ufe0fB\u034fob", "Bob"),
        ("A\u0301" + "\u0316" * 30, "\u00c1\u0316\u0316"),
        ("\u0391\u0301", "\u0386"),
    ],
)
async def test_display_names_are_safe(
    authenticator: Authenticator, ed_key: ed25519.Ed25519PrivateKey, name: object, shown: str
) -> None:
    caller = await authenticator.authenticate(metadata(sign(ed_key, "EdDSA", "ed", name=name)))
    assert caller.name == shown


async def test_T09_cached_tokens_of_a_key_that_left_the_key_set_are_refused(
    tmp_path: Path, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    path = tmp_path / "jwks.json"
    other = ed25519.Ed25519PrivateKey.generate()
    entries = [jwk(ed_key.public_key(), "old"), jwk(other.public_key(), "new")]
    path.write_text(json.dumps({"keys": entries}))
    key_set = KeySet(
        str(path), refresh_seconds=300, retry_seconds=300, timeout_seconds=5, stale_seconds=600
    )
    await key_set.load()
    authenticator = authenticator_for(key_set)
    key_set.listeners.append(authenticator.forget_revoked)
    old, new = sign(ed_key, "EdDSA", "old"), sign(other, "EdDSA", "new")
    caller = await authenticator.authenticate(metadata(old))
    kept = await authenticator.authenticate(metadata(new))
    path.write_text(json.dumps({"keys": entries[1:]}))
    await key_set.load()
    assert await refusal_of(authenticator, metadata(old)) == INVALID
    another = sign(ed_key, "EdDSA", "old", sub="bob")
    assert await refusal_of(authenticator, metadata(another)) == INVALID
    assert not authenticator.vouches_for(caller)
    assert await authenticator.authenticate(metadata(new)) is kept


async def test_T09_no_token_is_accepted_with_keys_that_are_too_old(
    tmp_path: Path, ed_key: ed25519.Ed25519PrivateKey
) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [jwk(ed_key.public_key(), "ed")]}))
    key_set = KeySet(
        str(path), refresh_seconds=300, retry_seconds=300, timeout_seconds=5, stale_seconds=-1
    )
    await key_set.load()
    refused = await refusal_of(authenticator_for(key_set), metadata(sign(ed_key, "EdDSA", "ed")))
    assert refused == reasons.ERROR_REASON_TOKEN_KEYS_STALE


def test_unusable_keys_are_ignored() -> None:
    ed = ed25519.Ed25519PrivateKey.generate().public_key()
    short = rsa.generate_private_key(public_exponent=65_537, key_size=1_024).public_key()
    p384 = ec.generate_private_key(ec.SECP384R1()).public_key()
    entries = [
        jwk(ed, "signing"),
        jwk(ed, "encrypting", use="enc"),
        jwk(short, "short"),
        jwk(p384, "p384"),
        {"kty": "EC", "kid": "broken", "crv": "P-256", "x": "AA", "y": "AA"},
        "not an object",
    ]
    assert list(parse_key_set(json.dumps({"keys": entries}).encode())) == ["signing"]


async def test_a_token_without_a_key_id_uses_the_only_key(tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [jwk(key.public_key())]}))
    key_set = KeySet(
        str(path), refresh_seconds=300, retry_seconds=30, timeout_seconds=5, stale_seconds=600
    )
    await key_set.load()
    token = jwt.encode(claims(), key, algorithm="EdDSA")
    assert (await authenticator_for(key_set).authenticate(metadata(token))).subject == "ann"
