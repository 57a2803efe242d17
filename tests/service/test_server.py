"""The service as a whole: start, health, TLS and stopping."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from grpc import aio
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from pydantic import SecretStr, ValidationError

from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from eventstore import EmbeddedPostgres
from eventstore.errors import StoreMisconfigured
from service.config import Config
from service.rpc.port import StartError
from service.rpc.token_keys import KeySetError
from service.server import SERVICES, Running, running
from tests.conftest import Database
from tests.service.frame import refusal

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def config(database: Database, folder: Path, **settings: Any) -> Config:
    return Config(
        listen_port=0,
        data_dir=folder,
        database_url=SecretStr(database.app_dsn),
        readiness_interval_seconds=settings.pop("readiness_interval_seconds", 0.05),
        **settings,
    )


def metadata(server: Running, subject: str = "ann") -> tuple[tuple[str, str], ...]:
    assert server.development_key is not None
    token = server.development_key.mint(
        subject,
        issuer=server.config.token_issuer,
        audience=server.config.token_audience,
        lifetime_seconds=600,
    )
    return (("authorization", f"Bearer {token}"),)


@asynccontextmanager
async def client(server: Running) -> AsyncIterator[aio.Channel]:
    async with aio.insecure_channel(server.address) as channel:
        yield channel


async def open_table(channel: aio.Channel, who: tuple[tuple[str, str], ...]) -> str:
    request = api.OpenTableRequest(request_id=str(uuid4()))
    request.settings.deck, request.settings.seats = 36, 2  # type: ignore[assignment]
    answer = await MatchServiceStub(channel).OpenTable(request, metadata=who)
    return answer.view.match_id


def health_stub(channel: aio.Channel) -> Any:
    return HealthStub(channel)


async def health(channel: aio.Channel, name: str) -> int:
    answer = await health_stub(channel).Check(health_pb2.HealthCheckRequest(service=name))
    return int(answer.status)


async def test_it_serves_health_reflection_and_matches(database: Database, tmp_path: Path) -> None:
    async with running(config(database, tmp_path)) as server, client(server) as channel:
        for name in ("", "liveness", "readiness", *SERVICES):
            assert await health(channel, name) == SERVING
        with pytest.raises(aio.AioRpcError) as error:
            await health(channel, "chess")
        assert error.value.code() is grpc.StatusCode.NOT_FOUND

        listing = reflection_pb2.ServerReflectionRequest(list_services="")
        stub: Any = ServerReflectionStub(channel)  # type: ignore[arg-type]
        answers = stub.ServerReflectionInfo(iter([listing]))
        names = [s.name async for a in answers for s in a.list_services_response.service]
        assert {*SERVICES, "grpc.health.v1.Health"} < set(names)

        match_id = await open_table(channel, metadata(server))
        request = api.GetMatchRequest(match_id=match_id)
        answer = await MatchServiceStub(channel).GetMatch(request, metadata=metadata(server, "bob"))
        assert answer.view.match_id == match_id


async def test_readiness_follows_the_database_and_liveness_does_not(
    own_postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    database = Database("durak", own_postgres.owner_dsn(), own_postgres.app_dsn())
    async with running(config(database, tmp_path)) as server, client(server) as channel:
        watch = health_stub(channel).Watch(health_pb2.HealthCheckRequest(service="readiness"))
        assert (await watch.read()).status == SERVING
        await asyncio.to_thread(own_postgres.stop)
        assert (await watch.read()).status == NOT_SERVING
        assert await health(channel, "") == NOT_SERVING
        assert await health(channel, "liveness") == SERVING
        await asyncio.to_thread(own_postgres.start)
        assert (await watch.read()).status == SERVING
        watch.cancel()


async def test_stopping_reports_not_serving_first_and_then_ends_every_stream(
    database: Database, tmp_path: Path
) -> None:
    stack = running(config(database, tmp_path))
    server = await stack.__aenter__()
    async with client(server) as channel:
        who = metadata(server)
        match_id = await open_table(channel, who)
        stub: Any = MatchServiceStub(channel)
        watch = stub.WatchMatch(api.WatchMatchRequest(match_id=match_id), metadata=who)
        session = stub.PlaySession(metadata=who)
        ready = health_stub(channel).Watch(health_pb2.HealthCheckRequest(service="readiness"))
        assert (await watch.read()).HasField("event")
        assert (await watch.read()).HasField("caught_up")
        assert (await ready.read()).status == SERVING
        await session.write(api.PlaySessionRequest(unwatch={"request_id": str(uuid4())}))  # type: ignore[arg-type]
        assert (await session.read()).HasField("watch_ended")

        await stack.__aexit__(None, None, None)
        assert (await ready.read()).status == NOT_SERVING
        for stream in (watch, session, ready):
            answer = await refusal(stream)
            assert (answer.code, answer.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        with pytest.raises(aio.AioRpcError) as error:
            await health(channel, "")
        assert error.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_health_watch_that_ends_does_not_disturb_the_others(
    database: Database, tmp_path: Path
) -> None:
    stack = running(config(database, tmp_path))
    server = await stack.__aenter__()
    async with client(server) as channel:
        request = health_pb2.HealthCheckRequest(service="readiness")
        watches = [health_stub(channel).Watch(request) for _ in range(3)]
        for watch in watches:
            assert (await watch.read()).status == SERVING
        watches[0].cancel()
        assert await watches[0].code() is grpc.StatusCode.CANCELLED
        await stack.__aexit__(None, None, None)
        for watch in watches[1:]:
            assert (await watch.read()).status == NOT_SERVING


async def test_little_memory_is_used_for_a_client_that_sends_but_does_not_read(
    database: Database, tmp_path: Path
) -> None:
    settings = config(database, tmp_path, session_requests_max=1)
    no_room = [("grpc.http2.lookahead_bytes", 1), ("grpc.http2.bdp_probe", 0)]
    garbage = b"\x0b" * 60_000
    async with (
        running(settings) as server,
        aio.insecure_channel(server.address, options=no_room) as channel,
    ):
        call: Any = channel.stream_stream("/durak.v1.MatchService/PlaySession", bytes, bytes)
        session = call(metadata=metadata(server))
        written = 0
        with suppress(TimeoutError):
            while written < 40:
                await asyncio.wait_for(session.write(garbage), 3)
                written += 1
        session.cancel()
    assert 0 < written < 10


async def test_refused_calls_do_not_use_up_a_connection(database: Database, tmp_path: Path) -> None:
    settings = config(database, tmp_path, connection_streams_max=10)
    async with running(settings) as server, client(server) as channel:
        match_id = await open_table(channel, metadata(server))
        play = api.PlayRequest(match_id=match_id, request_id=str(uuid4()))
        play.move.take.SetInParent()
        with no_collection():
            for _ in range(30):
                with pytest.raises(aio.AioRpcError) as error:
                    await MatchServiceStub(channel).Play(play, metadata=metadata(server))
                assert error.value.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_streams_that_clients_leave_do_not_use_up_a_connection(
    database: Database, tmp_path: Path
) -> None:
    settings = config(database, tmp_path, connection_streams_max=20)
    async with running(settings) as server, client(server) as channel:
        stub: Any = MatchServiceStub(channel)
        match_id = await open_table(channel, metadata(server))
        watched = api.WatchMatchRequest(match_id=match_id)
        asked = api.SessionWatch(request_id=str(uuid4()), watch=watched)
        with no_collection():
            for _ in range(30):
                watch = stub.WatchMatch(watched, metadata=metadata(server))
                assert (await watch.read()).event.version == 1
                watch.cancel()
                session = stub.PlaySession(metadata=metadata(server))
                await session.write(api.PlaySessionRequest(watch=asked))
                assert (await session.read()).watch.event.version == 1
                session.cancel()


@contextmanager
def no_collection() -> Iterator[None]:
    """Run without the garbage collector, as a quiet service does."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def test_a_used_port_is_an_error(database: Database, tmp_path: Path) -> None:
    async with running(config(database, tmp_path)) as server:
        port = int(server.address.rpartition(":")[2])
        other = config(database, tmp_path).model_copy(update={"listen_port": port})
        with pytest.raises(StartError, match=str(port)):
            async with running(other):
                pass


