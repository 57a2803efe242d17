"""Background loops run during their block, and start again after a failure."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from eventstore.errors import StoreUnavailable
from service.rpc.failures import Failures
from service.supervisor import RESTART_SECONDS_MIN, Supervisor
from service.watchdog import Watchdog

DEADLINE_S = 20.0


@pytest.mark.parametrize(
    ("error", "level", "count"),
    [(ValueError("a bug"), "error", 1), (StoreUnavailable("away"), "warning", 0)],
    ids=repr,
)
async def test_a_loop_that_fails_is_reported_and_starts_again(
    error: Exception, level: str, count: int
) -> None:
    failures = Failures()
    supervisor = Supervisor(failures, Watchdog(0.0))
    runs = 0
    started_again, stopped = asyncio.Event(), asyncio.Event()

    async def loop() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise error
        started_again.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    with capture_logs() as lines:
        async with supervisor.background(loop, "standings"), asyncio.timeout(DEADLINE_S):
            await started_again.wait()
    assert stopped.is_set()
    assert [line["log_level"] for line in lines] == [level]
    assert failures.work["standings"] == count


async def test_the_pause_before_a_new_start_grows_and_the_time_of_failing_is_reported() -> None:
    failures = Failures()
    supervisor = Supervisor(failures, Watchdog(0.0))
    starts: list[float] = []
    enough = asyncio.Event()
    clock = asyncio.get_running_loop().time

    async def loop() -> None:
        starts.append(clock())
        if len(starts) == 3:
            enough.set()
        raise ValueError("a bug")

    with capture_logs():
        async with supervisor.background(loop, "standings"), asyncio.timeout(DEADLINE_S):
            await enough.wait()
    assert starts[1] - starts[0] >= RESTART_SECONDS_MIN
    assert starts[2] - starts[1] >= 2 * RESTART_SECONDS_MIN
    assert failures.failing_seconds["standings"] >= 2
    assert failures.failing_seconds["clock"] == 0
