"""The life of the process: background loops, readiness, stop signals and draining."""

import asyncio
import gc
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import structlog
from grpc import aio

from eventstore import EmbeddedPostgres, EventStore
from eventstore.errors import EmbeddedPostgresError, StoreError
from service.automation.bots import BotRunner
from service.automation.clock import Clock
from service.matches.following import Following
from service.matches.live_matches import LiveMatches
from service.rpc.failures import Failures, Work
from service.rpc.health import Health
from service.rpc.interceptor import Interceptor
from service.shared_clock import SharedClock
from service.times import to_us
from service.workers.pool import WorkerPool

RESTART_SECONDS_MIN: Final = 1.0
RESTART_SECONDS_MAX: Final = 30.0
"""The pause before a failed loop starts again doubles up to this. Work for longer resets it."""
STOP_SECONDS_MAX: Final = 0.5
"""How long the end of the service waits for each loop, if the database is away."""
APPENDS_SECONDS_MAX: Final = 2.0
"""How long it waits for the appends then."""
QUIET_SECONDS: Final = 0.5
"""The port closes when no call has arrived for this time."""
CHECK_SECONDS_MIN: Final = 2.0
"""Time that a check of the database gets at least, which includes a new connection."""
OBSERVATIONS_MIN: Final = 2
"""Equal checks in a row that change the readiness. One slow answer changes nothing."""
_CLOSE_SECONDS: Final = 1.0
"""Time for the last answers to leave when the port closes."""

_log = structlog.get_logger(__name__)


@asynccontextmanager
async def background(
    loop: Callable[[], Coroutine[None, None, None]], work: Work, failures: Failures
) -> AsyncIterator[None]:
    """Run an endless loop as a task during the block. If it fails, report that and start again."""
    task = asyncio.create_task(_supervise(loop, work, failures), name=work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=STOP_SECONDS_MAX)


async def _supervise(
    loop: Callable[[], Coroutine[None, None, None]], work: Work, failures: Failures
) -> None:
    pause_seconds = RESTART_SECONDS_MIN
    clock = asyncio.get_running_loop().time
    while True:
        started = clock()
        try:
            await loop()
        except Exception as error:  # noqa: BLE001 - reported, and the loop must go on
            failures.report(work, error)
            failures.note_stopped(work)
        if clock() - started > RESTART_SECONDS_MAX:
            pause_seconds = RESTART_SECONDS_MIN
        await asyncio.sleep(pause_seconds)
        pause_seconds = min(2 * pause_seconds, RESTART_SECONDS_MAX)


@asynccontextmanager
async def matches_running(
    matches: LiveMatches, clock: Clock, bots: BotRunner, workers: WorkerPool
) -> AsyncIterator[None]:
    """Follow the log and enforce deadlines during the block.

    Then stop the clock and the bots, and wait until the running appends are done. All calls must
    have ended before.
    """
    context = matches.context
    following = Following(context.store, matches)
    try:
        async with (
            background(following.exchange_hints, "hints", context.failures),
            background(following.compare_heads, "heads", context.failures),
            background(clock.run, "clock", context.failures),
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


@asynccontextmanager
async def readiness(
    store: EventStore,
    postgres: EmbeddedPostgres | None,
    health: Health,
    interval_seconds: float,
    failures: Failures,
    clock: SharedClock,
) -> AsyncIterator[None]:
    """Report during the block whether a command could be stored. Asks the database every interval.

    Starts an embedded Postgres that has died again, as nothing else does.
    """
    health.set_ready(True)  # the store was opened just now
    watch = partial(_watch_database, store, postgres, health, interval_seconds, clock)
    async with background(watch, "readiness", failures):
        yield


async def _watch_database(
    store: EventStore,
    postgres: EmbeddedPostgres | None,
    health: Health,
    interval_seconds: float,
    clock: SharedClock,
) -> None:
    verdict = Verdict()
    while True:
        await asyncio.sleep(interval_seconds)
        reason = await _reason_not_ready(store, clock, max(interval_seconds, CHECK_SECONDS_MIN))
        if verdict.note(is_good=not reason):
            health.set_ready(verdict.is_good)
            if verdict.is_good:
                _log.info("ready")
        if reason:
            _log.warning("not ready", reason=reason)
            if postgres is not None and not verdict.is_good:
                await _restart(postgres)


async def _reason_not_ready(store: EventStore, clock: SharedClock, timeout_seconds: float) -> str:
    """Return why a command could not be stored now, or an empty text."""
    try:
        async with asyncio.timeout(timeout_seconds):
            await store.check_writable()
            await compare_clocks(store, clock)
    except TimeoutError:
        return "the database does not answer in time"
    except StoreError as error:
        return str(error)
    return ""


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
    health.set_ready(False)
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
