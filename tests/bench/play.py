"""Measure durable commands per second of the whole service, and empty gRPC calls of the same size.

One server process runs the service with its embedded Postgres. Another answers empty calls. Two
client processes with 32 commands in flight each use one of the two servers at a time, in
alternating rounds. The clients play both seats of whole two-seat matches. The attacker leads the
first card in its view and the defender takes, so most commands need no extra read. The calls that
open a table, sit down and read the first view are not counted, but their time is.

Rounds are short and numerous, so other load on the machine affects all kinds equally. Such load
still slows down most the kind that crosses most processes. The CPU time of the server per command
(`…_server_us`) is almost independent of it.

`python -m tests.bench.play` runs only this benchmark and prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from grpc import aio, method_handlers_generic_handler, unary_unary_rpc_method_handler

from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Move, TableView
from service.config import Config
from service.lifecycle import relax_collector
from service.rpc.logs import configure_logging
from service.server import running

CLIENTS, IN_FLIGHT = 2, 64
ROUNDS, ROUND_S, WARM_S = 9, 1.5, 0.5
PLAYERS = ("first", "second")
SETTINGS = Settings(
    deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_NEIGHBOURS, draw_allowed=True
)
TOKEN_SECONDS = 3600
"""Lifetime of the players' tokens."""

Command = Callable[[int, str, Any], Awaitable[TableView]]
"""Sends a command of a player, named as in PlaySessionRequest. Returns the view in the reply."""


def run(*, rounds: int = ROUNDS, round_s: float = ROUND_S) -> dict[str, float]:
    """Measure. Return the ratios, rates and times of a command.

    The ratios are medians over rounds that measure all kinds side by side. `command_p50_ms`
    and `command_p99_ms` are the latency of a `Play` call with 64 in flight. The `session_` figures
    are the same over streams, those of `session_single` with one answer in each message. The
    `alone_` figures are for one `Play` call in flight.
    `…_server_us` is the CPU time of the server per command, in microseconds.
    """
    with tempfile.TemporaryDirectory() as parent, ExitStack() as stack:
        Path(parent).chmod(0o755)  # Postgres may run as another user
        service, started = stack.enter_context(process("serve", parent))
        clients = [
            stack.enter_context(process("client", json.dumps(started)))[0] for _ in range(CLIENTS)
        ]
        warm = measure(service, clients, "unary", 1.0)
        measure(service, clients, "session", 1.0)
        sizes = {"request": warm["request_bytes"], "reply": warm["reply_bytes"]}
        echo, echo_started = stack.enter_context(process("echo", json.dumps(sizes)))
        measure(echo, clients, "echo", 1.0, **echo_started, **sizes)

        kinds = ("unary", "session", "session_single", "echo")
        found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
        for number in range(rounds):
            print(f"play: round {number + 1} of {rounds}", file=sys.stderr)
            for kind, results in found.items():
                server = echo if kind == "echo" else service
                more = {**echo_started, **sizes}
                results.append(measure(server, clients, kind, round_s, **more))
        alone = measure(service, clients[:1], "unary", round_s, in_flight=1)
        assert service.poll() is None
    return _figures(found, alone, sizes)


