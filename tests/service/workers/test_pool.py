"""The worker pool: results, limits, and the death of workers and of their parent."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from service.workers.errors import (
    PoolBrokenError,
    PoolClosedError,
    PoolFullError,
    TaskTimeoutError,
)
from service.workers.pool import WorkerPool

LONG_S = 60.0


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    """Two processes, and room for nine tasks."""
    found = WorkerPool(2, 9)
    yield found
    await found.close()


def run_forever() -> None:
    """Keep the processor busy, as a search does."""
    for _ in count():
        pass


def die_once(marker: str) -> int:
    """Kill the worker in the first call; return the process id in the second."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def die_always() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def test_a_task_runs_in_another_process(pool: WorkerPool) -> None:
    assert await pool.run("ann", LONG_S, os.getpid) != os.getpid()
    with pytest.raises(ZeroDivisionError):
        await pool.run("ann", LONG_S, divmod, 1, 0)


async def test_a_task_that_takes_too_long_is_stopped_in_its_process(pool: WorkerPool) -> None:
    await pool.run("ann", LONG_S, os.getpid)
    for _ in range(2):
        late = [pool.run("ann", 0.2, run_forever) for _ in range(3)]  # one has to wait
        for outcome in await asyncio.gather(*late, return_exceptions=True):
            assert isinstance(outcome, TaskTimeoutError)
    # All processes are free again, or these would be late as well.
    pids = await asyncio.gather(*(pool.run("ann", LONG_S, os.getpid) for _ in range(3)))
    assert {child.pid for child in multiprocessing.active_children()} >= set(pids)


async def test_the_number_of_waiting_tasks_is_limited(pool: WorkerPool) -> None:
    await pool.run("ann", LONG_S, os.getpid)
    waiting = [asyncio.create_task(pool.run("ann", LONG_S, run_forever)) for _ in range(9)]
    await asyncio.sleep(0)  # lets them begin
    with pytest.raises(PoolFullError):
        await pool.run("ann", LONG_S, os.getpid)
    start = time.monotonic()
    await pool.close()
    assert time.monotonic() - start < LONG_S / 2  # whatever they run
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {PoolClosedError}


async def test_a_closed_pool_takes_no_task(pool: WorkerPool) -> None:
    await pool.run("ann", LONG_S, os.getpid)
    await pool.close()
    with pytest.raises(PoolClosedError):
        await pool.run("ann", LONG_S, os.getpid)
    never_started = WorkerPool(1, 1)
    await never_started.close()
    with pytest.raises(PoolClosedError):
        await never_started.run("ann", LONG_S, os.getpid)


async def test_a_task_whose_worker_dies_runs_in_another(pool: WorkerPool, tmp_path: Path) -> None:
    first = await pool.run("ann", LONG_S, os.getpid)
    second = await pool.run("ann", LONG_S, die_once, str(tmp_path / "died"))
    assert first != second
    with pytest.raises(PoolBrokenError):
        await pool.run("ann", LONG_S, die_always)
    assert await pool.run("ann", LONG_S, divmod, 7, 2) == (3, 1)


async def test_the_pool_recovers_from_a_death_while_tasks_have_no_waiter(pool: WorkerPool) -> None:
    await pool.run("ann", LONG_S, os.getpid)
    children = multiprocessing.active_children()
    cancelled = [asyncio.create_task(pool.run("ann", LONG_S, run_forever)) for _ in range(6)]
    await asyncio.sleep(0)  # lets them begin
    for task in cancelled:
        task.cancel()
    outcomes = await asyncio.gather(*cancelled, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    children[0].kill()
    assert await pool.run("ann", LONG_S, divmod, 7, 2) == (3, 1)
    for child in children:  # the other one is in the middle of a task
        child.join(LONG_S / 4)
        assert not child.is_alive()


PARENT = """
import asyncio
import os
from service.workers.pool import WorkerPool
from tests.service.workers.test_pool import LONG_S, run_forever

async def main():
    pool = WorkerPool(2, 3)
    await pool.run("ann", LONG_S, os.getpid)
    tasks = [asyncio.create_task(pool.run("ann", LONG_S, run_forever)) for _ in range(3)]
    print("running", flush=True)
    await asyncio.gather(*tasks)

asyncio.run(main())
"""


def test_the_workers_exit_when_their_parent_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "running\n"
    parent.kill()
    # The workers have inherited its output, which ends when the last of them has exited.
    parent.communicate(timeout=LONG_S / 2)
    assert parent.returncode == -signal.SIGKILL
