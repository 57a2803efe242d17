"""The keys that verify tokens.

They are a set of public keys (JWKS, RFC 7517) from a file or a URL, or a development key, with
which `DevelopmentKey.mint` also makes tokens.
"""

import asyncio
import http.client
import json
import os
import secrets
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

import jwt
import structlog
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from service.watchdog import rest

KEY_SET_BYTES_MAX: Final = 256 * 1024
RSA_BITS_MIN: Final = 2048
DEVELOPMENT_KEY_ID: Final = "durak-development"
DEVELOPMENT_KEY_FILE: Final = "token-key.pem"

_log = structlog.get_logger(__name__)


class KeySetError(Exception):
    """The keys cannot be read: no such file, no answer in time, or no usable key."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key and its only algorithm."""

    algorithm: str
    key: Ed25519PublicKey | EllipticCurvePublicKey | RSAPublicKey


class KeySet:
    """A JWKS at a path or an https or http URL, kept fresh.

    `keep_fresh` reads it again every `refresh_seconds`. It is read again immediately for an unknown
    key id, but no more often than every `retry_seconds`. If that fails, the current keys stay in
    use until they are `stale_seconds` old. `listeners` are called when the keys have changed.
    """

    def __init__(
        self,
        location: str,
        *,
        refresh_seconds: float,
        retry_seconds: float,
        timeout_seconds: float,
        stale_seconds: float,
    ) -> None:
        self._location = location
        self._refresh_seconds = refresh_seconds
        self._retry_seconds = retry_seconds
        self._timeout_seconds = timeout_seconds
        self._stale_seconds = stale_seconds
        self.listeners: list[Callable[[], None]] = []
        self._keys: Mapping[str | None, PublicKey] = {}
        self._read_at = float("-inf")
        self._tried_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_trusted(self) -> bool:
        """False if the keys are older than `stale_seconds`."""
        return time.monotonic() - self._read_at <= self._stale_seconds

    async def find(self, key_id: str | None) -> PublicKey | None:
        """Return the key with this id. Without an id, return the only key. None: no such key."""
        found = self.lookup(key_id)
        if found is not None:
            return found
        if self._reading is None and time.monotonic() - self._tried_at < self._retry_seconds:
            return None
        await asyncio.shield(self._start_reading())
        return self.lookup(key_id)

    async def keep_fresh(self) -> None:
        """Read the keys every `refresh_seconds`, without end."""
        while True:
            await rest(self._refresh_seconds)
            await asyncio.shield(self._start_reading())

    async def load(self) -> None:
        """Read the keys now. Raises KeySetError."""
        self._tried_at = time.monotonic()
        try:
            content = await asyncio.wait_for(
                asyncio.to_thread(_read, self._location, self._timeout_seconds),
                2 * self._timeout_seconds,
            )
        except (OSError, TimeoutError, http.client.HTTPException) as error:
            raise KeySetError(f"the keys at {self._location} cannot be read: {error}") from error
        keys = parse_key_set(content)
        if not keys and self._read_at == float("-inf"):
            raise KeySetError(f"the key set at {self._location} has no key")
        has_changed = keys != self._keys
        self._keys = keys
        self._read_at = time.monotonic()
        if has_changed:
            _log.info("token keys changed", key_ids=sorted(str(key_id) for key_id in keys))
            for listener in self.listeners:
                listener()

    def lookup(self, key_id: str | None) -> PublicKey | None:
        """Return the key with this id, or without an id the only key, from the last read."""
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    def _start_reading(self) -> asyncio.Task[None]:
        """Return the task that reads the keys. All waiting callers share one."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._reload(), name="reload token keys")
        return self._reading

    async def _reload(self) -> None:
        try:
            await self.load()
        except KeySetError as error:
            _log.warning("token keys not reloaded", error=str(error), trusted=self.is_trusted)
        finally:
            self._reading = None


@dataclass(frozen=True, slots=True)
class DevelopmentKey:
    """A private key for development. Any process that can read its file can act as any caller."""

    private_key: Ed25519PrivateKey

    @classmethod
    def in_folder(cls, folder: Path) -> Self:
        """Return the key in `folder`. Makes it if it is missing. Raises KeySetError."""
        path = folder / DEVELOPMENT_KEY_FILE
        if not path.exists():
            _write_new_key(path)
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise KeySetError(f"others can read {path}: chmod 600 {path}")
        try:
            private_key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except (ValueError, UnsupportedAlgorithm) as error:
            raise KeySetError(f"{path} is not a private key: {error}") from error
        if not isinstance(private_key, Ed25519PrivateKey):
            raise KeySetError(f"{path} is not an Ed25519 key")
        return cls(private_key)

    @property
    def is_trusted(self) -> bool:
        """Always True: the key is in memory."""
        return True

    async def find(self, key_id: str | None) -> PublicKey | None:
        """Return the key, if the token names it or names none."""
        return self.lookup(key_id)

    def lookup(self, key_id: str | None) -> PublicKey | None:
        """Return the key, if the token names it or names none."""
        if key_id in {None, DEVELOPMENT_KEY_ID}:
            return PublicKey("EdDSA", self.private_key.public_key())
        return None

    def mint(
        self,
        subject: str,
        *,
        name: str = "",
        roles: Iterable[str] = ("player",),
        issuer: str,
        audience: str,
        lifetime_seconds: int,
    ) -> str:
        """Return a token that is valid from now for `lifetime_seconds`."""
        now = int(time.time())
        claims: dict[str, object] = {
            "sub": subject,
            "iss": issuer,
            "aud": audience,
            "iat": now,
            "exp": now + lifetime_seconds,
            "roles": sorted(roles),
        }
        if name:
            claims["name"] = name
        return jwt.encode(
            claims, self.private_key, algorithm="EdDSA", headers={"kid": DEVELOPMENT_KEY_ID}
        )


def parse_key_set(content: bytes) -> dict[str | None, PublicKey]:
    """Return the usable keys of a JWKS by id. Raises KeySetError if it has keys, but none usable.

    Ignored are keys for encryption, secrets (`oct`), other curves and short RSA keys. An issuer
    revokes all keys with an empty set.
    """
    try:
        entries = json.loads(content)["keys"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise KeySetError("not a JSON Web Key Set") from error
    keys = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and (key := _public_key(entry)) is not None:
            key_id = entry.get("kid")
            keys[key_id if isinstance(key_id, str) else None] = key
    if not keys and entries != []:
        raise KeySetError("the key set has no key for EdDSA (Ed25519), ES256 or RS256")
    return keys


def _public_key(entry: dict[str, object]) -> PublicKey | None:
    """Return the key of an entry of a JWKS, or None if it is not usable."""
    if entry.get("use", "sig") != "sig" or entry.get("kty") not in {"OKP", "EC", "RSA"}:
        return None
    try:
        key = jwt.PyJWK(entry).key
    except (jwt.PyJWTError, ValueError, TypeError, UnsupportedAlgorithm):
        return None
    algorithm = None
    match key:
        case Ed25519PublicKey():
            algorithm = "EdDSA"
        case EllipticCurvePublicKey() if isinstance(key.curve, SECP256R1):
            algorithm = "ES256"
        case RSAPublicKey() if key.key_size >= RSA_BITS_MIN:
            algorithm = "RS256"
    if algorithm is None or entry.get("alg", algorithm) not in {algorithm, "Ed25519"}:
        return None
    return PublicKey(algorithm, key)


def _read(location: str, timeout_seconds: float) -> bytes:
    """Return the content of a file or URL. Blocks for about `timeout_seconds` at most."""
    if urlsplit(location).scheme not in {"https", "http"}:
        with Path(location).open("rb") as file:
            return file.read(KEY_SET_BYTES_MAX)
    deadline = time.monotonic() + timeout_seconds
    content = b""
    try:
        answer = urllib.request.urlopen(location, timeout=timeout_seconds)  # noqa: S310 - see above
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise
    with answer as response:
        while chunk := response.read1(KEY_SET_BYTES_MAX):
            content += chunk
            if len(content) > KEY_SET_BYTES_MAX or time.monotonic() > deadline:
                raise TimeoutError("the answer is too long or too slow")
    return content


def _write_new_key(path: Path) -> None:
    """Write a new key file, unless another process does so at the same moment."""
    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
