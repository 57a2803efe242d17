"""The composition root: builds the service, starts it, and stops it in good order.

    async with running(config) as server:
        aio.insecure_channel(server.address)

Stopping: the readiness goes first; watches and sessions end with DRAINING and new calls are refused
with it; running commands get `drain_seconds_max`; then the port closes, what is being stored is
finished, the store and the embedded Postgres are let go of, and the last traces are sent.
"""

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

import structlog
from grpc import aio
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from grpc_reflection.v1alpha import reflection

from durak.v1 import (
    audit_service_pb2,
    dispute_service_pb2,
    match_service_pb2,
    practice_service_pb2,
    rules_service_pb2,
    standings_service_pb2,
    wallet_service_pb2,
)
from durak.v1.audit_service_pb2_grpc import add_AuditServiceServicer_to_server
from durak.v1.dispute_service_pb2_grpc import add_DisputeServiceServicer_to_server
from durak.v1.practice_service_pb2_grpc import add_PracticeServiceServicer_to_server
from durak.v1.rules_service_pb2_grpc import add_RulesServiceServicer_to_server
from durak.v1.standings_service_pb2_grpc import add_StandingsServiceServicer_to_server
from durak.v1.wallet_service_pb2_grpc import add_WalletServiceServicer_to_server
from eventstore import EmbeddedPostgres, EventStore, migrate
from eventstore.errors import EmbeddedPostgresError, StoreUnavailable
from service.audit.servicer import AuditService
from service.checkpoints import signing_keys
from service.checkpoints.checkpointer import Checkpointer
from service.checkpoints.signing_keys import NoteKeyError
from service.config import Config
from service.disputes.servicer import DisputeService
from service.engine import Engine
from service.matches.servicer import add_to_server as add_match_service
from service.practice.puzzles import Puzzles
from service.practice.servicer import PracticeService
from service.practice.texts import PracticeTexts
from service.rpc.address_limits import PublicCalls
from service.rpc.authentication import Authenticator, KeySource
from service.rpc.errors import FailedCalls
from service.rpc.health import Health
from service.rpc.interceptor import Interceptor
from service.rpc.limits import Limits
from service.rpc.telemetry import Telemetry, open_telemetry
from service.rpc.tls import server_credentials
from service.rpc.token_keys import DevelopmentKey, KeySet
from service.rules.rule_sheets import RuleSheets
from service.rules.servicer import RulesService
from service.standings.scorekeeper import Scorekeeper
from service.standings.servicer import StandingsService
from service.wallet.servicer import WalletService

SERVICES = tuple(
    service.full_name
    for file in (
        audit_service_pb2,
        dispute_service_pb2,
        match_service_pb2,
        practice_service_pb2,
        rules_service_pb2,
        standings_service_pb2,
        wallet_service_pb2,
    )
    for service in file.DESCRIPTOR.services_by_name.values()
)
"""The full names of the services of the contract that are served."""

_CLOSE_SECONDS = 1.0
"""How long the last answers may take to leave when the port closes."""

_log = structlog.get_logger(__name__)


class StartError(Exception):
    """The service cannot start as configured; the text says what to mend."""


@dataclass(frozen=True, slots=True)
class Running:
    """A service that takes calls at `address` (host:port)."""

    config: Config
    address: str
    development_key: DevelopmentKey | None
    """What tokens are verified with, where no JWKS is configured."""


@asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
    """A service that takes calls as long as the block runs.

    Raises StartError, KeySetError, StoreError, or EmbeddedPostgresError.
    """
    async with AsyncExitStack() as stack:
        telemetry = open_telemetry(config)
        stack.push_async_callback(telemetry.close)
        keys = await _keys(config)
        dsn, postgres = await _database(config, stack)
        store = await stack.enter_async_context(await EventStore.open(dsn))

        limits = Limits(config)
        failed_calls = FailedCalls()
        telemetry.observe(limits, failed_calls)
        engine = Engine(store, config, limits, failed_calls)
        engine.observe(telemetry)
        interceptor = Interceptor(
            _authenticator(config, keys),
            limits,
            failed_calls,
            telemetry,
            session_grace_seconds=config.session_grace_seconds,
            log_calls=config.log_level == "debug",
        )
        health = Health(SERVICES)
        telemetry.gauge("durak.ready", lambda: health.is_ready, "1 while the service takes calls.")
        server = aio.server(interceptors=[interceptor], options=_options(config))
        add_match_service(engine.servicer, server)
        audits = AuditService(store, config.audit_processes)
        add_AuditServiceServicer_to_server(audits, server)
        add_DisputeServiceServicer_to_server(DisputeService(store, config), server)
        add_WalletServiceServicer_to_server(WalletService(store.ledger, config), server)
        ratings = StandingsService(store.standings, engine.matches, config)
        add_StandingsServiceServicer_to_server(ratings, server)
        add_public_services(config, server)
        add_HealthServicer_to_server(health, server)
        health_name = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
        reflection.enable_server_reflection(
            (*SERVICES, health_name, reflection.SERVICE_NAME), server
        )
        port = _listen(server, config)

        engine.start()
        stack.push_async_callback(engine.stop)
        await server.start()
        stack.push_async_callback(_drain, server, interceptor, health, config.drain_seconds_max)
        await stack.enter_async_context(_checkpoints(store, config, telemetry))
        scorekeeper = Scorekeeper(store, config)
        await stack.enter_async_context(_working(scorekeeper.run(), "standings"))
        await stack.enter_async_context(_readiness(store, postgres, health, config))
        key = keys if isinstance(keys, DevelopmentKey) else None
        yield Running(config, f"{config.listen_host}:{port}", key)


def add_public_services(config: Config, server: aio.Server) -> None:
    """What anyone may call without a token; each address has one allowance for all of it."""
    public_calls = PublicCalls(config)
    sheets = RuleSheets(
        idle_limit_seconds=config.idle_limit_seconds, remembered=config.rule_sheets_remembered_max
    )
    add_RulesServiceServicer_to_server(RulesService(sheets, public_calls), server)
    puzzles = Puzzles(attempts_remembered=config.practice_attempts_remembered_max)
    practice = PracticeService(puzzles, PracticeTexts(), public_calls)
    add_PracticeServiceServicer_to_server(practice, server)


def relax_collector() -> None:
    """Let Python's collector look at what is made from now on, and more rarely than usual.

    Live matches are many small objects that last: with its usual thresholds it goes through all of
    them again and again, which took a third of a busy server's time.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


async def serve_forever(config: Config, started: Callable[[Running], None]) -> None:
    """Run the service until SIGTERM or SIGINT; a second one ends the process at once.

    `started` is called once it takes calls. Raises what `running` raises.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    signals = (signal.SIGTERM, signal.SIGINT)

    def ask_to_stop() -> None:
        stop.set()
        for number in signals:
            loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, ask_to_stop)
    relax_collector()
    async with running(config) as server:
        _log.info("started", address=server.address, tls=config.tls_key is not None)
        started(server)
        await stop.wait()
        _log.info("stopping")
    _log.info("stopped")


async def _keys(config: Config) -> KeySource:
    if config.token_jwks is None:
        return await asyncio.to_thread(DevelopmentKey.in_folder, config.data_dir)
    keys = KeySet(
        config.token_jwks,
        refresh_seconds=config.token_jwks_refresh_seconds,
        retry_seconds=config.token_jwks_retry_seconds,
        timeout_seconds=config.token_jwks_timeout_seconds,
    )
    await keys.load()
    return keys


def _authenticator(config: Config, keys: KeySource) -> Authenticator:
    return Authenticator(
        keys,
        issuer=config.token_issuer,
        audience=config.token_audience,
        leeway_seconds=config.token_leeway_seconds,
        cache_size=config.token_cache_size_max,
    )


async def _database(config: Config, stack: AsyncExitStack) -> tuple[str, EmbeddedPostgres | None]:
    """The address of the database, and the embedded Postgres if it is the one."""
    if config.database_url is not None:
        return config.database_url.get_secret_value(), None
    postgres = EmbeddedPostgres(config.data_dir / "postgres")
    await asyncio.to_thread(postgres.start)
    stack.push_async_callback(asyncio.to_thread, postgres.release)
    await migrate(postgres.owner_dsn())
    return postgres.app_dsn(), postgres


