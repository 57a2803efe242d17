"""Identify the caller by the bearer token: a JWT, verified once and cached until it expires."""

import math
import re
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import jwt
from jwt.types import Options

from durak.v1 import errors_pb2 as reasons
from service.rpc.authorization import ROLES
from service.rpc.call import Caller, Credential
from service.rpc.errors import refuse
from service.rpc.revocations import Revocations

ALGORITHMS: Final = frozenset({"EdDSA", "ES256", "RS256"})
"""The accepted signature algorithms. Each key is bound to one, whatever the token claims."""

TOKEN_CHARS_MAX: Final = 8192
SUBJECT: Final = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
"""A `sub`: up to 255 ASCII characters (OpenID Connect Core 1.0, section 2), without spaces."""
NAME_CHARS_MAX: Final = 64
ROLES_MAX: Final = 64
TOKEN_ID_CHARS_MAX: Final = 255
COMBINING_MARKS_MAX: Final = 2
"""Maximum number of combining marks on one letter of a name. Vietnamese and Greek need two."""

_MARKS: Final = frozenset({"Mn", "Me"})
_INVISIBLE: Final = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u034f\ufe0e\ufe0f")
"""Printable characters without a visible form: Hangul fillers, Khmer inherent vowels, the braille
blank, the grapheme joiner and variation selectors."""

_SCHEME = "bearer "
_USUAL_SCHEME = "Bearer "
_OPTIONS: Options = {
    "require": ["exp", "sub", "aud", "iss"],
    "enforce_minimum_key_length": True,
}


class VerifyingKey(Protocol):
    """A public key and its only algorithm."""

    @property
    def algorithm(self) -> str:
        """One of ALGORITHMS."""

    @property
    def key(self) -> Any:  # noqa: ANN401 - one of the public key classes of `cryptography`
        """The key in the form that PyJWT accepts."""


class KeySource(Protocol):
    """A source of verifying keys (service/rpc/token_keys.py)."""

    @property
    def is_trusted(self) -> bool:
        """False if the keys could not be refreshed for too long."""

    async def find(self, key_id: str | None) -> VerifyingKey | None:
        """Return the key with this `kid`. Without one, return the only key. None: no such key.

        May read the keys again.
        """

    def lookup(self, key_id: str | None) -> VerifyingKey | None:
        """Return what `find` returns, from the keys that are known now."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """The issuer of the accepted tokens, and the shape of its claims.

    `name` and `audience` are the required `iss` and `aud`. `roles_claim` is the name of the claim
    with the list of roles, or its path with dots. A token without it has only `default_role`.
    """

    name: str
    audience: str
    roles_claim: str = "roles"
    default_role: str | None = None

    def roles(self, claims: Mapping[str, object]) -> frozenset[str]:
        """Return the roles that verified claims give. Raises Refused TOKEN_INVALID."""
        roles = self._listed(claims)
        if (
            not isinstance(roles, list)
            or len(roles) > ROLES_MAX
            or not all(isinstance(role, str) for role in roles)
        ):
            raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
        return ROLES.intersection(roles)

    def _listed(self, claims: Mapping[str, object]) -> object:
        if self.roles_claim in claims:
            return claims[self.roles_claim]
        found: object = claims
        for name in self.roles_claim.split("."):
            if not isinstance(found, dict):
                raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
            if name not in found:
                return [] if self.default_role is None else [self.default_role]
            found = found[name]
        return found


class Authenticator:
    """Turns the metadata of a call into its `Caller`."""

    def __init__(
        self,
        keys: KeySource,
        revocations: Revocations,
        *,
        issuer: Issuer,
        leeway_seconds: float,
        cache_size: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Accept tokens of `issuer`, and cache at most `cache_size` of them.

        The clock of the issuer may be `leeway_seconds` ahead (`nbf`, `iat`). `exp` has no leeway.
        """
        self._keys = keys
        self._revocations = revocations
        self._issuer = issuer
        self._leeway_seconds = leeway_seconds
        self._cache_size = cache_size
        self._clock = clock
        self._verified: OrderedDict[str, Caller] = OrderedDict()

    def cached(self, metadata: Mapping[str, str | bytes]) -> Caller | None:
        """Return the caller of a token that was verified before and has not expired."""
        caller = self._verified.get(str(metadata.get("authorization")))
        if caller is None or caller.expires_at <= self._clock() or not self._keys.is_trusted:
            return None
        return caller

    async def authenticate(self, metadata: Mapping[str, str | bytes]) -> Caller:
        """Return the caller.

        Raises Refused TOKEN_MISSING, TOKEN_INVALID, TOKEN_EXPIRED or TOKEN_KEYS_STALE.
        """
        header = metadata.get("authorization")
        if not header:
            raise refuse(reasons.ERROR_REASON_TOKEN_MISSING)
        if not isinstance(header, str):
            raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
        if not self._keys.is_trusted:
            raise refuse(reasons.ERROR_REASON_TOKEN_KEYS_STALE)
        caller = self._verified.get(header)
        if caller is None:
            caller = await self._verify(header)
        if caller.expires_at <= self._clock():
            self._verified.pop(header, None)
            raise refuse(reasons.ERROR_REASON_TOKEN_EXPIRED)
        return caller

    def vouches_for(self, caller: Caller) -> bool:
        """Return whether a verified token is still valid: not revoked, and its key is known."""
        if self._revocations.cover(caller):
            return False
        credential = caller.credential
        return credential is not None and self._keys.lookup(credential.key_id) == credential.key

    def forget_revoked(self) -> None:
        """Remove cached tokens that are no longer valid. Call it after a change."""
        for header, caller in tuple(self._verified.items()):
            if not self.vouches_for(caller):
                del self._verified[header]

    async def _verify(self, header: str) -> Caller:
        if header[: len(_SCHEME)].lower() != _SCHEME or len(header) > TOKEN_CHARS_MAX:
            raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
        token = header[len(_SCHEME) :].strip()
        if not token:
            raise refuse(reasons.ERROR_REASON_TOKEN_MISSING)
        # One token written with different spaces must not fill the cache.
        usual = f"{_USUAL_SCHEME}{token}"
        caller = self._verified.get(usual)
        if caller is not None:
            return caller
        key_id = _key_id(token)
        key = await self._keys.find(key_id)
        if key is None:
            raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
        claims = self._claims(token, key)
        caller = _caller(claims, self._issuer.roles(claims), Credential(key_id, key))
        if self._revocations.cover(caller):
            raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
        while len(self._verified) >= self._cache_size:
            self._verified.popitem(last=False)
        self._verified[usual] = caller
        return caller

    def _claims(self, token: str, key: VerifyingKey) -> Mapping[str, object]:
        """Return the claims of a token that `key` has signed for this service."""
        try:
            claims: dict[str, object] = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm],
                audience=self._issuer.audience,
                issuer=self._issuer.name,
                leeway=self._leeway_seconds,
                options=_OPTIONS,
            )
        except jwt.ExpiredSignatureError:
            raise refuse(reasons.ERROR_REASON_TOKEN_EXPIRED) from None
        except Exception:  # noqa: BLE001 - any failure of a parser on a hostile token means an invalid token
            raise refuse(reasons.ERROR_REASON_TOKEN_INVALID) from None
        return claims


