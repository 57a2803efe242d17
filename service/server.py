"""The composition root: builds every part of the service and connects them.

    async with running(config) as server:
        aio.insecure_channel(server.address)

When the block ends, the service stops in this order: it reports that it is not ready; watches and
sessions end with DRAINING, and new calls are refused with it; running commands get
`drain_seconds_max`; the port closes; the store finishes its writes; the store and the embedded
Postgres are closed; the last traces are sent.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from functools import partial

import structlog
from grpc import aio
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from grpc_reflection.v1alpha import reflection
from pydantic import SecretStr

from durak.v1 import (
    administration_service_pb2,
    audit_service_pb2,
    dispute_service_pb2,
    feed_service_pb2,
    match_service_pb2,
    practice_service_pb2,
    rules_service_pb2,
    standings_service_pb2,
    wallet_service_pb2,
)
from durak.v1.administration_service_pb2_grpc import (
    add_AdministrationServiceServicer_to_server,
)
from durak.v1.audit_service_pb2_grpc import add_AuditServiceServicer_to_server
from durak.v1.dispute_service_pb2_grpc import add_DisputeServiceServicer_to_server
from durak.v1.feed_service_pb2_grpc import add_FeedServiceServicer_to_server
from durak.v1.practice_service_pb2_grpc import add_PracticeServiceServicer_to_server
from durak.v1.rules_service_pb2_grpc import add_RulesServiceServicer_to_server
from durak.v1.standings_service_pb2_grpc import add_StandingsServiceServicer_to_server
from durak.v1.wallet_service_pb2_grpc import add_WalletServiceServicer_to_server
from eventstore import EmbeddedPostgres, EventStore, migrate
from service.administration.revocation_feed import RevocationFeed
from service.administration.servicer import AdministrationService
from service.audit.servicer import AuditService
from service.automation.bots import BotRunner
from service.automation.clock import Clock
from service.automation.histories import Histories
from service.checkpoints import signing_keys
from service.checkpoints.checkpointer import Checkpointer
from service.checkpoints.signing_keys import NoteKeyError
from service.config import Config
from service.core import core_form
from service.disputes.servicer import DisputeService
from service.feeds.feeds import Feeds
from service.feeds.servicer import FeedService
from service.lifecycle import (
    compare_clocks,
    drain,
    keep_postgres_running,
    matches_running,
    readiness,
    relax_collector,
    stop_requested,
)
from service.matches.commands import Commands
from service.matches.context import Context
from service.matches.following import Following
from service.matches.live_matches import LiveMatches
from service.matches.review import Reviews
from service.matches.seat_quota import SeatQuota
from service.matches.servicer import MatchService
from service.matches.servicer import add_to_server as add_match_service
from service.matches.suspensions import Suspensions
from service.matches.table_quota import TableQuota
from service.practice.puzzles import Puzzles
from service.practice.servicer import PracticeService
from service.practice.texts import PracticeTexts
from service.processes.link import ParentLink
from service.processes.parent import Parent, RunChild
from service.rpc.authentication import Authenticator, Issuer, KeySource
from service.rpc.authorization import ACCESS, Access
from service.rpc.failures import Failures
from service.rpc.health import NOT_READY, Health
from service.rpc.interceptor import Interceptor
from service.rpc.limits import Limits
from service.rpc.log_writer import lost_lines
from service.rpc.port import channel_options, health_port, listen
from service.rpc.revocations import Revocations
from service.rpc.telemetry import Telemetry, open_telemetry
from service.rpc.token_keys import DevelopmentKey, KeySet
from service.rules.rule_sheets import RuleSheets
from service.rules.servicer import RulesService
from service.shared_clock import SharedClock
from service.standings.scorekeeper import Scorekeeper
from service.standings.servicer import StandingsService
from service.supervisor import Supervisor
from service.times import Now, system_now_us
from service.wallet.servicer import WalletService
from service.watchdog import Watchdog
from service.workers.pool import WorkerPool

SERVICES = tuple(
    service.full_name
    for file in (
        administration_service_pb2,
        audit_service_pb2,
        dispute_service_pb2,
        feed_service_pb2,
        match_service_pb2,
        practice_service_pb2,
        rules_service_pb2,
        standings_service_pb2,
        wallet_service_pb2,
    )
    for service in file.DESCRIPTOR.services_by_name.values()
)
"""The full names of all services of the contract."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Running:
    """A service that takes calls at `address` (host:port)."""

    config: Config
    address: str
    health_port: int | None
    """The port for health checks alone, if one is configured."""
    development_key: DevelopmentKey | None
    """The key that verifies tokens, if no JWKS is configured."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts that run the matches of a process."""

    matches: LiveMatches
    commands: Commands
    workers: WorkerPool
    histories: Histories
    bots: BotRunner
    clock: Clock
    servicer: MatchService
    following: Following
    feeds: Feeds

    def running(self, supervisor: Supervisor) -> AbstractAsyncContextManager[None]:
        """Return a context manager that runs the clock and the bots during its block."""
        return matches_running(
            self.matches,
            self.clock,
            self.bots,
            self.workers,
            self.following,
            self.feeds,
            supervisor,
        )