def _figures(
    found: dict[str, list[dict[str, Any]]], alone: dict[str, Any], sizes: dict[str, int]
) -> dict[str, float]:
    def ratio(kind: str) -> float:
        pairs = zip(found[kind], found["echo"], strict=True)
        ratios: list[float] = [ours["per_s"] / empty["per_s"] for ours, empty in pairs]
        return round(median(ratios), 4)

    def times(results: list[dict[str, Any]], name: str) -> dict[str, float]:
        ordered = sorted(ms for result in results for ms in result["ms"])
        return {
            f"{name}_p{part}_ms": round(ordered[len(ordered) * part // 100], 2) for part in (50, 99)
        }

    return {
        "play_unary_vs_echo": ratio("unary"),
        "play_session_vs_unary_echo": ratio("session"),
        **{
            f"play_{kind}_per_s": round(median(result["per_s"] for result in results))
            for kind, results in found.items()
        },
        **{
            f"play_{kind}_server_us": round(median(result["server_us"] for result in results))
            for kind, results in found.items()
        },
        **times(found["unary"], "command"),
        **times(found["session"], "session_command"),
        **times([alone], "alone_command"),
        "play_request_bytes": sizes["request"],
        "play_reply_bytes": sizes["reply"],
    }


@contextmanager
def process(
    *words: str, module: str = "tests.bench.play"
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start a process of this or another benchmark. Yield it and its first line.

    It ends with its input.
    """
    with subprocess.Popen(
        [sys.executable, "-m", module, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdin is not None
        try:
            yield started, answer(started)
        finally:
            started.stdin.close()
            try:
                started.wait(30)
            except subprocess.TimeoutExpired:
                started.kill()


def ask(process: subprocess.Popen[str], question: object) -> None:
    """Write one line to a process."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Read one line of a process."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError("a process of the benchmark ended early; see its error above")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _processor_s(server: subprocess.Popen[str]) -> float:
    """Return the CPU seconds that a server has used so far."""
    ask(server, "processor_s")
    used: float = answer(server)["processor_s"]
    return used


def measure(
    server: subprocess.Popen[str],
    clients: list[subprocess.Popen[str]],
    kind: str,
    seconds: float,
    **more: Any,
) -> dict[str, Any]:
    """Run one round of all clients at once. Sum their rates and join their times."""
    in_flight = IN_FLIGHT // len(clients)
    task = {"kind": kind, "seconds": seconds, "in_flight": in_flight, **more}
    for client in clients:
        ask(client, task)
    for client in clients:
        answer(client)  # the client starts to count
    before_s = _processor_s(server)
    answers = [answer(client) for client in clients]
    used_s = _processor_s(server) - before_s
    per_s = sum(answer["per_s"] for answer in answers)
    return {
        "per_s": per_s,
        "server_us": used_s / (per_s * seconds) * 1_000_000,
        "ms": [ms for answer in answers for ms in answer["ms"]],
        "request_bytes": answers[0]["request_bytes"],
        "reply_bytes": answers[0]["reply_bytes"],
    }


async def _serve(folder: str) -> None:
    """Run the service as `serve_forever` does, until standard input ends."""
    config = Config(
        listen_port=0,
        data_dir=Path(folder),
        caller_calls_per_second=0,
        caller_tables_max=10_000,  # two players open many tables at the same time
        caller_seats_max=10_000,
        caller_bot_tables_max=10_000,
        bot_think_seconds_min=0,
        log_level="warning",
    )
    configure_logging(config)
    relax_collector()
    async with running(config) as server:
        assert server.development_key is not None
        tokens = [
            server.development_key.mint(
                player, issuer="durak", audience="durak", lifetime_seconds=TOKEN_SECONDS
            )
            for player in PLAYERS
        ]
        print(json.dumps({"address": server.address, "tokens": tokens}), flush=True)
        await _until_input_ends()


async def _serve_echo(sizes: dict[str, int]) -> None:
    reply = bytes(sizes["reply"])

    async def answer(_: bytes, __: Any) -> bytes:
        return reply

    server = aio.server()
    handler: Any = unary_unary_rpc_method_handler(answer)
    server.add_generic_rpc_handlers((method_handlers_generic_handler("bench", {"Echo": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    relax_collector()
    await server.start()
    print(json.dumps({"echo_address": f"127.0.0.1:{port}"}), flush=True)
    await _until_input_ends()
    await server.stop(0)


async def _until_input_ends() -> None:
    """Print the CPU time of this process for each input line, until the input ends."""
    while await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps({"processor_s": time.process_time()}), flush=True)


class _Round:
    """The counts of one client in one round, after its warm-up."""

    def __init__(self) -> None:
        self.ms: list[float] = []
        self.request_bytes = self.reply_bytes = 0
        self.stopped = False

    async def run(self, worker: Callable[[], Awaitable[None]], task: dict[str, Any]) -> float:
        """Run the workers for the given seconds. Return commands per second."""
        async with asyncio.TaskGroup() as group:
            workers = [
                group.create_task(self._until_stopped(worker)) for _ in range(task["in_flight"])
            ]
            await asyncio.wait(workers, timeout=WARM_S, return_when=asyncio.FIRST_EXCEPTION)
            self.ms.clear()
            self.request_bytes = self.reply_bytes = 0
            print("{}", flush=True)
            start = time.perf_counter()
            seconds = task["seconds"]
            await asyncio.wait(workers, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
            rate = len(self.ms) / (time.perf_counter() - start)
            self.stopped = True
            counted = max(1, len(self.ms))
            self.request_bytes //= counted
            self.reply_bytes //= counted
        return rate

    async def _until_stopped(self, worker: Callable[[], Awaitable[None]]) -> None:
        while not self.stopped:
            await worker()

    def count(self, start: float, request_bytes: int, reply_bytes: int) -> None:
        if self.stopped:
            return
        self.ms.append(round((time.perf_counter() - start) * 1000, 3))
        self.request_bytes += request_bytes
        self.reply_bytes += reply_bytes


async def _client(service: dict[str, Any]) -> None:
    """Run one round for each line of the input."""
    async with aio.insecure_channel(service["address"]) as channel:
        stub = MatchServiceStub(channel)
        metadata = [(("authorization", f"Bearer {token}"),) for token in service["tokens"]]
        print("{}", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            task = json.loads(line)
            counts = _Round()
            if task["kind"] == "echo":
                rate = await _echo(counts, task)
            elif task["kind"] == "unary":
                rate = await counts.run(
                    lambda: _match(_unary(stub, metadata), stub, metadata, counts),  # noqa: B023
                    task,
                )
            else:
                reads_more = task["kind"] == "session"
                async with _session(stub, metadata, reads_more=reads_more) as command:
                    rate = await counts.run(
                        lambda: _match(command, stub, metadata, counts),  # noqa: B023
                        task,
                    )
            answer = {
                "per_s": rate,
                "ms": counts.ms,
                "request_bytes": counts.request_bytes,
                "reply_bytes": counts.reply_bytes,
            }
            print(json.dumps(answer), flush=True)


async def _echo(counts: _Round, task: dict[str, Any]) -> float:
    request = bytes(task["request"])
    async with aio.insecure_channel(task["echo_address"]) as channel:
        call: Any = channel.unary_unary("/bench/Echo")

        async def once() -> None:
            start = time.perf_counter()
            reply = await call(request)
            counts.count(start, len(request), len(reply))

        return await counts.run(once, task)


def _unary(stub: Any, metadata: list[Any]) -> Command:
    calls = {
        "open_table": stub.OpenTable,
        "take_seat": stub.TakeSeat,
        "play": stub.Play,
        "leave_match": stub.LeaveMatch,
    }

    async def command(player: int, kind: str, request: Any) -> TableView:
        view: TableView = (await calls[kind](request, metadata=metadata[player])).view
        return view

    return command


@asynccontextmanager
async def _session(stub: Any, metadata: list[Any], *, reads_more: bool) -> Any:
    """Open a stream for each player. All matches of this client share them."""
    streams = [stub.PlaySession(metadata=own) for own in metadata]
    locks = [asyncio.Lock() for _ in streams]
    waiting: dict[str, asyncio.Future[TableView]] = {}

    async def read(stream: Any) -> None:
        while (message := await stream.read()) is not aio.EOF:
            for answer in (message, *message.more):
                future = waiting.pop(answer.request_id)
                if answer.HasField("view"):
                    future.set_result(answer.view)
                else:
                    future.set_exception(RuntimeError(str(answer)))

    async def command(player: int, kind: str, request: Any) -> TableView:
        future = asyncio.get_running_loop().create_future()
        waiting[request.request_id] = future
        fields: dict[str, Any] = {kind: request}
        async with locks[player]:
            await streams[player].write(api.PlaySessionRequest(reads_more=reads_more, **fields))
        view: TableView = await future
        return view

    async with asyncio.TaskGroup() as group:
        for stream in streams:
            group.create_task(read(stream))
        yield command
        for stream in streams:
            await stream.done_writing()


async def _match(command: Command, stub: Any, metadata: list[Any], counts: _Round) -> None:
    """Play one match until it ends or the round ends."""
    opening = api.OpenTableRequest(request_id=str(uuid4()), settings=SETTINGS)
    match_id = (await command(0, "open_table", opening)).match_id
    seat = api.TakeSeatRequest(request_id=str(uuid4()), match_id=match_id)
    await command(0, "take_seat", seat)
    seat = api.TakeSeatRequest(request_id=str(uuid4()), match_id=match_id)
    view = await command(1, "take_seat", seat)
    while view.on_clock and not counts.stopped:
        mover = view.on_clock[0]
        own: TableView | None = view if view.your_seat == mover else None
        if own is None and mover != view.defender and not view.taking:  # it needs its hand to lead
            request = api.GetMatchRequest(match_id=match_id)
            own = (await stub.GetMatch(request, metadata=metadata[mover])).view
        play = api.PlayRequest(match_id=match_id, request_id=str(uuid4()))
        play.move.CopyFrom(_move(own, is_defender=mover == view.defender))
        start = time.perf_counter()
        view = await command(mover, "play", play)
        counts.count(start, play.ByteSize(), view.ByteSize())
    if view.on_clock:  # the round has ended: no match stays behind
        leave = api.LeaveMatchRequest(request_id=str(uuid4()), match_id=match_id)
        await command(0, "leave_match", leave)


def _move(own: TableView | None, *, is_defender: bool) -> Move:
    """Lead the first legal card, or else take or pass. With two seats these are always legal."""
    move = Move()
    if own is not None and own.moves.attack and not own.table:
        move.attack.card = own.moves.attack[0]
    elif is_defender:
        move.take.SetInParent()
    else:
        getattr(move, "pass").SetInParent()
    return move


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(json.dumps(run()))
    elif sys.argv[1] == "serve":
        asyncio.run(_serve(sys.argv[2]))
    elif sys.argv[1] == "echo":
        asyncio.run(_serve_echo(json.loads(sys.argv[2])))
    else:
        asyncio.run(_client(json.loads(sys.argv[2])))