def _options(config: Config) -> list[tuple[str, int]]:
    """Channel arguments; see grpc/impl/channel_arg_names.h."""
    return [
        ("grpc.max_receive_message_length", config.receive_bytes_max),
        ("grpc.max_metadata_size", config.metadata_bytes_max),
        ("grpc.absolute_max_metadata_size", config.metadata_bytes_max),
        ("grpc.max_concurrent_streams", config.connection_streams_max),
        ("grpc.keepalive_time_ms", _milliseconds(config.keepalive_interval_seconds)),
        ("grpc.keepalive_timeout_ms", _milliseconds(config.keepalive_timeout_seconds)),
        ("grpc.keepalive_permit_without_calls", 1),
        (
            "grpc.http2.min_recv_ping_interval_without_data_ms",
            _milliseconds(config.client_ping_interval_seconds_min),
        ),
        # Windows stay at 64 KiB. Grown to the speed of the line, each session that we have stopped
        # reading could make us keep more than 10 MB.
        ("grpc.http2.bdp_probe", 0),
        ("grpc.so_reuseport", 0),  # a port that is taken is an error, not a second server
    ]


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1_000)


def _listen(server: aio.Server, config: Config) -> int:
    """Open the port, and give its number."""
    address = f"{config.listen_host}:{config.listen_port}"
    try:
        if config.tls_certificate is None or config.tls_key is None:
            return server.add_insecure_port(address)
        credentials = server_credentials(config.tls_certificate, config.tls_key)
        return server.add_secure_port(address, credentials)
    except OSError as error:
        raise StartError(f"the certificate or its key cannot be read: {error}") from error
    except RuntimeError as error:
        raise StartError(f"{address} cannot be listened on: is the port taken?") from error


@asynccontextmanager
async def _checkpoints(
    store: EventStore, config: Config, telemetry: Telemetry
) -> AsyncIterator[None]:
    """Put ended matches into the tree and sign its head, as long as the block runs."""
    if config.database_url is None and not config.note_key_file.exists():
        with suppress(NoteKeyError):  # another process of the same folder has made it just now
            await asyncio.to_thread(signing_keys.make, config.note_key_file, "durak.local")
    checkpointer = Checkpointer(store, config)
    telemetry.gauge(
        "durak.checkpoints.failing",
        lambda: checkpointer.is_failing,
        "1 while ended matches cannot be put into the tree, signed and published.",
    )
    async with _working(checkpointer.run(), "checkpointer"):
        yield


@asynccontextmanager
async def _readiness(
    store: EventStore, postgres: EmbeddedPostgres | None, health: Health, config: Config
) -> AsyncIterator[None]:
    """Keep the readiness in step with the database, as long as the block runs.

    An embedded Postgres that has died is started again: nobody else would.
    """

    async def follow() -> None:
        while True:
            await asyncio.sleep(config.readiness_interval_seconds)
            try:
                async with asyncio.timeout(config.readiness_interval_seconds):
                    await store.ping()
            except (StoreUnavailable, TimeoutError) as error:
                _log.warning("not ready", error=type(error).__name__)
                health.set_ready(False)
                if postgres is not None:
                    try:
                        await asyncio.to_thread(postgres.start)
                    except EmbeddedPostgresError as trouble:
                        _log.error("postgres does not start", error=str(trouble))
            else:
                health.set_ready(True)

    health.set_ready(True)  # the store was opened just now
    async with _working(follow(), "readiness"):
        yield


@asynccontextmanager
async def _working(work: Coroutine[None, None, None], name: str) -> AsyncIterator[None]:
    """Do endless work beside the block."""
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _drain(
    server: aio.Server, interceptor: Interceptor, health: Health, limit_seconds: float
) -> None:
    """Stop taking calls, and let those that run finish."""
    health.set_ready(False)
    interceptor.drain()
    try:
        async with asyncio.timeout(limit_seconds):
            await interceptor.limits.idle()
    except TimeoutError:
        _log.warning("calls cut off", calls=interceptor.limits.calls)
    with suppress(TimeoutError):  # who does not read is not waited for
        async with asyncio.timeout(_CLOSE_SECONDS):
            await health.wait_until_sent()
    interceptor.end_public_streams()
    await server.stop(_CLOSE_SECONDS)