def build_engine(
    store: EventStore,
    config: Config,
    limits: Limits,
    failures: Failures,
    now_us: Now,
) -> Engine:
    """Build the engine of a process. Call it in a running event loop."""
    quota = TableQuota(store, config.caller_tables_max, config.caller_bot_tables_max)
    seats = SeatQuota(store, config.caller_seats_max)
    suspensions = Suspensions(store, config)
    loop = asyncio.get_running_loop()
    context = Context(store, config, now_us, quota, seats, suspensions, loop, failures)
    matches = LiveMatches(context)
    commands = Commands(matches, limits)
    workers = WorkerPool(config.worker_processes, config.worker_tasks_max)
    histories = Histories()
    bots = BotRunner(matches, histories, workers)
    clock = Clock(matches, bots)
    context.change_listeners.extend((clock.changed, histories.changed, bots.changed))
    context.eviction_listeners.extend((clock.evicted, histories.evicted))
    servicer = MatchService(matches, commands, Reviews(matches, workers), limits, failures)
    following = Following(store, matches)
    feeds = Feeds(matches)
    return Engine(matches, commands, workers, histories, bots, clock, servicer, following, feeds)


@asynccontextmanager
async def running(
    config: Config, own_us: Now = system_now_us, parent: ParentLink | None = None
) -> AsyncIterator[Running]:
    """Run a service that takes calls during the block. `own_us` is the clock of the machine.

    `parent` is the link to the parent of this process, if several share the port.

    Raises StartError, KeySetError, StoreError, or EmbeddedPostgresError.
    """
    async with AsyncExitStack() as stack:
        telemetry = open_telemetry(config, parent.number if parent else None)
        stack.push_async_callback(telemetry.close)
        keys = await _keys(config)
        dsn, postgres = await _database(config, stack)
        store = await stack.enter_async_context(await EventStore.open(dsn))
        limits = Limits(config)
        failures = Failures()
        clock = SharedClock(config.clock_offset_seconds_max, own_us)
        await compare_clocks(store, clock)
        engine = build_engine(store, config, limits, failures, clock.now_us)
        health = Health(SERVICES)
        health_address = await stack.enter_async_context(health_port(health, config))
        revocations = Revocations()
        interceptor = build_interceptor(config, keys, revocations, limits, failures, telemetry)
        revocation_feed = RevocationFeed(
            store, revocations, config.revocations_interval_seconds, interceptor.end_revoked
        )
        await revocation_feed.load()
        server = aio.server(interceptors=[interceptor], options=channel_options(config))
        _add_services(server, store, config, engine, limits, failures, clock.now_us)
        _add_health_and_reflection(server, health)
        port = listen(server, config)
        checkpointer = await _checkpointer(store, config)
        telemetry.observe(limits, failures)
        _observe(telemetry, engine, checkpointer, health, clock)

        watchdog = Watchdog(config.stuck_seconds_max)
        await stack.enter_async_context(watchdog.running())
        supervisor = Supervisor(failures, watchdog)
        if parent is not None:
            report = partial(parent.report, health)
            await stack.enter_async_context(supervisor.background(report, "processes"))
        await stack.enter_async_context(engine.running(supervisor))
        await server.start()
        stack.push_async_callback(drain, server, interceptor, health, config.drain_seconds_max)
        await stack.enter_async_context(supervisor.background(checkpointer.run, "checkpoints"))
        await stack.enter_async_context(supervisor.background(revocation_feed.run, "revocations"))
        scorekeeper = Scorekeeper(store, config, failures, clock.now_us)
        await stack.enter_async_context(supervisor.background(scorekeeper.run, "standings"))
        await stack.enter_async_context(
            readiness(
                store,
                postgres,
                health,
                config.readiness_interval_seconds,
                supervisor,
                clock,
                engine.following.seconds_behind,
            )
        )
        if isinstance(keys, KeySet):
            keys.listeners.append(interceptor.end_revoked)
            await stack.enter_async_context(supervisor.background(keys.keep_fresh, "token_keys"))
        key = keys if isinstance(keys, DevelopmentKey) else None
        yield Running(config, f"{config.listen_host}:{port}", health_address, key)


