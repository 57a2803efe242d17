"""`durak serve --processes`: the whole service in several processes, on a real port."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
import pytest
from grpc import aio
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub

from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from eventstore import EmbeddedPostgres
from service.cli.exits import EXIT_FAILED, EXIT_MISUSED, EXIT_UNREACHABLE
from service.rpc.token_keys import DevelopmentKey
from tests.conftest import Database
from tests.service.frame import refusal

DURAK_CODE = "from service.cli.main import main; main()"
START_S, STOP_S = 60, 40
SERVING = health_pb2.HealthCheckResponse.SERVING


class Running:
    """A running `durak serve`. Its log is read all the time."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self.plain: list[str] = []
        self.address = ""
        self._folder = folder
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            if line.startswith(b"{"):
                self.lines.append(json.loads(line))
            else:
                self.plain.append(line.decode())
            self._news.set()

    async def until(self, seen: Any, seconds: float = START_S) -> None:
        """Wait until `seen()` is true, with each new line."""
        async with asyncio.timeout(seconds):
            while not seen():
                self._news.clear()
                await self._news.wait()

    def count(self, event: str, process: int | None = None) -> int:
        return sum(
            line["event"] == event and (process is None or line["process"] == process)
            for line in self.lines
        )

    def children(self) -> dict[int, int]:
        """Number of each process → its pid. The processes log their pid with `started`."""
        return {
            line["process"]: line["pid"]
            for line in self.lines
            if line["event"] == "started" and "pid" in line
        }

    async def end(self) -> int:
        code = await asyncio.wait_for(self.process.wait(), STOP_S)
        await self._reading
        return code

    def metadata(self) -> tuple[tuple[str, str], ...]:
        key = DevelopmentKey.in_folder(self._folder)
        token = key.mint("ann", issuer="durak", audience="durak", lifetime_seconds=600)
        return (("authorization", f"Bearer {token}"),)

    def channel(self) -> aio.Channel:
        """Open a connection of its own."""
        return aio.insecure_channel(self.address, [("grpc.use_local_subchannel_pool", 1)])


async def start(folder: Path, *options: str, **settings: str) -> Running:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DURAK_CODE, "serve", "--data-dir", str(folder), *options),
        env={**os.environ, "DURAK_LOG_LEVEL": "debug", **settings},
        stderr=asyncio.subprocess.PIPE,
    )
    return Running(process, folder)


@asynccontextmanager
async def serving(
    folder: Path, *options: str, processes: int = 2, **settings: str
) -> AsyncIterator[Running]:
    """Run the service until the end of the block. It ends there, unless the block has ended it."""
    given = ("--processes", str(processes), *(options or ("--port", "0")))
    one = await start(folder, *given, **settings)
    try:
        await one.until(lambda: any("durak listens on" in line for line in one.plain))
        [line] = [line for line in one.plain if "durak listens on" in line]
        one.address = line.split()[-1]
        yield one
        if one.process.returncode is None:
            one.process.send_signal(signal.SIGTERM)
            assert await one.end() == 0, one.plain
    finally:
        if one.process.returncode is None:
            one.process.kill()
            await one.end()


async def open_table(channel: aio.Channel, who: tuple[tuple[str, str], ...]) -> str:
    request = api.OpenTableRequest(request_id=str(uuid4()))
    request.settings.deck, request.settings.seats = 36, 2  # type: ignore[assignment]
    answer = await MatchServiceStub(channel).OpenTable(request, metadata=who)
    return answer.view.match_id


async def readiness(channel: aio.Channel) -> int:
    stub: Any = HealthStub(channel)
    answer = await stub.Check(health_pb2.HealthCheckRequest(service="readiness"))
    return int(answer.status)


async def reach_all(one: Running, numbers: set[int]) -> dict[int, aio.Channel]:
    """Open connections until each of these processes has one. Return one for each."""
    found: dict[int, aio.Channel] = {}
    who = one.metadata()
    while not numbers <= found.keys():
        before = one.count("call")
        channel = one.channel()
        await open_table(channel, who)
        await one.until(lambda: one.count("call") > before)  # noqa: B023
        number = next(line["process"] for line in reversed(one.lines) if line["event"] == "call")
        if number in found:
            await channel.close()
        found.setdefault(number, channel)
    return found


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


async def until_ended(pids: list[int]) -> None:
    async with asyncio.timeout(STOP_S):
        while any(map(is_alive, pids)):  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.05)


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


