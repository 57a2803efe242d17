"""The life of the process: background loops, readiness, stop signals and draining."""

import asyncio
import gc
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final, NamedTuple

import structlog
from grpc import aio

from eventstore import EmbeddedPostgres, EventStore
from eventstore.errors import EmbeddedPostgresError, StoreError, StoreMisconfigured
from service.automation.bots import BotRunner
from service.automation.clock import Clock
from service.feeds.feeds import Feeds
from service.matches.following import Following
from service.matches.live_matches import LiveMatches
from service.rpc.health import Health, NotReady
from service.rpc.interceptor import Interceptor
from service.shared_clock import SharedClock
from service.supervisor import Supervisor
from service.times import to_us
from service.watchdog import rest
from service.workers.pool import WorkerPool

APPENDS_SECONDS_MAX: Final = 2.0
"""How long it waits for the appends then."""
QUIET_SECONDS: Final = 0.5
"""The port closes when no call has arrived for this time."""
CHECK_SECONDS_MIN: Final = 2.0
"""Time that a check of the database gets at least, which includes a new connection."""
HEADS_SECONDS_MAX: Final = 60.0
"""Time without a comparison of heads after which a replica is not ready: it could answer from a
state that others have left behind. It is longer than the pause of a loop that failed."""
OBSERVATIONS_MIN: Final = 2
"""Equal checks in a row that change the readiness. One slow answer changes nothing."""
_POSTGRES_SECONDS: Final = 1.0
"""Interval at which the parent of several processes looks at the embedded Postgres."""
_CLOSE_SECONDS: Final = 1.0
"""Time for the last answers to leave when the port closes."""

_log = structlog.get_logger(__name__)


@asynccontextmanager
async def matches_running(
    matches: LiveMatches,
    clock: Clock,
    bots: BotRunner,
    workers: WorkerPool,
    following: Following,
    feeds: Feeds,
    supervisor: Supervisor,
) -> AsyncIterator[None]:
    """Follow the log and enforce deadlines during the block.

    Then stop the clock and the bots, and wait until the running appends are done. All calls must
    have ended before.
    """
    try:
        async with (
            supervisor.background(following.exchange_hints, "hints"),
            supervisor.background(following.compare_heads, "heads"),
            supervisor.background(clock.run, "clock"),
            supervisor.background(feeds.run, "feeds"),
            supervisor.background(feeds.board.run, "lobby"),
        ):
            yield
    finally:
        clock.close()
        await bots.close()
        try:
            async with asyncio.timeout(APPENDS_SECONDS_MAX):
                await matches.join()
        except TimeoutError:  # their callers repeat these commands elsewhere
            _log.warning("appends cut off")
        await workers.close()


class Fault(NamedTuple):
    """Why a command could not be stored now."""

    kind: NotReady
    text: str


@asynccontextmanager
async def readiness(
    store: EventStore,
    postgres: EmbeddedPostgres | None,
    health: Health,
    interval_seconds: float,
    supervisor: Supervisor,
    clock: SharedClock,
    seconds_behind: Callable[[], float],
) -> AsyncIterator[None]:
    """Report during the block whether a command could be stored. Asks the database every interval.

    Starts an embedded Postgres that has died again, as nothing else does.
    """
    health.set_ready()  # the store was opened just now
    find_fault = partial(
        _find_fault, store, clock, seconds_behind, max(interval_seconds, CHECK_SECONDS_MIN)
    )
    watch = partial(_watch_database, find_fault, postgres, health, interval_seconds)
    async with supervisor.background(watch, "readiness"):
        yield


async def _watch_database(
    find_fault: Callable[[], Awaitable[Fault | None]],
    postgres: EmbeddedPostgres | None,
    health: Health,
    interval_seconds: float,
) -> None:
    verdict = Verdict()
    while True:
        await rest(interval_seconds)
        fault = await find_fault()
        has_changed = verdict.note(is_good=fault is None)
        if fault is None:
            if has_changed:
                health.set_ready()
                _log.info("ready")
            continue
        _log.warning("not ready", kind=fault.kind, reason=fault.text)
        if not verdict.is_good:
            health.set_not_ready(fault.kind)
            if postgres is not None:
                await _restart(postgres)


