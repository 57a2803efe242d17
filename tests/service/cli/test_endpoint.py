"""A token leaves this machine only over TLS, unless the user says otherwise."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
from grpc import aio

from durak.v1 import match_service_pb2 as api
from service.cli.client import Client, ServerUnreachable
from service.cli.endpoint import find_endpoint, system_authorities
from service.cli.exits import CommandError
from service.config import Config
from service.server import running
from tests.conftest import Database
from tests.service.test_server import config, write_certificate
from tests.terminal import Server, Terminal

TOKEN = "secret-token"


@pytest.mark.parametrize(
    ("server", "plaintext", "is_plain"),
    [
        (None, False, True),
        ("127.0.0.1:50051", False, True),
        ("localhost:50051", False, True),
        ("durak.example:443", False, False),
        ("192.0.2.7:50051", False, False),
        ("durak.example:443", True, True),
    ],
)
def test_plain_text_stays_on_this_machine(
    server: str | None, plaintext: bool, is_plain: bool
) -> None:
    endpoint = find_endpoint(server, None, Config(), plaintext=plaintext)
    assert (endpoint.authorities is None) is is_plain


def test_the_system_names_its_authorities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.pem"
    pem = write_certificate(own, tmp_path / "key.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    assert system_authorities() == pem
    own.unlink()
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))
    assert ssl.get_default_verify_paths().cafile is None
    with pytest.raises(CommandError, match="--ca"):
        system_authorities()


def test_a_file_of_authorities_and_plain_text_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="only one"):
        find_endpoint("durak.example:443", tmp_path, Config(), plaintext=True)


async def test_no_byte_of_a_token_is_sent_before_TLS_is_agreed() -> None:
    """The other side speaks no TLS. It gets a greeting of TLS and nothing else."""
    received = bytearray()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.extend(await reader.read(65_536))
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    endpoint = find_endpoint("durak.example:443", None, Config(), plaintext=False)
    local = type(endpoint)(f"127.0.0.1:{port}", endpoint.authorities)
    async with server, Client(local, TOKEN, retry_seconds=0.5) as client:
        with pytest.raises(ServerUnreachable):
            await client.call(client.stub.ListMatches, api.ListMatchesRequest())
    assert received[:1] == b"\x16", "a TLS record of type handshake"
    assert TOKEN.encode() not in received


async def test_a_service_with_a_certificate_is_called_over_TLS_by_its_own_settings(
    database: Database, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(certificate, key)
    settings = config(database, tmp_path, tls_certificate=certificate, tls_key=key)
    async with running(settings) as server:
        port = int(server.address.rpartition(":")[2])
        own = settings.model_copy(update={"listen_port": port})
        async with Client(find_endpoint(None, None, own, plaintext=False), "") as client:
            with pytest.raises(aio.AioRpcError) as error:
                await client.stub.ListMatches(api.ListMatchesRequest(), timeout=20)
    assert error.value.code().name == "UNAUTHENTICATED", "the call arrived, without a token"


def test_health_says_whether_a_service_takes_calls(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    well = shared_terminal.durak("health", "--server", shared_server.address)
    assert (well.returncode, well.stdout) == (0, "readiness: SERVING\n")
    alive = shared_terminal.durak("health", "liveness", "--server", shared_server.address)
    assert (alive.returncode, alive.stdout) == (0, "liveness: SERVING\n")
    gone = shared_terminal.durak("health", "--server", "127.0.0.1:1")
    assert gone.returncode == 3
    assert "Traceback" not in gone.stderr
