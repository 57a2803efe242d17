"""Measure the latency of two players beside a third one who does all that the limits allow.

The service runs with its default limits in its own process, and the noisy player in another one:
watches of a long match from its first event on, tables with hard bots, reviews, tables opened and
cancelled, calls with bad tokens, and compressed requests. In each round the same two players play
first beside nobody and then beside the noise. The result is the median round.

The noisy player never waits after a refusal, but sends EDGE_CALLS_PER_SECOND calls in total. Even a
refused call costs the service some CPU, so the service alone cannot bound what a client may waste:
a limit of requests per address at the edge has to (docs/operator.md). An edge that lets twice as
many calls through as the service allows to one player refuses no honest client.

The ratio of the latencies depends on what else the machine does. So the CPU time that the process
of the service uses per second is measured too, with and without the noise.

`python -m tests.bench.noisy` runs only this benchmark and prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from uuid import uuid4

import grpc
from google.protobuf.message import Message
from grpc import aio

from domain import bots
from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import TableView
from service.config import Config
from service.rpc.logs import configure_logging
from service.server import running
from tests.bench.bots import Person
from tests.bench.play import SETTINGS, TOKEN_SECONDS

ROUNDS, ROUND_S = 3, 4.0
PACE_S = 0.03
"""The pause of the quiet players before each move: they stay within their own limits."""
EDGE_CALLS_PER_SECOND = 200.0
"""The calls of the noisy player, accepted or refused: what `deploy/edge` allows to one address."""
REFUSALS = {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE}
"""The codes of RATE_LIMITED, TOO_MANY_… and OVERLOADED."""
WATCHES = 8


def run(*, rounds: int = ROUNDS, round_s: float = ROUND_S) -> dict[str, float]:
    """Measure. Return the medians with and without the noise, and their ratio."""
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)  # Postgres may run as another user
        found = asyncio.run(_measure(parent, rounds, round_s))
    return {name: round(median(one[name] for one in found), 3) for name in found[0]}


async def _measure(folder: str, rounds: int, seconds: float) -> list[dict[str, float]]:
    async with _process("serve", folder) as service:
        started = json.loads(await _line(service))
        *quiet, noisy = started["tokens"]
        async with aio.insecure_channel(started["address"]) as channel:
            people = [Person(channel, token) for token in quiet]
            await _play(people, 1.0)
            found = []
            for number in range(rounds):
                print(f"noisy: round {number + 1} of {rounds}", file=sys.stderr)
                alone, cpu_alone = await _medians(people, seconds, service.pid)
                async with _process("noise", started["address"], noisy) as noise:
                    assert await _line(noise) == b"noisy\n"
                    beside, cpu_beside = await _medians(people, seconds, service.pid)
                    assert noise.stdin is not None
                    noise.stdin.close()
                    calls = json.loads(await _line(noise))
                assert all(calls[kind] for kind in KINDS), calls
                print(f"noisy: {calls}", file=sys.stderr)
                found.append(
                    {
                        "beside_a_noisy_player": beside / alone,
                        "without_noise_p50_ms": alone,
                        "beside_noise_p50_ms": beside,
                        "without_noise_cpu_per_second": cpu_alone,
                        "beside_noise_cpu_per_second": cpu_beside,
                    }
                )
    return found


async def _medians(people: list[Person], seconds: float, pid: int) -> tuple[float, float]:
    """Play for some seconds. Return the median ms of a move, and the CPU seconds per second."""
    start, used = time.perf_counter(), cpu_seconds(pid)
    times = await _play(people, seconds)
    return median(times), (cpu_seconds(pid) - used) / (time.perf_counter() - start)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used, without its children (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def _process(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run this module in another process. It ends with its input."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.noisy", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def _line(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    return await process.stdout.readline()


async def _play(people: list[Person], seconds: float) -> list[float]:
    """Play matches like easy bots for some seconds. Return the time per move in ms."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        match_id = await _seated(people)
        view = await people[0].ask("GetMatch", api.GetMatchRequest(match_id=match_id))
        while view.on_clock and time.perf_counter() < end:
            await asyncio.sleep(PACE_S)
            start = time.perf_counter()
            view = await _move(people[view.on_clock[0]], match_id)
            times.append((time.perf_counter() - start) * 1000)
        if view.on_clock:
            leaving = api.LeaveMatchRequest(request_id=str(uuid4()), match_id=match_id)
            await people[0].ask("LeaveMatch", leaving)
    return times


async def _seated(people: list[Person]) -> str:
    match_id = await people[0].open()
    for person in people:
        seat = api.TakeSeatRequest(request_id=str(uuid4()), match_id=match_id)
        await person.ask("TakeSeat", seat)
    return match_id


async def _move(person: Person, match_id: str) -> TableView:
    own = await person.ask("GetMatch", api.GetMatchRequest(match_id=match_id))
    move = bots.choose_move(BotLevel.BOT_LEVEL_EASY, own, [], 0)
    play = api.PlayRequest(request_id=str(uuid4()), match_id=match_id, move=move)
    view: TableView = await person.ask("Play", play)
    return view


# --- the noisy player ----------------------------------------------------------------------------


KINDS = ("bots", "review", "tables", "bad_token", "compressed", "watch")


