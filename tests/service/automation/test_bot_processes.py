"""Hard bots choose in worker processes: no call waits for them, and a killed worker stops none."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from pathlib import Path
from statistics import median

from grpc import aio

from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import Phase
from service.cli.tokens import development_token
from service.config import Config
from tests.conftest import Database
from tests.service.playing import (
    Player,
    Playing,
    easy_move,
    folded,
    playing,
    rest_of,
    seated,
    take,
    until,
)
from tests.terminal import COMMAND, Terminal

__all__ = ["playing"]

LONG_S = 60.0


async def hard_table(player: Player) -> str:
    match_id = (await player.open()).match_id
    for _ in range(2):
        await player.seat_bot(match_id, level=BotLevel.BOT_LEVEL_HARD)
    return match_id


async def test_a_match_continues_when_worker_processes_are_killed(playing: Playing) -> None:
    replica = await playing.replica(worker_processes=1, bot_think_seconds_max=LONG_S)
    ann = await playing.player(replica, "ann")
    match_id = await hard_table(ann)
    kills = 0
    async for message in rest_of(ann.watch(match_id)):
        thinks = message.event.event.WhichOneof("kind") in {"attacked", "defended"}
        if thinks and kills < 3:  # a bot is choosing now
            for child in multiprocessing.active_children():
                assert child.pid is not None
                os.kill(child.pid, signal.SIGKILL)
                kills += 1
    assert kills >= 3
    assert (await folded(replica.store, match_id)).phase == Phase.PHASE_ENDED


async def test_a_hard_bot_without_a_result_of_the_workers_moves_like_a_normal_one(
    playing: Playing,
) -> None:
    replica = await playing.replica(bot_think_seconds_max=0.000_001)
    ann = await playing.player(replica, "ann")
    match_id = await hard_table(ann)
    async for _ in rest_of(ann.watch(match_id)):
        pass
    assert (await folded(replica.store, match_id)).phase == Phase.PHASE_ENDED
    counters = replica.engine.matches.context.counters
    assert counters.bot_moves_fallback == counters.bot_moves


async def test_ctrl_c_stops_a_service_while_hard_bots_choose(
    database: Database, tmp_path: Path
) -> None:
    terminal = Terminal(database, tmp_path)
    server = await asyncio.create_subprocess_exec(
        *(*COMMAND, "serve", "--port", "0"),
        env=terminal.environment(),
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert server.stderr is not None
    while not (line := (await server.stderr.readline()).decode()).startswith("durak listens on "):
        assert line, "it ended"
    token = development_token(Config(data_dir=tmp_path), "ann")
    async with aio.insecure_channel(line.split()[-1]) as channel:
        ann = Player(channel, "ann")
        ann.metadata = (("authorization", f"Bearer {token}"),)
        tables = [await hard_table(ann) for _ in range(5)]
        await take(
            ann.watch(tables[0]), 5
        )  # table_opened, two seat_taken, dealt, and the first move of a bot
        start = time.monotonic()
        os.killpg(
            server.pid, signal.SIGINT
        )  # to all processes of the group, as a terminal sends it
        _, log = await asyncio.wait_for(server.communicate(), LONG_S)
    assert server.returncode == 0, log.decode()
    assert time.monotonic() - start < LONG_S / 4
    assert b"Traceback" not in log, log.decode()


async def commands_ms(players: list[Player], number: int) -> float:
    """The median time of this many commands of two players, one after the other."""
    times: list[float] = []
    while len(times) < number:
        match_id = await seated(players)
        view = await players[0].get(match_id)
        while view.on_clock and len(times) < number:
            player = players[view.on_clock[0]]
            move = easy_move(await player.get(match_id))
            start = time.perf_counter()
            view = await player.play(match_id, move)
            times.append((time.perf_counter() - start) * 1000)
    return median(times)


async def test_commands_stay_fast_beside_fifty_hard_bots(playing: Playing) -> None:
    """With bots in the event loop or in threads, commands would take ten times as long."""
    replica = await playing.replica(bot_think_seconds_max=LONG_S, caller_bot_tables_max=100)
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    await commands_ms(players, 20)
    alone = await commands_ms(players, 100)
    tables = [await hard_table(players[0]) for _ in range(25)]
    counters = replica.engine.matches.context.counters
    await until(lambda: counters.bot_moves > 0)
    beside = []
    for _ in range(3):  # take the best of three: other work on the machine disturbs the measurement
        beside.append(await commands_ms(players, 30))
        views = [await players[0].get(match_id) for match_id in tables]
        assert all(view.phase == Phase.PHASE_PLAYING for view in views)
    assert min(beside) < 3 * alone + 10
    assert not counters.bot_moves_fallback