def _add_services(
    server: aio.Server,
    store: EventStore,
    config: Config,
    engine: Engine,
    limits: Limits,
    failures: Failures,
    now_us: Now,
) -> None:
    add_match_service(engine.servicer, server)
    add_FeedServiceServicer_to_server(FeedService(engine.feeds, limits), server)
    add_AdministrationServiceServicer_to_server(
        AdministrationService(store, config, now_us), server
    )
    audits = AuditService(store, config, now_us)
    add_AuditServiceServicer_to_server(audits, server)
    add_DisputeServiceServicer_to_server(DisputeService(store, config, failures, now_us), server)
    add_WalletServiceServicer_to_server(WalletService(store, config, now_us), server)
    standings = StandingsService(store.standings, engine.matches, config)
    add_StandingsServiceServicer_to_server(standings, server)
    add_public_services(config, server)


def _add_health_and_reflection(server: aio.Server, health: Health) -> None:
    add_HealthServicer_to_server(health, server)
    health_name = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
    names = (*SERVICES, health_name, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)


def _observe(
    telemetry: Telemetry,
    engine: Engine,
    checkpointer: Checkpointer,
    health: Health,
    clock: SharedClock,
) -> None:
    """Report the numbers that the parts of the service count anyway."""
    counters = engine.matches.context.counters
    for name in counters.__slots__:
        telemetry.counter(f"durak.{name}", partial(getattr, counters, name))
    telemetry.counter("durak.log_lines_lost", lost_lines)
    telemetry.gauge(
        "durak.clock_offset",
        lambda: clock.offset_us // 1_000,
        "Milliseconds by which the clock of the replica is ahead of the database's.",
    )
    hints = engine.matches.context.store.hints
    telemetry.counter("durak.hints_sent", lambda: hints.sent)
    telemetry.counter("durak.hints_received", lambda: hints.received)
    matches = engine.matches
    telemetry.gauge("durak.matches.live", lambda: len(matches), "Matches held in memory.")
    telemetry.gauge("durak.matches.bytes", lambda: matches.bytes, "Memory that they take.")
    telemetry.gauges(
        "durak.not_ready",
        "reason",
        lambda: {reason: int(reason == health.not_ready) for reason in NOT_READY},
        "1 for the reason why the service takes no calls.",
    )
    telemetry.gauge("durak.ready", lambda: health.is_ready, "1 while the service takes calls.")
    telemetry.gauge(
        "durak.checkpoints.failing",
        lambda: checkpointer.is_failing,
        "1 while ended matches cannot be put into the tree, signed and published.",
    )


def add_public_services(config: Config, server: aio.Server) -> None:
    """Add the services that need no token."""
    sheets = RuleSheets(
        idle_limit_seconds=config.idle_limit_seconds, remembered=config.rule_sheets_remembered_max
    )
    add_RulesServiceServicer_to_server(RulesService(sheets), server)
    puzzles = Puzzles(
        config.practice_puzzles, attempts_remembered_max=config.practice_attempts_remembered_max
    )
    practice = PracticeService(puzzles, PracticeTexts())
    add_PracticeServiceServicer_to_server(practice, server)


