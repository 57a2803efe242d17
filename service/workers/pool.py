"""Where the service thinks: processes beside the event loop, with a limit on time and on number.

Python's threads share one lock, so that a search in a thread holds up every call. Processes do not,
and these give way to the loop where the cores are busy. They end with this process, however that
ends (see processes.py).
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final, NoReturn, TypeVar, TypeVarTuple

import structlog

from service.workers.parent_watch import SPAWN, end_with, lifeline

_START_SECONDS: Final = 30.0
"""How long the first process may take to start."""
_LATE_SECONDS: Final = 0.5
"""How much later than the alarm in its process a thought is given up here."""
_NICENESS: Final = 10
"""By how much they give way: a tenth of the share of a process that is not nice."""

_log = structlog.get_logger(__name__)

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class NoThoughtError(Exception):
    """Nothing was thought of: too many wait, the processes died, or see below."""


class LateThoughtError(NoThoughtError):
    """The time is over."""


class Thinkers:
    """A few processes that have one thought at a time each, first come, first served."""

    def __init__(self, processes: int, worker_tasks_max: int) -> None:
        """At most so many processes, and so many thoughts running and waiting.

        The processes start with `warm`, or with the first thought.
        """
        self._processes = processes
        self._worker_tasks_max = worker_tasks_max
        self._thoughts: set[Future[Any]] = set()
        self._starting: asyncio.Task[ProcessPoolExecutor] | None = None
        self._end, self._lifeline = lifeline()

    def warm(self) -> None:
        """Start the processes unless they run, so that the first thought need not wait for it."""
        if self._starting is None and not self._lifeline.closed:
            self._starting = asyncio.create_task(self._start(), name="thinkers")

    async def think(
        self,
        seconds: float,
        function: Callable[[*Arguments], Result],
        *arguments: *Arguments,
    ) -> Result:
        """What the function gives, called in one of the processes: all of it must pickle.

        `seconds` include the waiting, but not the start of the processes. Once they are over the
        process stops, so that nobody thinks in vain. A thought whose process dies is thought once
        more, in a new one.

        Raises NoThoughtError, and what the function raises.
        """
        for _ in range(2):
            pool = await self._pool()
            self._thoughts = {thought for thought in self._thoughts if not thought.done()}
            if len(self._thoughts) >= self._worker_tasks_max:
                raise NoThoughtError("too many thoughts wait")
            try:
                thought = pool.submit(_think, time.monotonic() + seconds, function, arguments)
                self._thoughts.add(thought)
                answer = _answer_to(thought)
                await asyncio.wait([answer], timeout=seconds + _LATE_SECONDS)
                if not answer.done():
                    raise LateThoughtError("the time is over")
                return answer.result()
            except BrokenProcessPool:
                self._forget(pool)
            except TimeoutError as error:
                raise LateThoughtError("the time is over") from error
        raise NoThoughtError("the processes died")

    async def close(self) -> None:
        """End the processes at once, whatever they think of."""
        self._lifeline.close()
        if self._starting is not None:
            with suppress(BrokenProcessPool, TimeoutError, OSError):
                pool = await self._starting
                await asyncio.to_thread(pool.shutdown)
        self._end.close()

    async def _pool(self) -> ProcessPoolExecutor:
        """Processes of which at least one is ready to think."""
        self.warm()
        starting = self._starting
        if starting is None:
            raise NoThoughtError("the service stops")
        try:
            return await asyncio.shield(starting)
        except (BrokenProcessPool, TimeoutError, OSError) as error:
            if self._starting is starting:
                self._starting = None
                if not self._lifeline.closed:
                    _log.error("thinkers do not start", exc_info=error)
            raise NoThoughtError("the processes do not start") from error

    async def _start(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(self._processes, SPAWN, _begin, (self._end,))

        def spawn() -> list[Future[int]]:
            # Ctrl-C is for this process alone. The others begin with what this thread blocks.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                return [pool.submit(os.getpid) for _ in range(self._processes)]
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

        answers = [_answer_to(one) for one in await asyncio.to_thread(spawn)]
        first = asyncio.FIRST_COMPLETED
        ready, _ = await asyncio.wait(answers, timeout=_START_SECONDS, return_when=first)
        if not ready:
            raise TimeoutError
        for answer in ready:
            answer.result()
        return pool

    def _forget(self, pool: ProcessPoolExecutor) -> None:
        """Make room for new processes: one of these has died, and took the others with it."""
        starting = self._starting
        if starting is not None and starting.done() and starting.result() is pool:
            self._starting = None
            pool.shutdown(wait=False)
            if not self._lifeline.closed:
                _log.warning("thinkers died")


def _answer_to(thought: Future[Result]) -> asyncio.Future[Result]:
    """The answer to wait for, by `asyncio.wait`, which does not cancel it.

    The pool cannot clear up after a death where it meets a thought that was cancelled. One that
    nobody waits for any more ends by its own alarm, and its answer goes unread.
    """
    answer = asyncio.wrap_future(thought)
    answer.add_done_callback(lambda answer: answer.cancelled() or answer.exception())
    return answer


# --- in the processes ---------------------------------------------------------------------------


def _begin(end: Connection) -> None:
    """Set the process up."""
    signal.signal(signal.SIGALRM, _stop_thinking)
    os.nice(_NICENESS)
    end_with(end)


def _stop_thinking(*_: object) -> NoReturn:
    raise TimeoutError


def _think(
    deadline: float,
    function: Callable[[*Arguments], Result],
    arguments: tuple[*Arguments],
) -> Result:
    """Call the function, and break it off at `deadline`, by the clock that all processes share."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    signal.setitimer(signal.ITIMER_REAL, left)
    try:
        return function(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
