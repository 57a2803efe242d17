"""Valid and invalid tokens for the tests."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import jwt
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ISSUER = "https://issuer.test"
AUDIENCE = "durak"


def claims(**changes: Any) -> dict[str, Any]:
    """Valid claims with changes. A claim that is changed to None is left out."""
    now = int(time.time())
    good = {
        "sub": "ann",
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": now + 600,
        "roles": ["player"],
        **changes,
    }
    return {name: value for name, value in good.items() if value is not None}


def sign(key: Any, algorithm: str, key_id: str | None = None, **changes: Any) -> str:
    """A token with these changes to valid claims."""
    headers = {} if key_id is None else {"kid": key_id}
    return jwt.encode(claims(**changes), key, algorithm=algorithm, headers=headers)


def base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def signing_input(header: dict[str, Any], payload: bytes) -> bytes:
    """The signed part of a token, encoded by hand."""
    return base64url(json.dumps(header).encode()) + b"." + base64url(payload)


def jwk(public_key: Any, key_id: str | None = None, **extra: str) -> dict[str, Any]:
    """The JWK of a public key."""
    kind: dict[str, Any] = {"Ed": OKPAlgorithm, "EC": ECAlgorithm, "RS": RSAAlgorithm}
    name = type(public_key).__name__
    algorithm = kind["Ed" if name.startswith("Ed") else name[:2]]
    entry = dict(json.loads(algorithm.to_jwk(public_key)))
    return {**entry, **({"kid": key_id} if key_id is not None else {}), **extra}


def metadata(token: str) -> dict[str, str | bytes]:
    return {"authorization": f"Bearer {token}"}