async def _find_fault(
    store: EventStore,
    clock: SharedClock,
    seconds_behind: Callable[[], float],
    timeout_seconds: float,
) -> Fault | None:
    try:
        async with asyncio.timeout(timeout_seconds):
            await store.check_writable()
            await compare_clocks(store, clock)
    except TimeoutError:
        return Fault("too_slow", "the database does not answer in time")
    except StoreMisconfigured as error:
        return Fault("misconfigured", str(error))
    except StoreError as error:
        return Fault("unavailable", str(error))
    if seconds_behind() > HEADS_SECONDS_MAX:
        return Fault("heads_behind", "the heads of the matches in memory are not compared")
    return None


async def compare_clocks(store: EventStore, clock: SharedClock) -> None:
    """Let the clock of this replica follow that of the database if it must. Raises StoreError."""
    asked = clock.elapsed_seconds()
    database_us = to_us(await store.read_time())
    clock.compare(database_us, asked, clock.elapsed_seconds())


class Verdict:
    """A verdict that changes only after several equal observations in a row (hysteresis).

    >>> verdict = Verdict()
    >>> [verdict.note(is_good=seen) for seen in (False, True, False, False, True, True)]
    [False, False, False, True, False, True]
    >>> verdict.is_good
    True
    """

    def __init__(self) -> None:
        """Start with a good verdict."""
        self.is_good = True
        self._contrary = 0

    def note(self, *, is_good: bool) -> bool:
        """Note an observation. Return whether the verdict has changed."""
        self._contrary = 0 if is_good == self.is_good else self._contrary + 1
        if self._contrary < OBSERVATIONS_MIN:
            return False
        self.is_good, self._contrary = is_good, 0
        return True


async def keep_postgres_running(postgres: EmbeddedPostgres) -> None:
    """Start an embedded Postgres that has died again, without end."""
    while True:
        await rest(_POSTGRES_SECONDS)
        if not (await asyncio.to_thread(postgres.status)).running:
            await _restart(postgres)


async def _restart(postgres: EmbeddedPostgres) -> None:
    try:
        await asyncio.to_thread(postgres.start)
    except EmbeddedPostgresError as error:
        _log.error("postgres does not start", error=str(error))


def stop_requested() -> asyncio.Event:
    """Return an event that SIGTERM or SIGINT sets. A second signal ends the process at once."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    signals = (signal.SIGTERM, signal.SIGINT)

    def request() -> None:
        stop.set()
        for number in signals:
            loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, request)
    return stop


async def drain(
    server: aio.Server, interceptor: Interceptor, health: Health, limit_seconds: float
) -> None:
    """Refuse new calls, let the running ones finish for `limit_seconds`, and close the port."""
    health.set_not_ready("draining")
    interceptor.drain()
    # While the port closes, gRPC answers new calls with a bare CANCELLED. So refuse them with
    # DRAINING until clients use another replica.
    end = time.monotonic() + limit_seconds
    is_idle = await _is_idle(interceptor, limit_seconds)
    while is_idle and time.monotonic() < end and interceptor.quiet_seconds < QUIET_SECONDS:
        await asyncio.sleep(QUIET_SECONDS - interceptor.quiet_seconds)
        is_idle = await _is_idle(interceptor, end - time.monotonic())
    if not is_idle:
        _log.warning("calls cut off", calls=interceptor.limits.calls)
        interceptor.cut_off()
        await _is_idle(interceptor, _CLOSE_SECONDS)
    with suppress(TimeoutError):  # a client that does not read is not waited for
        async with asyncio.timeout(_CLOSE_SECONDS):
            await health.wait_until_sent()
    interceptor.end_public_streams()
    await server.stop(_CLOSE_SECONDS)


async def _is_idle(interceptor: Interceptor, seconds: float) -> bool:
    """Wait until no call runs, but not longer than `seconds`. Return whether none runs."""
    try:
        async with asyncio.timeout(seconds):
            await interceptor.limits.idle()
    except TimeoutError:
        return False
    return True


def relax_collector() -> None:
    """Let Python's garbage collector ignore all present objects, and run more rarely.

    Live matches are many small objects that last. With the default thresholds the collector visits
    them all again and again, which took a third of a busy server's time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
