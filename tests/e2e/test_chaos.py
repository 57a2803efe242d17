"""Two replicas under faults of many kinds: nothing is lost, doubled or stuck, no coin is missing.

The clients repeat each request until it is answered, and resume their watches. Each call goes to
any replica. They play at tables with stakes, by sessions, at tricky tables with cheats and
challenges, and with secrets that are sometimes not revealed. In the end the log has each
acknowledged command once, each watch has seen the whole log, every match has ended, and the audit
finds nothing.

A bare CANCELLED, without details, is accepted as a lost connection, and counted: gRPC answers so
when a call arrives while the port of a replica closes, before the service sees the call.

`DURAK_TEST_CHAOS_FAULTS` is the number of faults, `DURAK_TEST_CHAOS_SEED` the seed of their order.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import asyncpg
import grpc
import pytest
from google.rpc import error_details_pb2
from grpc import aio

from domain.match.deal import secret_hash
from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import ChallengeMove, DefendMove, Move, Phase, TableView
from eventstore import EmbeddedPostgres
from service.rpc.status import STATUS_KEY
from tests.conftest import execute
from tests.e2e import test_nothing_lost as calm
from tests.e2e.test_nothing_lost import Load, Service, check, kill_and_start
from tests.e2e.test_shutdown import signal_all
from tests.service.frame import answer_of
from tests.service.playing import easy_move
from tests.service.wire import Wire, wire_to_database

FAULTS = int(os.environ.get("DURAK_TEST_CHAOS_FAULTS", "5"))
SEED = int(os.environ.get("DURAK_TEST_CHAOS_SEED", "1"))
COMMANDS_BETWEEN_FAULTS = 60
ROUND_ROBIN = '{"loadBalancingConfig": [{"round_robin": {}}]}'
SETTINGS = {
    "DURAK_DRAIN_SECONDS_MAX": "3",
    "DURAK_HEADS_INTERVAL_SECONDS": "0.5",
    "DURAK_REVEAL_LIMIT_SECONDS": "2",
    "DURAK_STANDINGS_INTERVAL_SECONDS": "0.2",
    "DURAK_STANDINGS_SETTLE_SECONDS": "0.5",
}
STAKED, BY_SESSION, TRICKY, SECRET = range(4)
"""The kinds of tables: every fourth table is of each kind."""
STAKED_PLAYERS = 2 * (calm.TABLES // 4)
GAMES = [
    Settings(
        deck=Deck.DECK_24,
        seats=2,
        throw_in=ThrowIn.THROW_IN_ALL,
        transfer=kind in (STAKED, TRICKY),
        stake_coins=int(kind == STAKED),
        tricky=kind == TRICKY,
    )
    for kind in range(4)
]
CLOCK_JUMP_S = 3_600
EXPECTED = (
    "DecodeError: Error parsing message with type 'durak.v1.MatchSummary'",  # the damaged row
    "GRPC_CALL_ERROR_TOO_MANY_OPERATIONS",  # gRPC has no way to end a stream that is not read
)
"""What the tracebacks of the logs may be about."""
# As `durak serve`, with a clock that a test can put forward.
SERVE = """
import asyncio, sys
from pathlib import Path
from service.config import Config
from service.lifecycle import relax_collector, stop_requested
from service.rpc.logs import configure_logging
from service.server import running
from service.times import system_now_us

config = Config()
jump = Path(sys.argv[1])

def own_us():
    return system_now_us() + (CLOCK_JUMP_S * 1_000_000 if jump.exists() else 0)

async def main():
    stop = stop_requested()
    relax_collector()
    async with running(config, own_us) as server:
        print(server.address, flush=True)
        await stop.wait()