class Pace:
    """Lets a number of calls per second start, in order of arrival."""

    def __init__(self, per_second: float) -> None:
        self._interval_s = 1 / per_second
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the turn of the next call."""
        at = max(self._next, time.monotonic())
        self._next = at + self._interval_s
        while (left_s := at - time.monotonic()) > 0:  # noqa: ASYNC110 - time, no event
            await asyncio.sleep(left_s)


class Noise:
    """Everything that one player may do, in loops that share the pace of the edge."""

    def __init__(self, channel: aio.Channel, token: str) -> None:
        self._person = Person(channel, token)
        self._stranger = Person(channel, token[:-8] + "AAAAAAAA")
        self._pace = Pace(EDGE_CALLS_PER_SECOND)
        self._long_match = ""
        self.calls = Counter[str]()
        """The calls of each kind that had the expected answer, and those that a limit refused."""

    async def prepare(self) -> None:
        """Play a match against a bot to its end, to watch and review it."""
        match_id = self._long_match = await self._open()
        seat = api.TakeSeatRequest(request_id=str(uuid4()), match_id=match_id)
        await self._insist("TakeSeat", seat)
        view = await self._seat_bot(match_id, BotLevel.BOT_LEVEL_EASY)
        while not view.HasField("result"):
            if view.on_clock and view.on_clock[0] == view.your_seat:
                move = bots.choose_move(BotLevel.BOT_LEVEL_EASY, view, [], 0)
                play = api.PlayRequest(request_id=str(uuid4()), match_id=match_id, move=move)
                view = await self._insist("Play", play)
            await asyncio.sleep(PACE_S)
            view = await self._insist("GetMatch", api.GetMatchRequest(match_id=match_id))

    async def _insist(self, method: str, request: Message) -> TableView:
        """Call a method until no limit refuses it. Return the view in the reply."""
        while True:
            await self._pace.turn()
            try:
                view: TableView = await self._person.ask(method, request)
            except aio.AioRpcError as error:
                self._count_refused(error)
            else:
                return view

    def _count_refused(self, error: aio.AioRpcError) -> None:
        """Count the refusal of a limit. Raises any other error."""
        if error.code() not in REFUSALS:
            raise error
        self.calls["refused"] += 1

    async def _expect(self, call: Awaitable[object], expected: grpc.StatusCode) -> None:
        """Await a call that must be refused with this code."""
        try:
            await call
        except aio.AioRpcError as error:
            if error.code() != expected:
                raise
            return
        raise AssertionError(expected)

    async def _open(self) -> str:
        request = api.OpenTableRequest(request_id=str(uuid4()), settings=SETTINGS)
        return (await self._insist("OpenTable", request)).match_id

    async def make(self) -> None:
        """Make noise until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in (*KINDS, *["watch"] * (WATCHES - 1)):
                group.create_task(self._repeat(kind, getattr(self, f"_{kind}")))

    async def _repeat(self, name: str, kind: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await kind()
                self.calls[name] += 1
            except aio.AioRpcError as error:
                self._count_refused(error)

    async def _seat_bot(self, match_id: str, level: BotLevel.ValueType) -> TableView:
        request = api.SeatBotRequest(request_id=str(uuid4()), match_id=match_id, level=level)
        return await self._insist("SeatBot", request)

    async def _bots(self) -> None:
        match_id = await self._open()
        for _ in range(2):
            await self._seat_bot(match_id, BotLevel.BOT_LEVEL_HARD)

    async def _review(self) -> None:
        await self._pace.turn()
        request = api.ReviewMatchRequest(match_id=self._long_match)
        await self._person.stub.ReviewMatch(request, metadata=self._person.metadata)

    async def _tables(self) -> None:
        match_id = await self._open()
        request = api.CancelTableRequest(request_id=str(uuid4()), match_id=match_id)
        await self._insist("CancelTable", request)

    async def _bad_token(self) -> None:
        await self._pace.turn()
        call = self._stranger.ask("GetMatch", api.GetMatchRequest(match_id=self._long_match))
        await self._expect(call, grpc.StatusCode.UNAUTHENTICATED)

    async def _compressed(self) -> None:
        request = api.OpenTableRequest(
            request_id=str(uuid4()), settings=Settings(preset="x" * 60_000)
        )
        await self._pace.turn()
        call = self._person.stub.OpenTable(
            request, metadata=self._person.metadata, compression=grpc.Compression.Gzip
        )
        await self._expect(call, grpc.StatusCode.UNIMPLEMENTED)

    async def _watch(self) -> None:
        request = api.WatchMatchRequest(match_id=self._long_match)
        await self._pace.turn()
        watch = self._person.stub.WatchMatch(request, metadata=self._person.metadata)
        async for message in watch:
            if message.HasField("caught_up"):
                watch.cancel()
                return


async def _noise(address: str, token: str) -> None:
    async with aio.insecure_channel(address) as channel:
        noise = Noise(channel, token)
        await noise.prepare()
        making = asyncio.create_task(noise.make())
        while not all(noise.calls[kind] for kind in KINDS):
            await asyncio.wait([making], timeout=0.1)
            if making.done():
                making.result()  # raises
        print("noisy", flush=True)
        ended = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
        await asyncio.wait([making, ended], return_when=asyncio.FIRST_COMPLETED)
        if making.done():
            making.result()  # raises
        making.cancel()
        await asyncio.wait([making])
        print(json.dumps(noise.calls), flush=True)


async def _serve(folder: str) -> None:
    """Run the service with its default limits until standard input ends."""
    config = Config(listen_port=0, data_dir=Path(folder), log_level="error")
    configure_logging(config)
    async with running(config) as server:
        key = server.development_key
        assert key is not None
        tokens = [
            key.mint(player, issuer="durak", audience="durak", lifetime_seconds=TOKEN_SECONDS)
            for player in ("quiet-1", "quiet-2", "noisy")
        ]
        print(json.dumps({"address": server.address, "tokens": tokens}), flush=True)
        await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", folder]:
            asyncio.run(_serve(folder))
        case ["noise", address, token]:
            asyncio.run(_noise(address, token))
        case _:
            print(json.dumps(run()))
