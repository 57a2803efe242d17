"""Turns of the workers are shared fairly among the owners of tasks."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from service.workers.errors import PoolFullError, TaskTimeoutError
from service.workers.turns import Turn, Turns

LONG_S = 60.0


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Queue:
    """Turns and the tasks that asked for one, in the order in which they got it."""

    def __init__(self, workers: int = 1, turns_max: int = 100) -> None:
        self.clock = Clock()
        self.turns = Turns(workers, turns_max, self.clock)
        self.running: list[Turn] = []
        self.asking: list[asyncio.Task[None]] = []

    async def ask(self, owner: str, *, is_slow: bool = False) -> None:
        """Ask for a turn, which stays in use until `end`."""
        self.asking.append(asyncio.create_task(self._ask(owner, is_slow)))
        await asyncio.sleep(0)

    async def _ask(self, owner: str, is_slow: bool) -> None:
        self.running.append(await self.turns.take(owner, LONG_S, is_slow=is_slow))

    async def end(self, seconds: float = 1.0, at: int = 0) -> str:
        """End a running turn after some time. Returns its owner."""
        self.clock.now += seconds
        turn = self.running.pop(at)
        self.turns.give_back(turn)
        for _ in range(3):
            await asyncio.sleep(0)
        return turn.owner

    @property
    def owners(self) -> list[str]:
        return [turn.owner for turn in self.running]


async def test_one_owner_with_many_tasks_does_not_delay_another_with_one() -> None:
    queue = Queue()
    for _ in range(20):
        await queue.ask("greedy")
    await queue.ask("ann")
    assert await queue.end() == "greedy"
    assert queue.owners == ["ann"]


async def test_owners_share_the_time_and_not_the_number_of_turns() -> None:
    queue = Queue()
    for _ in range(40):
        await queue.ask("slow")
        await queue.ask("quick")
    used = Counter[str]()
    for _ in range(30):
        seconds = 5.0 if queue.owners == ["slow"] else 1.0
        used[await queue.end(seconds)] += round(seconds)
    assert abs(used["slow"] - used["quick"]) <= 5


async def test_an_owner_who_comes_back_has_not_saved_up_turns() -> None:
    queue = Queue()
    for _ in range(10):
        await queue.ask("busy")
    for _ in range(5):
        await queue.end()
    for _ in range(5):
        await queue.ask("guest")
    order = [await queue.end() for _ in range(6)]
    assert order.count("busy") == order.count("guest") == 3


async def test_a_free_worker_goes_to_the_owner_with_the_fewest_running_tasks() -> None:
    queue = Queue(workers=2)
    for owner in ("greedy", "greedy", "greedy", "ann"):
        await queue.ask(owner)
    assert queue.owners == ["greedy", "greedy"]
    await queue.end(seconds=0)
    assert queue.owners == ["greedy", "ann"]


async def test_when_full_the_newest_turn_of_the_owner_with_the_most_gives_way() -> None:
    queue = Queue(turns_max=5)
    for _ in range(5):
        await queue.ask("greedy")
    with pytest.raises(PoolFullError):
        await queue.turns.take("greedy", LONG_S)
    await queue.ask("ann")
    await asyncio.wait([queue.asking[4]])
    assert isinstance(queue.asking[4].exception(), PoolFullError)
    assert not queue.asking[3].done()
    await queue.end()
    assert queue.owners == ["ann"]


async def test_slow_tasks_leave_one_worker_to_the_others() -> None:
    queue = Queue(workers=2)
    for owner in ("ann", "bob"):
        await queue.ask(owner, is_slow=True)
    assert queue.owners == ["ann"]
    await queue.ask("cid")
    assert queue.owners == ["ann", "cid"]
    await queue.end()
    assert queue.owners == ["cid", "bob"]


async def test_a_single_worker_takes_slow_tasks_too() -> None:
    queue = Queue()
    await queue.ask("ann", is_slow=True)
    assert queue.owners == ["ann"]


async def test_a_turn_that_is_not_wanted_any_more_is_passed_on() -> None:
    queue = Queue()
    await queue.ask("ann")
    with pytest.raises(TaskTimeoutError):
        await queue.turns.take("bob", 0.001)
    await queue.ask("cid")
    queue.asking[-1].cancel()
    await asyncio.wait(queue.asking[-1:])
    await queue.ask("dan")
    await queue.end()
    assert queue.owners == ["dan"]