configure_logging(config)
asyncio.run(main())
""".replace("CLOCK_JUMP_S", str(CLOCK_JUMP_S))
RETRIABLE = {
    grpc.StatusCode.UNAVAILABLE: {"DRAINING", "OVERLOADED", "STORE_UNAVAILABLE"},
    grpc.StatusCode.ABORTED: {"CONTENTION"},
}
TOO_LATE = {"MATCH_NOT_IN_PLAY", "MATCH_NOT_REVEALING"}


class Replica(Service):
    """A replica in its own process, which reaches the database through a wire."""

    def __init__(self, wire: Wire, dsn: str, folder: Path, name: str) -> None:
        super().__init__(dsn, folder, **SETTINGS)
        self.wire = wire
        self.log = folder / f"{name}.log"
        self.jump = folder / f"{name}.jump"
        self.program = (SERVE, str(self.jump))


class Session:
    """A session of one player that is opened again after each loss."""

    def __init__(self, stub: Any, metadata: tuple[tuple[str, str], ...]) -> None:
        self._stub = stub
        self._metadata = metadata
        self._stream: Any = None

    async def play(self, request: api.PlayRequest) -> TableView:
        """Send a move until it is answered. Return the view."""
        while True:
            if self._stream is None or self._stream.done():
                self._stream = self._stub.PlaySession(metadata=self._metadata, wait_for_ready=True)
            try:
                await self._stream.write(api.PlaySessionRequest(play=request))
                answer = await self._stream.read()
            except aio.AioRpcError as error:
                # A write to a stream that has just ended is INTERNAL, made by the client itself.
                if "execute_batch" not in (error.debug_error_string() or ""):
                    await wait_as_advised(error)
                continue
            except asyncio.InvalidStateError:  # it ended before the request was written
                continue
            if answer is aio.EOF:
                continue
            assert answer.request_id == request.request_id
            if answer.HasField("view"):
                return cast("TableView", answer.view)
            details = error_details_pb2.ErrorInfo()
            assert answer.error.details[0].Unpack(details)
            assert details.reason in set.union(*RETRIABLE.values()), answer.error
            await a_moment()


class ChaosLoad(Load):
    """Players at tables of all kinds."""

    patience_s = 60.0  # Postgres recovers for a while after each crash

    def __init__(self, server: Service, channel: aio.Channel, chance: random.Random) -> None:
        self._chance = chance
        self._matches = 0
        self.longest_s = 0.0
        """The longest time from the first try of a command to its answer."""
        self.reveals_missing = 0
        super().__init__(server, channel)

    async def _play_match(self, table: int) -> None:
        kind = table % 4
        self._matches += 1
        number = self._matches
        # Who does not reveal is barred after a few times, so each match has new players.
        suffix = f"{table}.{number}" if kind == SECRET else str(table)
        players = [f"ann{suffix}", f"bob{suffix}"]
        opened = await self._command(players[0], "OpenTable", settings=GAMES[kind])
        match_id = opened.match_id
        watching = asyncio.create_task(self._watch(f"eve{table}", match_id))
        sessions = {one: Session(self._stub, self._server.metadata(one)) for one in players}
        secrets = [self._chance.randbytes(32) if kind == SECRET else b"" for _ in players]
        try:
            for seat, (player, secret) in enumerate(zip(players, secrets, strict=True)):
                promise = secret and secret_hash(UUID(match_id).bytes, player, secret)
                await self._command(
                    player, "TakeSeat", match_id=match_id, seat=seat, client_seed_hash=promise
                )
            if kind == SECRET:
                await self._reveal(players, secrets, match_id, whole=number % 3 > 0)
            view = await self._get(players[0], match_id)
            while view.phase == Phase.PHASE_PLAYING:
                player = players[view.on_clock[0]]
                view = await self._get(player, match_id)
                move = self._move(view) if kind == TRICKY else easy_move(view)
                fields = {"match_id": match_id, "move": move, "expected_version": view.version}
                if kind == BY_SESSION:
                    view = await self._play_in(sessions[player], player, fields)
                else:
                    view = await self._command(player, "Play", **fields)
            await watching
        finally:
            watching.cancel()

    async def _reveal(
        self, players: list[str], secrets: list[bytes], match_id: str, *, whole: bool
    ) -> None:
        """Reveal the secrets. If not `whole`, the last one is missing and the match is over."""
        count = len(players) - (not whole)
        for player, secret in list(zip(players, secrets, strict=True))[:count]:
            view = await self._get(player, match_id)
            if view.phase != Phase.PHASE_REVEALING:
                return  # a fault lasted for longer than the time to reveal
            try:
                await self._command(player, "RevealSeed", match_id=match_id, secret=secret)
            except TooLateError:
                return
        self.reveals_missing += not whole

    def _move(self, view: TableView) -> Move:
        """Return a legal move, or sometimes a cheat or a challenge."""
        challenges = view.moves.challenge
        if challenges and self._chance.random() < 0.1:
            return Move(challenge=ChallengeMove(play_version=self._chance.choice(challenges)))
        unbeaten = [one.attack_card for one in view.table if not one.HasField("defence")]
        is_defender = view.your_seat == view.defender and not view.taking
        if is_defender and unbeaten and self._chance.random() < 0.2:
            card = self._chance.choice(view.hand)
            return Move(defend=DefendMove(attack_card=unbeaten[0], card=card))
        return easy_move(view)

    async def _play_in(self, session: Session, player: str, fields: dict[str, Any]) -> TableView:
        request_id = uuid4()
        started = time.monotonic()
        view = await session.play(api.PlayRequest(request_id=str(request_id), **fields))
        self.longest_s = max(self.longest_s, time.monotonic() - started)
        await self._acknowledge(request_id.bytes, player, view)
        return view

    async def _call(self, who: str, method: str, request: Any) -> TableView:
        started = time.monotonic()
        view = await super()._call(who, method, request)
        self.longest_s = max(self.longest_s, time.monotonic() - started)
        return view


class Chaos:
    """The faults. Each of them is over when it returns."""

    def __init__(
        self, chance: random.Random, replicas: list[Replica], postgres: EmbeddedPostgres
    ) -> None:
        self._chance = chance
        self._replicas = replicas
        self._postgres = postgres
        self.done: Counter[str] = Counter()
        self._faults: list[Callable[[Replica], Awaitable[None]]] = [
            self.kill_a_replica,
            self.restart_a_replica,
            self.freeze_a_replica,
            self.cut_the_database_off,
            self.lose_hints,
            self.kill_postgres,
            self.freeze_postgres,
            self.make_the_database_read_only,
            self.silence_the_database,
            self.put_the_clock_forward,
            self.damage_the_row_of_a_match,
            self.leave_a_watch_unread,
        ]
        self._next: list[Callable[[Replica], Awaitable[None]]] = []

    async def strike(self) -> None:
        """Let the next fault happen. All kinds happen equally often."""
        if not self._next:
            self._next = self._chance.sample(self._faults, len(self._faults))
        fault = self._next.pop()
        sys.stdout.write(f"{time.monotonic():.1f} {fault.__name__}\n")
        await fault(self._chance.choice(self._replicas))
        self.done[fault.__name__] += 1

    async def _for_a_while(self) -> None:
        """Let the fault last for up to two seconds."""
        lasts = asyncio.get_running_loop().create_future()
        seconds = self._chance.uniform(0.2, 2.0)
        asyncio.get_running_loop().call_later(seconds, lasts.set_result, None)
        await lasts

    async def kill_a_replica(self, replica: Replica) -> None:
        await replica.kill()
        await replica.start()

    async def restart_a_replica(self, replica: Replica) -> None:
        await replica.stop()
        await replica.start()

    async def freeze_a_replica(self, replica: Replica) -> None:
        os.kill(replica.pid, signal.SIGSTOP)
        await self._for_a_while()
        os.kill(replica.pid, signal.SIGCONT)

    async def cut_the_database_off(self, replica: Replica) -> None:
        replica.wire.cut()
        await self._for_a_while()
        replica.wire.repair()

    async def lose_hints(self, _: Replica) -> None:
        await execute(
            self._postgres.owner_dsn(),
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE query LIKE '%durak_hints%' AND pid <> pg_backend_pid()",
        )

    async def kill_postgres(self, _: Replica) -> None:
        await kill_and_start(self._postgres)

    async def freeze_postgres(self, _: Replica) -> None:
        signal_all(self._postgres, signal.SIGSTOP)
        await self._for_a_while()
        signal_all(self._postgres, signal.SIGCONT)

    async def make_the_database_read_only(self, _: Replica) -> None:
        owner = await asyncpg.connect(self._postgres.owner_dsn())
        name = await owner.fetchval("SELECT current_database()")
        setting = f"ALTER DATABASE {name} SET default_transaction_read_only"
        others = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await owner.execute(f"{setting} = on")
        await owner.execute(others)
        await self._for_a_while()
        await owner.execute("SET default_transaction_read_only = off")
        await owner.execute(f"{setting} = off")
        await owner.execute(others)
        await owner.close()

    async def silence_the_database(self, replica: Replica) -> None:
        """A firewall forgets all connections of a replica to its database."""
        replica.wire.silence()

    async def put_the_clock_forward(self, replica: Replica) -> None:
        replica.jump.touch()
        await self._for_a_while()
        replica.jump.unlink()

    async def damage_the_row_of_a_match(self, _: Replica) -> None:
        """The row of a match in lists and standings holds a byte that is no message."""
        owner = await asyncpg.connect(self._postgres.owner_dsn())
        stored = await owner.fetchrow("SELECT match_id, summary FROM matches ORDER BY random()")
        assert stored is not None
        change = "UPDATE matches SET summary = $2 WHERE match_id = $1 AND summary = $3"
        match_id, good = stored
        bad = b"\xff" + good
        await owner.execute(change, match_id, bad, good)
        await self._for_a_while()
        await owner.execute(change, match_id, good, bad)
        await owner.close()

    async def leave_a_watch_unread(self, replica: Replica) -> None:
        async with aio.insecure_channel(replica.address) as channel:
            stub: Any = MatchServiceStub(channel)
            metadata = replica.metadata("lazy")
            asked = api.ListMatchesRequest(page_size=100)
            listed = await stub.ListMatches(asked, metadata=metadata, wait_for_ready=True)
            for one in listed.matches[:10]:
                stub.WatchMatch(api.WatchMatchRequest(match_id=one.match_id), metadata=metadata)
            await self._for_a_while()


class TooLateError(Exception):
    """The match was over when the command arrived."""


async def wait_as_advised(error: aio.AioRpcError) -> None:
    """Check that a client may meet this error, and wait before the retry as it says."""
    keys = {key for key, _ in error.trailing_metadata() or ()}
    if STATUS_KEY in keys:
        if answer_of(error).reason in TOO_LATE:
            raise TooLateError
        assert answer_of(error).reason in RETRIABLE.get(error.code(), set()), error
    else:  # the connection was lost, or gRPC cancelled a call that came while the port closed
        lost = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
        assert error.code() in lost, (error.code(), error.details())
    await a_moment()


async def a_moment() -> None:
    """Wait before the same request is sent again."""
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(0.1, over.set)
    await over.wait()


@pytest.mark.timeout(120 + 20 * FAULTS)
async def test_two_replicas_under_faults_lose_and_double_nothing(
    own_postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calm, "wait_as_advised", wait_as_advised)
    dsn = own_postgres.app_dsn()
    async with AsyncExitStack() as stack:
        replicas = []
        for name in ("one", "two"):
            wire, wire_dsn = await wire_to_database(dsn)
            stack.push_async_callback(wire.close)
            replica = Replica(wire, wire_dsn, tmp_path, name)
            await replica.start()
            stack.push_async_callback(replica.kill)
            replicas.append(replica)
        addresses = ",".join(replica.address for replica in replicas)
        options = [
            ("grpc.service_config", ROUND_ROBIN),
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 200),
        ]
        channel = await stack.enter_async_context(
            aio.insecure_channel(f"ipv4:{addresses}", options=options)
        )
        load = ChaosLoad(replicas[0], channel, random.Random(SEED))
        stack.push_async_callback(load.close)
        chaos = Chaos(random.Random(SEED), replicas, own_postgres)
        for _ in range(FAULTS):
            await load.acknowledges(COMMANDS_BETWEEN_FAULTS)
            await chaos.strike()
        await load.acknowledges(COMMANDS_BETWEEN_FAULTS)
        await load.finish()
        await check(load, dsn, players=STAKED_PLAYERS)
        assert chaos.done.total() == FAULTS
        figures = (
            f"{len(load.acknowledged)} commands, {load.retries} retries, {load.resumed} resumes, "
            f"{load.reveals_missing} reveals missing, longest answer {load.longest_s:.1f} s"
        )
        sys.stdout.write(f"{figures}, faults: {dict(chaos.done)}\n")
    for replica in replicas:
        log = replica.log.read_text()
        assert '"event": "call failed"' not in log
        for line in log.splitlines():
            assert "Traceback" not in line or any(text in line for text in EXPECTED), line
