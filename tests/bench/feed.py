"""Measure durable commands per second while the players read their feeds, and while nobody does.

The service, the clients and their matches are those of `tests.bench.play`, over streams. In every
second round another process reads the feed of both players. Both kinds of round are measured side
by side, so other load on the machine affects them equally.

`python -m tests.bench.feed` runs only this benchmark and prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from grpc import aio

from durak.v1.feed_service_pb2 import WatchPlayerRequest
from durak.v1.feed_service_pb2_grpc import FeedServiceStub
from tests.bench.play import CLIENTS, answer, ask, measure, process

ROUNDS, ROUND_S = 9, 1.5


def run(*, rounds: int = ROUNDS, round_s: float = ROUND_S) -> dict[str, float]:
    """Measure. Return `feed_cost_ratio` (commands per second with feeds, by those without).

    It is a median over rounds. `feed_server_us` and `feed_without_server_us` are the CPU time of
    the server per command, in microseconds, which other load on the machine affects less.
    `feed_news_per_s` are the news that the readers got per second.
    """
    with tempfile.TemporaryDirectory() as parent, ExitStack() as stack:
        Path(parent).chmod(0o755)  # Postgres may run as another user
        service, started = stack.enter_context(process("serve", parent))
        words = json.dumps(started)
        clients = [stack.enter_context(process("client", words))[0] for _ in range(CLIENTS)]
        readers, _ = stack.enter_context(process(words, module="tests.bench.feed"))
        measure(service, clients, "session", 1.0)
        ratios: list[float] = []
        rates: dict[bool, list[float]] = {True: [], False: []}
        server_us: dict[bool, list[float]] = {True: [], False: []}
        news: list[float] = []
        for number in range(rounds):
            print(f"feed: round {number + 1} of {rounds}", file=sys.stderr)
            found: dict[bool, float] = {}
            for has_feeds in (number % 2 == 0, number % 2 == 1):
                _set_reading(readers, is_on=has_feeds)
                measured = measure(service, clients, "session", round_s)
                found[has_feeds] = measured["per_s"]
                rates[has_feeds].append(measured["per_s"])
                server_us[has_feeds].append(measured["server_us"])
                got = _set_reading(readers, is_on=False)
                if has_feeds:
                    news.append(got / round_s)
            ratios.append(found[True] / found[False])
    assert min(news) > 0, "a round with feeds had no news"
    return {
        "feed_cost_ratio": round(median(ratios), 4),
        "feed_play_per_s": round(median(rates[True])),
        "feed_play_without_per_s": round(median(rates[False])),
        "feed_server_us": round(median(server_us[True])),
        "feed_without_server_us": round(median(server_us[False])),
        "feed_news_per_s": round(median(news)),
    }


def _set_reading(readers: subprocess.Popen[str], *, is_on: bool) -> int:
    """Let the readers open or close their feeds. Return the news that they got since the last."""
    ask(readers, is_on)
    return int(answer(readers)["news"])


async def _read_feeds(service: dict[str, Any]) -> None:
    """Open or close the feeds of both players for each line of the input."""
    news = 0

    async def read(call: Any) -> None:
        nonlocal news
        while True:
            news += len((await call.read()).news)

    async with aio.insecure_channel(service["address"]) as channel:
        stub: Any = FeedServiceStub(channel)
        metadata = [(("authorization", f"Bearer {token}"),) for token in service["tokens"]]
        calls: list[Any] = []
        tasks: list[asyncio.Task[None]] = []
        print("{}", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            for call, task in zip(calls, tasks, strict=True):
                if task.done():
                    task.result()  # the feed ended early: raise its error
                task.cancel()
                call.cancel()
            calls, tasks = [], []
            if json.loads(line):
                calls = [stub.WatchPlayer(WatchPlayerRequest(), metadata=one) for one in metadata]
                for call in calls:
                    while not (await call.read()).caught_up:
                        pass
                tasks = [asyncio.create_task(read(call)) for call in calls]
            print(json.dumps({"news": news}), flush=True)
            news = 0


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(json.dumps(run()))
    else:
        asyncio.run(_read_feeds(json.loads(sys.argv[1])))