def _key_id(token: str) -> str | None:
    try:
        key_id = jwt.get_unverified_header(token).get("kid")
    except Exception:  # noqa: BLE001 - as above
        raise refuse(reasons.ERROR_REASON_TOKEN_INVALID) from None
    if key_id is not None and not isinstance(key_id, str):
        raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
    return key_id


def _caller(claims: Mapping[str, object], roles: frozenset[str], credential: Credential) -> Caller:
    """Return the caller that verified claims identify."""
    subject, expires_at = claims["sub"], claims["exp"]
    if not isinstance(subject, str) or not SUBJECT.fullmatch(subject):
        raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
    if (
        isinstance(expires_at, bool)
        or not isinstance(expires_at, int | float)
        or not math.isfinite(expires_at)
    ):
        raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
    return Caller(
        subject=subject,
        name=_display_name(claims.get("name")) or subject[:NAME_CHARS_MAX],
        roles=roles,
        expires_at=float(expires_at),
        credential=credential,
        issued_at=_issued_at(claims.get("iat")),
        token_id=_token_id(claims.get("jti")),
    )


def _issued_at(time: object) -> float:
    """Return the time of `iat`; 0 if it says none, so that a revocation covers the token."""
    is_number = isinstance(time, int | float) and not isinstance(time, bool)
    return float(time) if is_number and math.isfinite(time) else 0.0  # type: ignore[arg-type]


def _token_id(token_id: object) -> str:
    return token_id if isinstance(token_id, str) and len(token_id) <= TOKEN_ID_CHARS_MAX else ""


def _display_name(name: object) -> str:
    """Return a name that is safe to display, in Unicode's composed form (NFC).

    It has no control characters, no invisible letters, no change of text direction, and at most
    two combining marks on a letter. Empty if nothing visible is left.
    """
    if not isinstance(name, str):
        return ""
    shown: list[str] = []
    marks = 0
    for character in unicodedata.normalize("NFC", name[:NAME_CHARS_MAX]):
        if not character.isprintable() or character in _INVISIBLE:
            continue
        marks = marks + 1 if unicodedata.category(character) in _MARKS else 0
        if marks <= COMBINING_MARKS_MAX and (shown or not marks):
            shown.append(character)
    return "".join(shown).strip()
