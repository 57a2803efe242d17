"""Measure the latency of a command with and without fifty hard bots playing.

Each round starts a new service in its own process. First two human players play alone, one command
at a time. Then 25 tables with two hard bots each are opened, and a new table replaces each one that
ends. The same two players continue. The result is the median round.

`python -m tests.bench.bots` runs only this benchmark and prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from grpc import aio

from domain import bots
from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import BotLevel
from tests.bench.play import SETTINGS

TABLES = 25
ROUNDS, ROUND_S = 3, 4.0
BOT_MOVES = {"attacked", "defended", "transferred", "passed", "take_declared"}
"""The kinds of events that count as a move of a bot."""


def run(*, rounds: int = ROUNDS, round_s: float = ROUND_S) -> dict[str, float]:
    """Measure. Return the medians and 95th percentiles with and without bots, and their ratios."""
    found = []
    for number in range(rounds):
        print(f"bots: round {number + 1} of {rounds}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as parent:
            Path(parent).chmod(0o755)  # Postgres may run as another user
            found.append(asyncio.run(_round(parent, round_s)))
    return {name: round(median(one[name] for one in found), 3) for name in found[0]}


async def _round(folder: str, seconds: float) -> dict[str, float]:
    async with _service(folder) as people:
        await _play(people, 1.0)
        alone = sorted(await _play(people, seconds))
        bot_moves: list[float] = []
        tables = [asyncio.create_task(_bots(people[0], bot_moves)) for _ in range(TABLES)]
        while not bot_moves:  # wait until the worker processes have started
            await asyncio.wait(tables, timeout=0.1)
        start = time.perf_counter()
        beside = sorted(await _play(people, seconds))
        rate = sum(at > start for at in bot_moves) / (time.perf_counter() - start)
        for table in tables:
            assert not table.done(), table.result()
            table.cancel()
        await asyncio.gather(*tables, return_exceptions=True)
    at_50, at_95 = (
        [times[len(times) * part // 100] for times in (alone, beside)] for part in (50, 95)
    )
    return {
        "latency_beside_hard_bots": at_50[1] / at_50[0],
        "latency_p95_beside_hard_bots": at_95[1] / at_95[0],
        "without_hard_bots_p50_ms": at_50[0],
        "without_hard_bots_p95_ms": at_95[0],
        "beside_hard_bots_p50_ms": at_50[1],
        "beside_hard_bots_p95_ms": at_95[1],
        "hard_bot_moves_per_s": rate,
    }


class Person:
    """One of the two human players. Both share one channel."""

    def __init__(self, channel: aio.Channel, token: str) -> None:
        self.stub: Any = MatchServiceStub(channel)
        self.metadata = (("authorization", f"Bearer {token}"),)

    async def ask(self, method: str, request: Any) -> Any:
        """Call a method and return the view in the reply."""
        return (await getattr(self.stub, method)(request, metadata=self.metadata)).view

    async def open(self) -> str:
        """Open a table and return its match id."""
        opening = api.OpenTableRequest(request_id=str(uuid4()), settings=SETTINGS)
        match_id: str = (await self.ask("OpenTable", opening)).match_id
        return match_id


@asynccontextmanager
async def _service(folder: str) -> AsyncIterator[list[Person]]:
    """Run a service in its own process and yield the players who call it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.play", "serve", folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        started = json.loads(await process.stdout.readline())
        async with aio.insecure_channel(started["address"]) as channel:
            yield [Person(channel, token) for token in started["tokens"]]
    finally:
        process.stdin.close()  # the process ends with its input
        await process.wait()


async def _play(people: list[Person], seconds: float) -> list[float]:
    """Play matches with the moves of easy bots for some seconds. Return the time per move in ms."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        match_id = await people[0].open()
        for person in people:
            seat = api.TakeSeatRequest(request_id=str(uuid4()), match_id=match_id)
            await person.ask("TakeSeat", seat)
        view = await people[0].ask("GetMatch", api.GetMatchRequest(match_id=match_id))
        while view.on_clock and time.perf_counter() < end:
            person = people[view.on_clock[0]]
            own = await person.ask("GetMatch", api.GetMatchRequest(match_id=match_id))
            move = bots.choose_move(BotLevel.BOT_LEVEL_EASY, own, [], 0)
            play = api.PlayRequest(request_id=str(uuid4()), match_id=match_id, move=move)
            start = time.perf_counter()
            view = await person.ask("Play", play)
            times.append((time.perf_counter() - start) * 1000)
    return times


async def _bots(opener: Person, bot_moves: list[float]) -> None:
    """Run matches of two hard bots in sequence. Append the time of each move to `bot_moves`."""
    while True:
        match_id = await opener.open()
        for _ in range(2):
            seat = api.SeatBotRequest(
                request_id=str(uuid4()), match_id=match_id, level=BotLevel.BOT_LEVEL_HARD
            )
            await opener.ask("SeatBot", seat)
        request = api.WatchMatchRequest(match_id=match_id)
        async for message in opener.stub.WatchMatch(request, metadata=opener.metadata):
            if message.event.event.WhichOneof("kind") in BOT_MOVES:
                bot_moves.append(time.perf_counter())  # noqa: PERF401 - the stream is live


if __name__ == "__main__":
    print(json.dumps(run()))
