"""Runs all background loops: reports their failures and starts them again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Final

from service.rpc.failures import Failures, Work
from service.watchdog import ROUND_SECONDS_MAX, Watchdog

RESTART_SECONDS_MIN: Final = 1.0
RESTART_SECONDS_MAX: Final = 30.0
"""The pause before a failed loop starts again doubles up to this. Work for longer resets it."""
STOP_SECONDS_MAX: Final = 0.5
"""How long the end of the service waits for each loop, if the database is away."""

Loop = Callable[[], Coroutine[None, None, None]]


class NoProgressError(Exception):
    """The watchdog cancelled a loop that made no progress."""


class Supervisor:
    """Runs background loops. A loop calls `service.watchdog.rest` after each round."""

    def __init__(self, failures: Failures, watchdog: Watchdog) -> None:
        """Report to `failures`. The watchdog ends loops that make no progress."""
        self._failures = failures
        self._watchdog = watchdog

    @asynccontextmanager
    async def background(self, loop: Loop, work: Work) -> AsyncIterator[None]:
        """Run an endless loop during the block. If it fails, report that and start it again."""
        task = asyncio.create_task(self._supervise(loop, work), name=work)
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task}, timeout=STOP_SECONDS_MAX)

    async def _supervise(self, loop: Loop, work: Work) -> None:
        pause_seconds = RESTART_SECONDS_MIN
        clock = asyncio.get_running_loop().time
        while True:
            started = clock()
            error = await self._run(loop, work)
            if error is not None:
                self._failures.report(work, error)
                self._failures.note_stopped(work)
            if clock() - started > RESTART_SECONDS_MAX:
                pause_seconds = RESTART_SECONDS_MIN
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, RESTART_SECONDS_MAX)

    async def _run(self, loop: Loop, work: Work) -> Exception | None:
        """Run a loop until it stops. Return why."""
        task = asyncio.create_task(self._watched(loop, work), name=work)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        if task.cancelled():
            return NoProgressError(f"no progress for {ROUND_SECONDS_MAX:.0f} seconds")
        error = task.exception()
        assert error is None or isinstance(error, Exception)
        return error

    async def _watched(self, loop: Loop, work: Work) -> None:
        with self._watchdog.watching(work):
            await loop()
