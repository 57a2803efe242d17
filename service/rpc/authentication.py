"""Identify the caller by the bearer token: a JWT, verified once and cached until it expires."""

import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import jwt
from jwt.types import Options

from durak.v1 import errors_pb2 as reasons
from service.rpc.authorization import ROLES
from service.rpc.call import Caller
from service.rpc.errors import refuse

ALGORITHMS: Final = frozenset({"EdDSA", "ES256", "RS256"})
"""The accepted signature algorithms. Each key is bound to one, whatever the token claims."""

TOKEN_CHARS_MAX: Final = 8192
SUBJECT: Final = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
"""A `sub`: up to 255 ASCII characters (OpenID Connect Core 1.0, section 2), without spaces."""
NAME_CHARS_MAX: Final = 64
ROLES_MAX: Final = 64

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

    async def find(self, key_id: str | None) -> VerifyingKey | None:
        """Return the key with this `kid`. Without one, return the only key. None: no such key."""


class Authenticator:
    """Turns the metadata of a call into its `Caller`."""

    def __init__(
        self,
        keys: KeySource,
        *,
        issuer: str,
        audience: str,
        leeway_seconds: float,
        cache_size: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Accept tokens of `issuer` for `audience`, and cache at most `cache_size` of them.

        The clock of the issuer may be `leeway_seconds` ahead (`nbf`, `iat`). `exp` has no leeway.
        """
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._leeway_seconds = leeway_seconds
        self._cache_size = cache_size
        self._clock = clock
        self._verified: OrderedDict[str, Caller] = OrderedDict()

    async def authenticate(self, metadata: Mapping[str, str | bytes]) -> Caller:
        """Return the caller. Raises Refused TOKEN_MISSING, TOKEN_INVALID or TOKEN_EXPIRED."""
        header = metadata.get("authorization")
        if not header:
            raise refuse(reasons.ERROR_REASON_TOKEN_MISSING)
        if not isinstance(header, str):
            raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
        caller = self._verified.get(header)
        if caller is None:
            caller = await self._verify(header)
        if caller.expires_at <= self._clock():
            self._verified.pop(header, None)
            raise refuse(reasons.ERROR_REASON_TOKEN_EXPIRED)
        return caller

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
        key = await self._keys.find(_key_id(token))
        if key is None:
            raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
        caller = _caller(self._claims(token, key))
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
                audience=self._audience,
                issuer=self._issuer,
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


def _caller(claims: Mapping[str, object]) -> Caller:
    """Return the caller that verified claims identify."""
    subject, expires_at, roles = claims["sub"], claims["exp"], claims.get("roles", [])
    if not isinstance(subject, str) or not SUBJECT.fullmatch(subject):
        raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
    if (
        isinstance(expires_at, bool)
        or not isinstance(expires_at, int | float)
        or not math.isfinite(expires_at)
    ):
        raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
    if (
        not isinstance(roles, list)
        or len(roles) > ROLES_MAX
        or not all(isinstance(role, str) for role in roles)
    ):
        raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
    return Caller(
        subject=subject,
        name=_display_name(claims.get("name")) or subject[:NAME_CHARS_MAX],
        roles=ROLES.intersection(roles),
        expires_at=float(expires_at),
    )


def _display_name(name: object) -> str:
    """Return a name that is safe to display: no control characters, no change of text direction."""
    if not isinstance(name, str):
        return ""
    return "".join(character for character in name if character.isprintable())[
        :NAME_CHARS_MAX
    ].strip()
