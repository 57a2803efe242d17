"""A pool of worker processes for long computations, with limits on time and on number.

Python threads share one lock, so a search in a thread delays every call. Worker processes do not,
and they run at a lower priority than the event loop. They exit with this process
(see parent_watch.py).
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
from typing import Final, NoReturn, TypeVar, TypeVarTuple

import structlog

from service.workers.errors import PoolBrokenError, PoolClosedError, TaskTimeoutError
from service.workers.parent_watch import (
    SPAWN,
    exit_with_parent,
    parent_pipe,
    without_interrupts,
)
from service.workers.turns import Turns

_START_SECONDS: Final = 30.0
"""Maximum time in which the first worker must start."""
_GRACE_SECONDS: Final = 0.5
"""Time that the pool waits for a late task beyond the alarm in the worker."""
_NICENESS: Final = 10
"""Niceness of the workers: a tenth of the CPU share of a process that is not nice."""

_log = structlog.get_logger(__name__)

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class WorkerPool:
    """A few worker processes. Each runs one task at a time, in fair turns (see turns.py)."""

    def __init__(self, processes: int, tasks_max: int) -> None:
        """Limit the number of processes, and of the tasks that run and wait.

        The processes start with `warm` or with the first task.
        """
        self._processes = processes
        self._turns = Turns(processes, tasks_max)
        self._starting: asyncio.Task[ProcessPoolExecutor] | None = None
        self._child_end, self._parent_end = parent_pipe()

    def warm(self) -> None:
        """Start the processes unless they run, so that the first task need not wait for it."""
        if self._starting is None and not self._parent_end.closed:
            self._starting = asyncio.create_task(self._start(), name="start workers")

    async def run(
        self,
        owner: str,
        seconds: float,
        function: Callable[[*Arguments], Result],
        *arguments: *Arguments,
        is_slow: bool = False,
    ) -> Result:
        """Return the result of the function, called in a worker. Everything must pickle.

        `owner` is the player for whom the task runs: the workers' time is shared fairly among
        owners. Slow tasks never use all workers, if there are several.

        `seconds` include the time in the queue, but not the start of the processes. When they are
        over, the worker stops the task. A task whose worker dies is run once more, in a new one.

        Raises WorkerPoolError, and what the function raises.
        """
        for _ in range(2):
            await self._pool()
            try:
                answer = await self._begin(owner, seconds, function, arguments, is_slow=is_slow)
                await asyncio.wait([answer], timeout=seconds + _GRACE_SECONDS)
                if not answer.done():
                    raise TaskTimeoutError("the time is over")
                return answer.result()
            except BrokenProcessPool:
                continue
            except TimeoutError as error:
                raise TaskTimeoutError("the time is over") from error
        self._check_open()
        raise PoolBrokenError("the workers died")

    async def _begin(
        self,
        owner: str,
        seconds: float,
        function: Callable[[*Arguments], Result],
        arguments: tuple[*Arguments],
        *,
        is_slow: bool,
    ) -> asyncio.Future[Result]:
        """Wait for a turn, and submit the task. The turn ends with the task."""
        asked = time.monotonic()
        turn = await self._turns.take(owner, seconds, is_slow=is_slow)
        left_seconds = seconds - (time.monotonic() - asked)
        try:
            pool = await self._pool()  # the one of before may have died
            try:
                task = pool.submit(_run, time.monotonic() + left_seconds, function, arguments)
            except BrokenProcessPool:
                self._forget(pool)
                raise
        except BaseException:
            self._turns.give_back(turn)
            raise
        answer = _answer_to(task)

        def ended(answer: "asyncio.Future[Result]") -> None:
            if not answer.cancelled() and isinstance(answer.exception(), BrokenProcessPool):
                self._forget(pool)
            self._turns.give_back(turn)

        answer.add_done_callback(ended)
        return answer

    async def close(self) -> None:
        """End the processes at once, whatever they run."""
        self._parent_end.close()
        self._turns.refuse_all(PoolClosedError("the service stops"))
        if self._starting is not None:
            with suppress(BrokenProcessPool, TimeoutError, OSError):
                pool = await self._starting
                await asyncio.to_thread(pool.shutdown)
        self._child_end.close()

    def _check_open(self) -> None:
        if self._parent_end.closed:
            raise PoolClosedError("the service stops")

    async def _pool(self) -> ProcessPoolExecutor:
        """Return processes of which at least one is ready."""
        self.warm()
        starting = self._starting
        self._check_open()
        assert starting is not None
        try:
            pool = await asyncio.shield(starting)
        except (BrokenProcessPool, TimeoutError, OSError) as error:
            self._check_open()
            if self._starting is starting:
                self._starting = None
                _log.error("workers do not start", exc_info=error)
            raise PoolBrokenError("the workers do not start") from error
        self._check_open()
        return pool

    async def _start(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(self._processes, SPAWN, _begin, (self._child_end,))

        def spawn() -> list[Future[int]]:
            with without_interrupts():
                return [pool.submit(os.getpid) for _ in range(self._processes)]

        answers = [_answer_to(one) for one in await asyncio.to_thread(spawn)]
        first = asyncio.FIRST_COMPLETED
        ready, _ = await asyncio.wait(answers, timeout=_START_SECONDS, return_when=first)
        if not ready:
            raise TimeoutError
        for answer in ready:
            answer.result()
        return pool

    def _forget(self, pool: ProcessPoolExecutor) -> None:
        """Make room for new processes. One of these has died, and the executor ended the others."""
        starting = self._starting
        if starting is not None and starting.done() and starting.result() is pool:
            self._starting = None
            pool.shutdown(wait=False)
            if not self._parent_end.closed:
                _log.warning("workers died")


def _answer_to(task: Future[Result]) -> asyncio.Future[Result]:
    """Return the future to wait for with `asyncio.wait`, which does not cancel the task.

    The executor cannot clean up after the death of a worker if it meets a cancelled task. A task
    without a waiter ends by its own alarm, and its result is not read.
    """
    answer = asyncio.wrap_future(task)
    answer.add_done_callback(lambda answer: answer.cancelled() or answer.exception())
    return answer


# --- in the workers -----------------------------------------------------------------------------


def _begin(child_end: Connection) -> None:
    """Set up a worker."""
    signal.signal(signal.SIGALRM, _stop_task)
    os.nice(_NICENESS)
    exit_with_parent(child_end)


def _stop_task(*_: object) -> NoReturn:
    raise TimeoutError


def _run(
    deadline: float,
    function: Callable[[*Arguments], Result],
    arguments: tuple[*Arguments],
) -> Result:
    """Call the function, and stop it at `deadline` (by the monotonic clock of the machine)."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    signal.setitimer(signal.ITIMER_REAL, left)
    try:
        return function(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
