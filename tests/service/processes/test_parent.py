"""The parent of several processes: readiness of the whole, and children that do not answer."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection, wait
from pathlib import Path

import pytest

from service.config import Config
from service.processes import parent
from service.processes.link import NOT_READY, READY, STOP
from service.processes.parent import Parent
from service.workers.parent_watch import exit_with_parent

FAR_S = 30


def child(config: Config, number: int, link: Connection, parent_gone: Connection) -> None:
    """Report what the file of this number says, and write down what the parent says."""
    exit_with_parent(parent_gone)
    folder = config.data_dir
    with (folder / f"{number}.pids").open("a") as pids:
        pids.write(f"{os.getpid()}\n")
    while True:
        link.send_bytes((folder / f"{number}.state").read_bytes())
        for ready in wait([link], timeout=0.05):
            assert isinstance(ready, Connection)
            message = ready.recv_bytes()
            with (folder / f"{number}.heard").open("ab") as heard:
                heard.write(message + b"\n")
            if message == STOP and not (folder / "deaf").exists():
                return


class Group:
    """The parent of two such children."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stop = asyncio.Event()
        self.started = asyncio.Event()
        for number in (1, 2):
            self.report(number, READY)

    def report(self, number: int, state: bytes) -> None:
        new = self.folder / "new"
        new.write_bytes(state)
        new.rename(self.folder / f"{number}.state")

    def pids(self, number: int) -> list[int]:
        file = self.folder / f"{number}.pids"
        return [int(pid) for pid in file.read_text().split()] if file.exists() else []

    def heard(self, number: int) -> list[bytes]:
        file = self.folder / f"{number}.heard"
        return file.read_bytes().splitlines() if file.exists() else []

    async def until(self, seen: Callable[[], bool]) -> None:
        async with asyncio.timeout(FAR_S):
            while not seen():  # noqa: ASYNC110 - other processes set no event
                await asyncio.sleep(0.02)


@asynccontextmanager
async def supervising(folder: Path, **settings: float) -> AsyncIterator[Group]:
    group = Group(folder)
    config = Config(processes=2, listen_port=0, data_dir=folder, **settings)  # type: ignore[arg-type]
    running = asyncio.create_task(
        Parent(config, child).run(group.stop, lambda _: group.started.set())
    )
    async with asyncio.timeout(FAR_S):
        await group.started.wait()
    yield group
    group.stop.set()
    await asyncio.wait_for(running, FAR_S)


async def test_all_processes_hear_that_one_of_them_is_not_ready(tmp_path: Path) -> None:
    async with supervising(tmp_path) as group:
        assert group.heard(1)[0] == READY
        group.report(2, NOT_READY)
        await group.until(lambda: group.heard(1)[-1] == NOT_READY)
        group.report(2, READY)
        await group.until(lambda: group.heard(1)[-1] == READY)


async def test_the_death_of_a_process_that_was_not_ready_makes_the_others_ready(
    tmp_path: Path,
) -> None:
    async with supervising(tmp_path) as group:
        group.report(2, NOT_READY)
        await group.until(lambda: group.heard(1)[-1] == NOT_READY)
        os.kill(group.pids(2)[0], signal.SIGKILL)
        await group.until(lambda: group.heard(1)[-1] == READY)


async def test_a_process_that_does_not_report_is_replaced(tmp_path: Path) -> None:
    async with supervising(tmp_path, stuck_seconds_max=4) as group:
        os.kill(group.pids(2)[0], signal.SIGSTOP)
        await group.until(lambda: len(group.pids(2)) == 2)
        assert len(group.pids(1)) == 1


async def test_the_pause_before_a_replacement_grows(tmp_path: Path) -> None:
    async with supervising(tmp_path) as group:
        begins = []
        for deaths in (1, 2, 3):
            await group.until(lambda: len(group.pids(2)) == deaths)  # noqa: B023
            begins.append(time.monotonic())
            os.kill(group.pids(2)[-1], signal.SIGKILL)
        first, second = begins[1] - begins[0], begins[2] - begins[1]
        assert first >= 1
        assert second >= 2


async def test_a_process_that_does_not_stop_in_time_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parent, "STOP_SECONDS_MAX", 0.1)
    async with supervising(tmp_path, drain_seconds_max=0.1) as group:
        (tmp_path / "deaf").touch()
        pids = [*group.pids(1), *group.pids(2)]
    assert [group.heard(number)[-1] for number in (1, 2)] == [STOP, STOP]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