async def test_both_processes_take_calls_of_one_match_and_drain_together(
    database: Database, tmp_path: Path
) -> None:
    async with serving(tmp_path, DURAK_DATABASE_URL=database.app_dsn) as one:
        channels = await reach_all(one, {1, 2})
        who = one.metadata()
        match_id = await open_table(channels[1], who)
        watches: list[Any] = [
            MatchServiceStub(channel).WatchMatch(
                api.WatchMatchRequest(match_id=match_id), metadata=who
            )
            for channel in channels.values()
        ]
        for watch in watches:
            assert (await watch.read()).event.version == 1
        assert [await readiness(channel) for channel in channels.values()] == [SERVING] * 2

        one.process.send_signal(signal.SIGTERM)
        for watch in watches:
            answer = await refusal(watch)
            assert (answer.code, answer.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        assert await one.end() == 0
        assert [one.count("stopped", number) for number in (0, 1, 2)] == [1, 1, 1]
        assert not any(map(is_alive, one.children().values()))
        for channel in channels.values():
            await channel.close()


async def test_a_killed_process_is_replaced_and_the_other_goes_on(
    database: Database, tmp_path: Path
) -> None:
    async with serving(tmp_path, DURAK_DATABASE_URL=database.app_dsn) as one:
        killed = one.children()[2]
        os.kill(killed, signal.SIGKILL)
        await one.until(lambda: one.count("process ended") == 1)
        [line] = [line for line in one.lines if line["event"] == "process ended"]
        assert (line["number"], line["exit_code"]) == (2, -signal.SIGKILL)
        async with one.channel() as channel:
            await open_table(channel, one.metadata())  # no connection reaches the dead one
            assert await readiness(channel) == SERVING
        await one.until(lambda: one.count("started", 2) == 2)
        assert one.children()[2] != killed
        for channel in (await reach_all(one, {1, 2})).values():
            await channel.close()


async def test_the_children_of_a_killed_parent_end_and_free_the_port(
    database: Database, tmp_path: Path
) -> None:
    async with serving(tmp_path, DURAK_DATABASE_URL=database.app_dsn) as one:
        one.process.kill()
        await one.process.wait()
        await until_ended(list(one.children().values()))
        port = one.address.rpartition(":")[2]
        async with serving(tmp_path, "--port", port, DURAK_DATABASE_URL=database.app_dsn) as two:
            assert two.address == one.address


@pytest.mark.parametrize("shares", [False, True], ids=["alone", "reuseport"])
async def test_a_port_of_another_program_is_refused(
    database: Database, tmp_path: Path, shares: bool
) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(shares))
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        one = await start(
            tmp_path, "--processes", "2", "--port", port, DURAK_DATABASE_URL=database.app_dsn
        )
        assert await one.end() == EXIT_FAILED
        assert one.plain == [f"durak: 127.0.0.1:{port} cannot be listened on: is the port taken?\n"]


async def test_the_port_for_health_checks_is_shared_too(database: Database, tmp_path: Path) -> None:
    dsn = database.app_dsn
    async with serving(tmp_path, DURAK_DATABASE_URL=dsn, DURAK_HEALTH_PORT="0") as one:
        [port] = {line["health_port"] for line in one.lines if line.get("health_port")}
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            assert await readiness(channel) == SERVING
        two = await start(
            *(tmp_path, "--processes", "2", "--port", "0"),
            DURAK_DATABASE_URL=dsn,
            DURAK_HEALTH_PORT=str(port),
        )
        assert await two.end() == EXIT_FAILED
        assert "is the port taken?" in two.plain[-1]


async def test_a_second_service_cannot_join_the_port(database: Database, tmp_path: Path) -> None:
    async with serving(tmp_path, DURAK_DATABASE_URL=database.app_dsn) as one:
        port = one.address.rpartition(":")[2]
        for processes in ("1", "2"):
            two = await start(
                *(tmp_path, "--processes", processes, "--port", port),
                DURAK_DATABASE_URL=database.app_dsn,
            )
            assert await two.end() == EXIT_FAILED
            assert "is the port taken?" in two.plain[-1]


async def test_a_service_whose_first_process_fails_says_why_once(tmp_path: Path) -> None:
    nowhere = "postgresql://durak@127.0.0.1:1/durak"
    one = await start(tmp_path, "--processes", "3", "--port", "0", DURAK_DATABASE_URL=nowhere)
    assert await one.end() == EXIT_UNREACHABLE
    assert len([line for line in one.plain if "the database cannot be reached" in line]) == 1


@pytest.mark.parametrize("wrong", ["-1", "65", "two"])
async def test_a_wrong_number_of_processes_is_refused(tmp_path: Path, wrong: str) -> None:
    by_option = await start(tmp_path, f"--processes={wrong}")
    by_variable = await start(tmp_path, DURAK_PROCESSES=wrong)
    assert [await by_option.end(), await by_variable.end()] == [EXIT_MISUSED] * 2
    assert "--processes" in "".join(by_option.plain)
    assert "setting processes" in "".join(by_variable.plain)


async def test_one_process_has_no_parent(database: Database, tmp_path: Path) -> None:
    async with serving(tmp_path, processes=1, DURAK_DATABASE_URL=database.app_dsn) as one:
        assert not children_of(one.process.pid)
        assert all("process" not in line for line in one.lines)


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder that the user of Postgres can access."""
    tmp_path.chmod(0o755)
    return tmp_path / "data"


async def test_the_parent_owns_the_embedded_postgres(open_folder: Path) -> None:
    async with serving(open_folder) as one:
        postgres = EmbeddedPostgres(open_folder / "postgres")
        pid = postgres.status().pid
        assert pid is not None
        os.kill(one.children()[1], signal.SIGKILL)
        await one.until(lambda: one.count("started", 1) == 2)
        assert postgres.status().pid == pid
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(START_S), one.channel() as channel:
            while (now := postgres.status()).pid in (None, pid):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.1)
            while await readiness(channel) != SERVING:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.1)
            await open_table(channel, one.metadata())
    assert now.pid is not None
    assert not postgres.status().running