async def serve_forever(
    config: Config,
    started: Callable[[Running], None] = lambda _: None,
    parent: ParentLink | None = None,
) -> None:
    """Run the service until SIGTERM or SIGINT; a second one ends the process at once.

    `started` is called when it takes calls. One of several processes has a `parent`, and also ends
    when that asks for it. Raises what `running` raises.
    """
    stop = stop_requested()
    relax_collector()
    with nullcontext() if parent is None else parent.reading(stop):
        async with running(config, parent=parent) as server:
            _log.info(
                "started",
                address=server.address,
                tls=config.tls_key is not None,
                core=core_form(),
                pid=os.getpid(),
                health_port=server.health_port,
            )
            started(server)
            await stop.wait()
            _log.info("stopping")
    _log.info("stopped")


async def serve_processes(
    config: Config, run_child: RunChild, started: Callable[[str], None]
) -> None:
    """Run several processes behind one port until SIGTERM or SIGINT.

    This process owns the embedded Postgres, if no database is configured. `started` is called with
    the address when all processes take calls. Raises what `Parent.run` raises.
    """
    stop = stop_requested()
    async with AsyncExitStack() as stack:
        dsn, postgres = await _database(config, stack)
        if postgres is not None:
            await _make_note_key(config)
            watchdog = Watchdog(config.stuck_seconds_max)
            await stack.enter_async_context(watchdog.running())
            keep_running = partial(keep_postgres_running, postgres)
            supervisor = Supervisor(Failures(), watchdog)
            await stack.enter_async_context(supervisor.background(keep_running, "postgres"))
        shared = config.model_copy(update={"database_url": SecretStr(dsn)})
        await Parent(shared, run_child).run(stop, started)
    _log.info("stopped")


async def _keys(config: Config) -> KeySource:
    if config.token_jwks is None:
        return await asyncio.to_thread(DevelopmentKey.in_folder, config.data_dir)
    keys = KeySet(
        config.token_jwks,
        refresh_seconds=config.token_jwks_refresh_seconds,
        retry_seconds=config.token_jwks_retry_seconds,
        timeout_seconds=config.token_jwks_timeout_seconds,
        stale_seconds=config.token_jwks_stale_seconds_max,
    )
    await keys.load()
    return keys


def build_interceptor(
    config: Config,
    keys: KeySource,
    revocations: Revocations,
    limits: Limits,
    failures: Failures,
    telemetry: Telemetry,
    access: Mapping[str, Access] = ACCESS,
) -> Interceptor:
    """Build the interceptor of a server. `access` says who may call which method."""
    authenticator = Authenticator(
        keys,
        revocations,
        issuer=Issuer(
            config.token_issuer,
            config.token_audience,
            config.token_roles_claim,
            config.token_default_role,
        ),
        leeway_seconds=config.token_leeway_seconds,
        cache_size=config.token_cache_size_max,
    )
    return Interceptor(authenticator, limits, failures, telemetry, config, access)


async def _database(config: Config, stack: AsyncExitStack) -> tuple[str, EmbeddedPostgres | None]:
    """Return the address of the database, and the embedded Postgres if none is configured."""
    if config.database_url is not None:
        return config.database_url.get_secret_value(), None
    postgres = EmbeddedPostgres(config.data_dir / "postgres")
    await asyncio.to_thread(postgres.start)
    stack.push_async_callback(asyncio.to_thread, postgres.release)
    await migrate(postgres.owner_dsn())
    return postgres.app_dsn(), postgres


async def _checkpointer(store: EventStore, config: Config) -> Checkpointer:
    """Build the checkpointer. A service with an embedded Postgres makes its own key."""
    if config.database_url is None:
        await _make_note_key(config)
    checkpointer = Checkpointer(store, config)
    with suppress(NoteKeyError):  # the checkpointer logs it when it works
        await checkpointer.read_keys()
    return checkpointer


async def _make_note_key(config: Config) -> None:
    if not config.note_key_file.exists():
        with suppress(NoteKeyError):  # another process of the same folder has just made it
            await asyncio.to_thread(signing_keys.make, config.note_key_file, "durak.local")
