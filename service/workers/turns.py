"""Turns of the worker processes: fair shares of their time for each owner of tasks.

The owner of a task is the player for whom it runs. A free worker goes to the waiting owner with the
fewest running tasks, and among these to the one who has used the least time. An owner with many
tasks therefore waits for its own tasks, and an owner with one task waits for at most the task that
is running. This is fair queueing by time used.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from service.workers.errors import PoolFullError, TaskTimeoutError


class Turn:
    """The right to use one worker until it is given back."""

    __slots__ = ("is_slow", "owner", "ready", "started")

    def __init__(self, owner: str, ready: "asyncio.Future[None]", *, is_slow: bool) -> None:
        self.owner = owner
        self.ready = ready
        self.is_slow = is_slow
        self.started = 0.0


class Turns:
    """Hands out the turns of a number of workers. The queue is short, so it is a plain list."""

    def __init__(
        self, workers: int, turns_max: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Limit the turns in use to `workers`, and those in use and waiting to `turns_max`.

        Slow tasks leave one worker to the others, if there is more than one.
        """
        self._workers = workers
        self._slow_max = max(1, workers - 1)
        self._turns_max = turns_max
        self._clock = clock
        self._waiting: list[Turn] = []
        self._running: list[Turn] = []
        self._used: dict[str, float] = {}
        """Seconds used by each owner with a turn, counted from the least used at its arrival."""

    async def take(self, owner: str, seconds: float, *, is_slow: bool = False) -> Turn:
        """Wait for a turn. Raises PoolFullError and, after `seconds`, TaskTimeoutError.

        With too many turns waiting, the newest of the owner with the most gives way, which can be
        this one.
        """
        if len(self._waiting) + len(self._running) >= self._turns_max:
            self._make_room(owner)
        turn = Turn(owner, asyncio.get_running_loop().create_future(), is_slow=is_slow)
        self._used.setdefault(owner, min(self._used.values(), default=0.0))
        self._waiting.append(turn)
        self._start_waiting()
        try:
            async with asyncio.timeout(seconds):
                await turn.ready
        except TimeoutError as error:
            self.give_back(turn)
            raise TaskTimeoutError("the time is over") from error
        except BaseException:
            self.give_back(turn)
            raise
        return turn

    def give_back(self, turn: Turn) -> None:
        """End a turn, whether it waits or runs. A turn that has ended is left alone."""
        if turn in self._waiting:
            self._waiting.remove(turn)
        elif turn in self._running:
            self._running.remove(turn)
            self._used[turn.owner] += self._clock() - turn.started
        if turn.owner not in self._counts():
            self._used.pop(turn.owner, None)
        self._start_waiting()

    def refuse_all(self, error: Exception) -> None:
        """Raise an error in everything that waits for a turn."""
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            _refuse(turn, error)

    def _counts(self) -> Counter[str]:
        return Counter(turn.owner for turn in (*self._waiting, *self._running))

    def _make_room(self, owner: str) -> None:
        counts = self._counts()
        ((heaviest, most),) = counts.most_common(1)
        newest = next((it for it in reversed(self._waiting) if it.owner == heaviest), None)
        if newest is None or most <= counts[owner] + 1:
            raise PoolFullError("too many tasks wait")
        self._waiting.remove(newest)
        _refuse(newest, PoolFullError("too many tasks of this player wait"))

    def _start_waiting(self) -> None:
        while len(self._running) < self._workers and (turn := self._next()) is not None:
            self._waiting.remove(turn)
            self._running.append(turn)
            turn.started = self._clock()
            if not turn.ready.done():  # cancelled at this moment: `take` gives the turn back
                turn.ready.set_result(None)

    def _next(self) -> Turn | None:
        slow_may_start = sum(turn.is_slow for turn in self._running) < self._slow_max
        may_start = [turn for turn in self._waiting if slow_may_start or not turn.is_slow]
        running = Counter(turn.owner for turn in self._running)
        # `min` keeps the order of arrival among equals.
        return min(
            may_start, key=lambda turn: (running[turn.owner], self._used[turn.owner]), default=None
        )


def _refuse(turn: Turn, error: Exception) -> None:
    if not turn.ready.done():
        turn.ready.set_exception(error)
