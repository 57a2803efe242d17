"""How long a command takes while fifty hard bots play, beside how long it takes without them.

In each round a new service, in a process of its own, first has two people alone, who play one
command at a time; then 25 tables of two hard bots each are opened, and opened anew as they end,
and the same two people play on. What is reported is the median round.

Alone: `python -m tests.bench.bots` prints one JSON object.
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
DEEDS = {"attacked", "defended", "transferred", "passed", "take_declared"}


def run(*, rounds: int = ROUNDS, round_s: float = ROUND_S) -> dict[str, float]:
    """Measure, and give the ratios of the medians and of the 95th percentiles, and both of each."""
    found = []
    for number in range(rounds):
        print(f"bots: round {number + 1} of {rounds}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as parent:
            Path(parent).chmod(0o755)  # Postgres may run as a user of its own
            found.append(asyncio.run(_round(parent, round_s)))
    return {name: round(median(one[name] for one in found), 3) for name in found[0]}


async def _round(folder: str, seconds: float) -> dict[str, float]:
    async with _service(folder) as people:
        await _play(people, 1.0)
        alone = sorted(await _play(people, seconds))
        deeds: list[float] = []
        tables = [asyncio.create_task(_bots(people[0], deeds)) for _ in range(TABLES)]
        while not deeds:  # the processes that think have to start
            await asyncio.wait(tables, timeout=0.1)
        start = time.perf_counter()
        beside = sorted(await _play(people, seconds))
        rate = sum(at > start for at in deeds) / (time.perf_counter() - start)
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


class _Person:
    """One of the two people, on the channel of both."""

    def __init__(self, channel: aio.Channel, token: str) -> None:
        self.stub: Any = MatchServiceStub(channel)
        self.metadata = (("authorization", f"Bearer {token}"),)

    async def ask(self, method: str, request: Any) -> Any:
        """The view in the answer."""
        return (await getattr(self.stub, method)(request, metadata=self.metadata)).view

    async def open(self) -> str:
        """The id of a new table."""
        opening = api.OpenTableRequest(request_id=str(uuid4()), settings=SETTINGS)
        match_id: str = (await self.ask("OpenTable", opening)).match_id
        return match_id


@asynccontextmanager
async def _service(folder: str) -> AsyncIterator[list[_Person]]:
    """A service in a process of its own, and the people who call it."""
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
            yield [_Person(channel, token) for token in started["tokens"]]
    finally:
        process.stdin.close()  # with which it ends
        await process.wait()


async def _play(people: list[_Person], seconds: float) -> list[float]:
    """Play matches as easy bots do until the time is over; how long each move took, in ms."""
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


async def _bots(opener: _Person, deeds: list[float]) -> None:
    """Matches of two hard bots, one after the other; `deeds` gets the time of each move."""
    while True:
        match_id = await opener.open()
        for _ in range(2):
            seat = api.SeatBotRequest(
                request_id=str(uuid4()), match_id=match_id, level=BotLevel.BOT_LEVEL_HARD
            )
            await opener.ask("SeatBot", seat)
        request = api.WatchMatchRequest(match_id=match_id)
        async for message in opener.stub.WatchMatch(request, metadata=opener.metadata):
            if message.event.event.WhichOneof("kind") in DEEDS:
                deeds.append(time.perf_counter())  # noqa: PERF401 - one by one, as they come


if __name__ == "__main__":
    print(json.dumps(run()))
