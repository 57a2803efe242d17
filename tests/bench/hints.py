"""Measure how soon a watcher on another replica sees a move: by hints, and by polling.

Three replicas run on one embedded Postgres. Two players at each of a few tables play on the first
one, at a moderate pace. Every match is watched on the second one, which hears of new events by
hints, and on the third one, which takes no hints and compares the heads of its matches with the log
every POLL_S. The time runs from sending the command until its last event arrives.

`python -m tests.bench.hints` runs only this benchmark and prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from uuid import uuid4

from grpc import aio

from domain import bots
from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import BotLevel
from eventstore.log.hints import Hint, Hints
from service.config import Config
from service.rpc.logs import configure_logging
from service.server import running
from tests.bench.bots import Person
from tests.bench.play import PLAYERS, TOKEN_SECONDS

ROUNDS, ROUND_S = 3, 6.0
TABLES = 4
PACE_S = 0.05
"""The pause before each move of a table."""
POLL_S = 0.05
WAYS = ("hints", "polling")

Key = tuple[str, int]
"""A match and a version."""


def run(*, rounds: int = ROUNDS, round_s: float = ROUND_S) -> dict[str, float]:
    """Measure. Return the ratio of the 99th percentiles (median over rounds), and the times."""
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)  # Postgres may run as another user
        found = asyncio.run(_measure(parent, rounds, round_s))
    return {name: round(median(one[name] for one in found), 3) for name in found[0]}


async def _measure(folder: str, rounds: int, seconds: float) -> list[dict[str, float]]:
    async with AsyncExitStack() as stack:
        players = await stack.enter_async_context(_replica(folder, "hints"))
        watchers = {
            way: (await stack.enter_async_context(_replica(folder, way)))[0] for way in WAYS
        }
        await _round(players, watchers, 1.0)
        found = []
        for number in range(rounds):
            print(f"hints: round {number + 1} of {rounds}", file=sys.stderr)
            found.append(_figures(await _round(players, watchers, seconds)))
        return found


def _figures(times: dict[str, list[float]]) -> dict[str, float]:
    at = {
        f"{way}_p{part}_ms": sorted(ms)[len(ms) * part // 100]
        for way, ms in times.items()
        for part in (50, 99)
    }
    return {"hint_p99_vs_polling": at["hints_p99_ms"] / at["polling_p99_ms"], **at}


async def _round(
    players: list[Person], watchers: dict[str, Person], seconds: float
) -> dict[str, list[float]]:
    """Play for some seconds. Return the milliseconds until each command arrived, by way."""
    sent: dict[Key, float] = {}
    arrived: dict[str, dict[Key, float]] = {way: {} for way in WAYS}
    end = time.perf_counter() + seconds

    async def table() -> None:
        while time.perf_counter() < end:
            await _match(players, watchers, sent, arrived, end)

    await asyncio.gather(*(table() for _ in range(TABLES)))
    return {
        way: [(at[key] - sent[key]) * 1_000 for key in sent if key in at]
        for way, at in arrived.items()
    }


async def _match(
    players: list[Person],
    watchers: dict[str, Person],
    sent: dict[Key, float],
    arrived: dict[str, dict[Key, float]],
    end: float,
) -> None:
    """Play and watch one match with the moves of easy bots, until it or the round ends."""
    match_id = await players[0].open()
    for person in players:
        seat = api.TakeSeatRequest(request_id=str(uuid4()), match_id=match_id)
        await person.ask("TakeSeat", seat)
    view = await players[0].ask("GetMatch", api.GetMatchRequest(match_id=match_id))
    watches = [asyncio.create_task(_watch(watchers[way], match_id, arrived[way])) for way in WAYS]
    while view.on_clock and time.perf_counter() < end:
        await asyncio.sleep(PACE_S)
        person = players[view.on_clock[0]]
        own = await person.ask("GetMatch", api.GetMatchRequest(match_id=match_id))
        move = bots.choose_move(BotLevel.BOT_LEVEL_EASY, own, [], 0)
        play = api.PlayRequest(request_id=str(uuid4()), match_id=match_id, move=move)
        start = time.perf_counter()
        view = await person.ask("Play", play)
        sent[match_id, view.version] = start
    last = match_id, view.version
    while not all(last in at for at in arrived.values()):
        await asyncio.wait(watches, timeout=0.05)
    for watch in watches:
        watch.cancel()
    await asyncio.gather(*watches, return_exceptions=True)


async def _watch(watcher: Person, match_id: str, arrived: dict[Key, float]) -> None:
    request = api.WatchMatchRequest(match_id=match_id)
    async for message in watcher.stub.WatchMatch(request, metadata=watcher.metadata):
        if message.HasField("event"):
            arrived[match_id, message.event.version] = time.perf_counter()


@asynccontextmanager
async def _replica(folder: str, way: str) -> AsyncIterator[list[Person]]:
    """Run a replica in its own process. Yield the players who call it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.hints", folder, way),
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


async def _no_hints(_hints: Hints, _heard: Hint, _connected: Callable[[], None]) -> None:
    await asyncio.Event().wait()


async def _serve(folder: str, way: str) -> None:
    """Run a replica until standard input ends."""
    config = Config(
        listen_port=0,
        data_dir=Path(folder),
        caller_calls_per_second=0,
        log_level="error",
    )
    if way == "polling":
        config = config.model_copy(update={"heads_interval_seconds": POLL_S})
        Hints.run = _no_hints  # type: ignore[assignment, method-assign]
    configure_logging(config)
    async with running(config) as server:
        assert server.development_key is not None
        tokens = [
            server.development_key.mint(
                player, issuer="durak", audience="durak", lifetime_seconds=TOKEN_SECONDS
            )
            for player in PLAYERS
        ]
        print(json.dumps({"address": server.address, "tokens": tokens}), flush=True)
        await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(json.dumps(run()))
    else:
        asyncio.run(_serve(*sys.argv[1:]))
