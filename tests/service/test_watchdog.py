"""Loops that make no progress are found: cancelled and started again, or the process ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from grpc import aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from structlog.testing import capture_logs

from service.rpc.failures import Failures
from service.supervisor import Supervisor
from service.watchdog import (
    CANCEL_SECONDS_MAX,
    EXIT_STATUS,
    ROUND_SECONDS_MAX,
    TICK_SECONDS,
    Watchdog,
    progress,
    rest,
)
from tests.conftest import Database
from tests.e2e.test_nothing_lost import serving

DEADLINE_S = 20.0
STUCK = """
import asyncio, sys, time
from pathlib import Path
from service.config import Config
from service.rpc.logs import configure_logging
from service.server import running

async def main():
    async with running(config):
        time.sleep(60)

config = Config(data_dir=Path(sys.argv[1]), listen_port=0, stuck_seconds_max=2)
configure_logging(config)
asyncio.run(main())
"""
"""A service whose event loop is blocked by a call that takes a minute."""


def tick(watchdog: Watchdog, seconds: float) -> None:
    for _ in range(round(seconds / TICK_SECONDS)):
        watchdog.tick()


async def test_a_loop_without_progress_is_reported_and_starts_again() -> None:
    failures, watchdog = Failures(), Watchdog(0.0)
    starts = 0
    started = asyncio.Event()

    async def loop() -> None:
        nonlocal starts
        starts += 1
        started.set()
        await asyncio.Event().wait()

    with capture_logs() as lines:
        async with (
            Supervisor(failures, watchdog).background(loop, "standings"),
            asyncio.timeout(DEADLINE_S),
        ):
            await started.wait()
            started.clear()
            tick(watchdog, ROUND_SECONDS_MAX - 1)
            assert lines == []
            tick(watchdog, 1)
            await started.wait()
    assert starts == 2
    assert failures.work["standings"] == 1
    assert [line["event"] for line in lines] == ["no progress", "work failed"]


async def test_rest_does_not_count_and_progress_starts_the_time_again() -> None:
    watchdog = Watchdog(0.0)
    resting, go_on, went_on = asyncio.Event(), asyncio.Event(), asyncio.Event()
    runs = 0

    async def loop() -> None:
        nonlocal runs
        runs += 1
        await go_on.wait()
        progress()
        went_on.set()
        asyncio.get_running_loop().call_soon(resting.set)
        await rest(1_000.0)

    supervisor = Supervisor(Failures(), watchdog)
    async with supervisor.background(loop, "standings"), asyncio.timeout(DEADLINE_S):
        await asyncio.sleep(0)
        tick(watchdog, ROUND_SECONDS_MAX - 1)
        go_on.set()
        await went_on.wait()
        await resting.wait()
        tick(watchdog, 1_000.0 + ROUND_SECONDS_MAX - 1)
        await asyncio.sleep(0)
    assert runs == 1


async def test_a_loop_that_does_not_even_end_ends_the_process() -> None:
    ended: list[str] = []
    watchdog = Watchdog(0.0, ended.append)
    release, started = asyncio.Event(), asyncio.Event()

    async def loop() -> None:
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    with capture_logs():
        async with (
            Supervisor(Failures(), watchdog).background(loop, "standings"),
            asyncio.timeout(DEADLINE_S),
        ):
            await started.wait()
            tick(watchdog, ROUND_SECONDS_MAX)
            await asyncio.sleep(0)
            tick(watchdog, CANCEL_SECONDS_MAX - 1)
            assert ended == []
            tick(watchdog, 1)
            assert ended == ["standings"]
            release.set()


def test_a_process_whose_event_loop_is_stuck_says_where_and_ends(
    database: Database, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK, str(tmp_path)],
        env={**os.environ, "DURAK_DATABASE_URL": database.app_dsn},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == EXIT_STATUS, done.stderr
    assert "stuck, the process ends" in done.stderr
    assert "line 10, in main" in done.stderr


async def test_a_process_that_was_stopped_goes_on(database: Database, tmp_path: Path) -> None:
    """The time in which nothing of the process ran says nothing about it."""
    async with serving(database.app_dsn, tmp_path, DURAK_STUCK_SECONDS_MAX="2") as service:
        os.kill(service.pid, signal.SIGSTOP)
        end = time.monotonic() + 4.0
        while time.monotonic() < end:  # noqa: ASYNC110 - the stopped process gives no sign
            await asyncio.sleep(0.1)
        os.kill(service.pid, signal.SIGCONT)
        async with aio.insecure_channel(service.address) as channel:
            request = HealthCheckRequest(service="readiness")
            stub: Any = HealthStub(channel)
            answer = await stub.Check(request, timeout=DEADLINE_S)
    assert answer.status == HealthCheckResponse.SERVING
