"""Nothing grows while players, bots, watches and sessions come and go for a long time.

`DURAK_TEST_SOAK_SECONDS` is the length, 600 for ten minutes. After a third of it the service is
warm. It is compared at rest, then and at the end: memory, open files, tasks, and connections to the
database.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest
from grpc import aio

from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Phase
from tests.conftest import Database
from tests.e2e.test_chaos import SETTINGS, ChaosLoad
from tests.e2e.test_nothing_lost import Service
from tests.service.playing import easy_move, has_move

SECONDS = float(os.environ.get("DURAK_TEST_SOAK_SECONDS", "0"))
GROWTH_MAX = 1.05
REST_S = 5.0
BOT_TABLES = 4
WITH_BOT = Settings(deck=Deck.DECK_24, seats=2, throw_in=ThrowIn.THROW_IN_ALL)
# As `durak serve`, and writes the number of its tasks to a file every half second.
SERVE = """
import asyncio, sys
from pathlib import Path
from service.config import Config
from service.lifecycle import relax_collector, stop_requested
from service.rpc.logs import configure_logging
from service.server import running

config = Config()

async def count(file):
    while True:
        file.write_text(str(len(asyncio.all_tasks())))
        await asyncio.sleep(0.5)

async def main():
    stop = stop_requested()
    relax_collector()
    async with running(config) as server:
        counting = asyncio.create_task(count(Path(sys.argv[1])))
        print(server.address, flush=True)
        await stop.wait()
        counting.cancel()

configure_logging(config)
asyncio.run(main())
"""


class Use(NamedTuple):
    """What a service uses."""

    resident_bytes: int
    files: int
    tasks: int
    connections: int


class SoakLoad(ChaosLoad):
    """All kinds of tables, and some where a player plays against a bot."""

    def __init__(self, server: Service, channel: aio.Channel, chance: random.Random) -> None:
        super().__init__(server, channel, chance)
        self._tasks += [asyncio.create_task(self._play_bots_at(it)) for it in range(BOT_TABLES)]

    async def _play_bots_at(self, table: int) -> None:
        while not self._enough:
            await self._play_a_bot(f"cid{table}")

    async def _play_a_bot(self, player: str) -> None:
        opened = await self._command(player, "OpenTable", settings=WITH_BOT)
        match: dict[str, Any] = {"match_id": opened.match_id}
        watching = asyncio.create_task(self._watch(player, opened.match_id))
        try:
            await self._command(player, "SeatBot", level=BotLevel.BOT_LEVEL_EASY, **match)
            view = await self._command(player, "TakeSeat", **match)
            while view.phase != Phase.PHASE_ENDED:
                if has_move(view):
                    view = await self._command(player, "Play", move=easy_move(view), **match)
                else:
                    view = await self._get(player, opened.match_id)
            await watching
        finally:
            watching.cancel()


async def played(service: Service, seconds: float) -> int:
    """Play for a time, and let all matches end. Return the number of commands."""
    async with aio.insecure_channel(service.address) as channel:
        load = SoakLoad(service, channel, random.Random(1))
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                await load.acknowledges(100)
            await load.finish()
        finally:
            await load.close()
    return len(load.acknowledged)


async def use_at_rest(service: Service, dsn: str, tasks: Path) -> Use:
    """Return what the service uses when nothing has happened for a while."""
    end = time.monotonic() + REST_S
    while time.monotonic() < end:  # noqa: ASYNC110 - rest gives no sign
        await asyncio.sleep(0.1)
    owner = await asyncpg.connect(dsn)
    try:
        connections = await owner.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
    finally:
        await owner.close()
    return Use(*of_process(service.pid), count_of(tasks), connections)


def of_process(pid: int) -> tuple[int, int]:
    """Return the resident memory of a process in bytes, and the number of its open files."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE"), len(list(Path(f"/proc/{pid}/fd").iterdir()))


def count_of(tasks: Path) -> int:
    """Return the number of tasks that the service has written last."""
    return int(tasks.read_text())


@pytest.mark.skipif(not SECONDS, reason="DURAK_TEST_SOAK_SECONDS is the length, 600 for 10 minutes")
@pytest.mark.timeout(300 + 2 * SECONDS)
async def test_nothing_grows_after_the_service_is_warm(database: Database, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    settings = {**SETTINGS, "DURAK_ENDED_MATCH_SECONDS": "1", "DURAK_CALLER_TABLES_MAX": "100000"}
    service = Service(database.app_dsn, tmp_path, **settings)
    service.program = (SERVE, str(tasks))
    await service.start()
    try:
        commands = await played(service, SECONDS / 3)
        warm = await use_at_rest(service, database.owner_dsn, tasks)
        commands += await played(service, 2 * SECONDS / 3)
        end = await use_at_rest(service, database.owner_dsn, tasks)
    finally:
        await service.kill()
    sys.stdout.write(f"{commands} commands; warm {warm}; at the end {end}\n")
    assert end.resident_bytes < GROWTH_MAX * warm.resident_bytes
    assert end.files <= warm.files + 2
    assert end.tasks <= warm.tasks + 2
    assert end.connections <= warm.connections + 2