async def test_a_database_that_is_not_migrated_is_an_error(
    postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    empty = Database("postgres", postgres.owner_dsn("postgres"), postgres.app_dsn("postgres"))
    with pytest.raises(StoreMisconfigured):
        async with running(config(empty, tmp_path)):
            pass


async def test_unreadable_keys_are_an_error(database: Database, tmp_path: Path) -> None:
    with pytest.raises(KeySetError):
        async with running(config(database, tmp_path, token_jwks=str(tmp_path / "none"))):
            pass


def write_certificate(certificate: Path, key: Path) -> bytes:
    """Install a new self-signed certificate for 127.0.0.1, as a renewal does. Returns its PEM."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"test {uuid4()}")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(private, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    certificate.write_bytes(pem)
    return pem


async def test_with_a_certificate_it_speaks_TLS_and_loads_a_renewed_one(
    database: Database, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    first = write_certificate(certificate, key)
    settings = config(database, tmp_path, tls_certificate=certificate, tls_key=key)
    async with running(settings) as server:

        async def ask(root: bytes) -> int:
            credentials = grpc.ssl_channel_credentials(root)
            async with aio.secure_channel(server.address, credentials) as channel:
                return await health(channel, "liveness")

        assert await ask(first) == SERVING
        second = write_certificate(certificate, key)
        assert await ask(second) == SERVING
        with pytest.raises(aio.AioRpcError):
            await ask(first)
        key.unlink()
        assert await ask(second) == SERVING
        async with client(server) as channel:
            with pytest.raises(aio.AioRpcError) as error:
                await health(channel, "liveness")
            assert error.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_health_checks_without_TLS_have_a_port_of_their_own(
    database: Database, tmp_path: Path
) -> None:
    """It answers until the end of a drain, and knows no other call."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(certificate, key)
    settings = config(database, tmp_path, tls_certificate=certificate, tls_key=key, health_port=0)
    async with (
        running(settings) as server,
        aio.insecure_channel(f"127.0.0.1:{server.health_port}") as channel,
    ):
        assert await health(channel, "readiness") == SERVING
        with pytest.raises(aio.AioRpcError) as error:
            await MatchServiceStub(channel).ListMatches(api.ListMatchesRequest())
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_missing_certificate_is_an_error(database: Database, tmp_path: Path) -> None:
    missing = tmp_path / "none.pem"
    with pytest.raises(StartError, match="certificate"):
        async with running(config(database, tmp_path, tls_certificate=missing, tls_key=missing)):
            pass


def test_settings_are_checked() -> None:
    for settings in (
        {"tls_key": Path("key.pem")},
        {"token_roles_claim": "realm_access.roles"},
        {"listen_port": 65_536},
        {"trace_sample_ratio": 1.5},
        {"drain_seconds_max": 0},
        {"no_such_setting": 1},
    ):
        with pytest.raises(ValidationError):
            Config(**settings)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DURAK_LISTEN_PORT", "7")
    monkeypatch.setenv("DURAK_DATABASE_URL", "postgresql://u:secret@h/d")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317")
    found = Config()
    assert (found.listen_port, found.otlp_endpoint) == (7, "http://collector:4317")
    assert "secret" not in repr(found)


SERVE = """
import asyncio
from service.config import Config
from service.server import serve_forever
from service.rpc.logs import configure_logging
config = Config()
configure_logging(config)
asyncio.run(serve_forever(config, lambda server: print(server.address, flush=True)))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_drains_and_stops_the_process(
    database: Database, tmp_path: Path, number: signal.Signals
) -> None:
    settings = {
        "DURAK_DATABASE_URL": database.app_dsn,
        "DURAK_DATA_DIR": str(tmp_path),
        "DURAK_LISTEN_PORT": "0",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-c", SERVE),
        env={**os.environ, **settings},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    address = (await process.stdout.readline()).decode().strip()
    async with aio.insecure_channel(address) as channel:
        ready = health_stub(channel).Watch(health_pb2.HealthCheckRequest(service="readiness"))
        assert (await ready.read()).status == SERVING
        process.send_signal(number)
        assert (await ready.read()).status == NOT_SERVING
        assert (await refusal(ready)).reason == "DRAINING"
    _, log = await process.communicate()
    assert process.returncode == 0, log.decode()
    assert b'"event": "stopped"' in log
    assert b"Traceback" not in log


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder that the user of Postgres can access."""
    tmp_path.chmod(0o755)
    return tmp_path


async def test_without_a_database_it_runs_an_embedded_one(open_folder: Path) -> None:
    settings = Config(listen_port=0, data_dir=open_folder / "data")
    match_ids = []
    for _ in range(2):  # the second time with the data of the first
        async with running(settings) as server, client(server) as channel:
            match_ids.append(await open_table(channel, metadata(server)))
            for match_id in match_ids:
                request = api.GetMatchRequest(match_id=match_id)
                await MatchServiceStub(channel).GetMatch(request, metadata=metadata(server))


async def test_an_embedded_postgres_that_dies_is_started_again(open_folder: Path) -> None:
    settings = Config(listen_port=0, data_dir=open_folder / "data", readiness_interval_seconds=0.2)
    async with running(settings) as server, client(server) as channel:
        match_id = await open_table(channel, metadata(server))
        watch = health_stub(channel).Watch(health_pb2.HealthCheckRequest(service="readiness"))
        assert (await watch.read()).status == SERVING
        pid = EmbeddedPostgres(settings.data_dir / "postgres").status().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert (await watch.read()).status == NOT_SERVING
        assert (await watch.read()).status == SERVING
        watch.cancel()
        request = api.GetMatchRequest(match_id=match_id)
        await MatchServiceStub(channel).GetMatch(request, metadata=metadata(server))


async def test_every_request_of_a_reflection_stream_counts_for_its_address(
    database: Database, tmp_path: Path
) -> None:
    limited = config(database, tmp_path, public_calls_per_second=0.001, public_calls_burst=4)
    async with running(limited) as server, client(server) as channel:
        stub: Any = ServerReflectionStub(channel)  # type: ignore[arg-type]
        requests = [reflection_pb2.ServerReflectionRequest(list_services="") for _ in range(4)]
        call = stub.ServerReflectionInfo(iter(requests))
        answers = [await call.read() for _ in range(3)]  # the stream itself is the first call
        assert all(answer.list_services_response.service for answer in answers)
        assert (await refusal(call.read())).reason == "RATE_LIMITED"
        assert await health(channel, "liveness") == SERVING  # a probe always gets its answer
