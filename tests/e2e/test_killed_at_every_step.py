"""Kill the service and Postgres with SIGKILL at every step of a command that moves coins (R12.8).

A step is one message from the service to the database. The service is killed before its n-th
message arrives, so its memory is lost and the database has received n - 1 messages. Postgres is
killed after it has answered the n-th message and before the answer arrives. Then the client repeats
its request until it is answered, and once more. No coin is lost, doubled or stuck.

By default every third step is tested. With `DURAK_TEST_EVERY_STEP` every step is tested.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import grpc
import pytest
from grpc import aio

from domain.match.deal import secret_hash
from durak.v1 import match_service_pb2 as api
from durak.v1.table_pb2 import TableView
from eventstore import EmbeddedPostgres, EventStore
from tests.conftest import Database
from tests.e2e.test_nothing_lost import Service
from tests.service.matches.test_coin_moves import balances, staked
from tests.service.matches.test_coin_moves_broken import Command, leave, quiet_replica, take_seat
from tests.service.playing import Player, Playing, log_of, new_id, until, without_server_time
from tests.service.wire import Wire, wire_to_database

STEPS_MOST = 60
STRIDE = 1 if "DURAK_TEST_EVERY_STEP" in os.environ else 3
ANSWERED_S = 60
QUIET = {
    f"DURAK_{name}_SECONDS": "3600"
    for name in (
        *("DEADLINE_SCAN_INTERVAL", "HEADS_INTERVAL", "READINESS_INTERVAL"),
        *("REVOCATIONS_INTERVAL", "STANDINGS_INTERVAL"),
    )
}


def secret_of(player: Player) -> bytes:
    return sha256(player.name.encode()).digest()


async def promise_seat(player: Player, match_id: str, request_id: str) -> TableView:
    promised = secret_hash(UUID(match_id).bytes, player.name, secret_of(player))
    return await player.sit(match_id, request_id=request_id, client_seed_hash=promised)


async def reveal(player: Player, match_id: str, request_id: str) -> TableView:
    request = api.RevealSeedRequest(
        match_id=match_id, request_id=request_id, secret=secret_of(player)
    )
    view: TableView = (await player.call("RevealSeed", request)).view
    return view


STEPS: Mapping[str, Command] = {"sit": take_seat, "promise": promise_seat, "reveal": reveal}
COMMANDS = pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        # Ann's coins, and bob's, available and in escrow.
        (take_seat, ["bob sit"], [(900, 100), (900, 100)]),
        (leave, ["ann sit", "bob sit"], [(900, 0), (1100, 0)]),
        (promise_seat, ["bob promise"], [(900, 100), (900, 100)]),
        (
            reveal,
            ["ann promise", "bob promise", "bob reveal"],
            [(900, 100), (900, 100)],
        ),
    ],
    ids=["sit-and-deal", "finish", "promise", "reveal-and-deal"],
)


async def prepare(players: Sequence[Player], before: Sequence[str]) -> str:
    """Let ann, the first player, open a table. Take the steps in `before`, such as `bob sit`."""
    match_id = (await players[0].open(staked())).match_id
    for step in before:
        name, act = step.split()
        [player] = [one for one in players if one.name.rstrip("0123456789") == name]
        await STEPS[act](player, match_id, new_id())
    return match_id


async def until_answered(
    command: Command, player: Player, match_id: str, request_id: str, death: Death
) -> TableView:
    """Repeat a request until it is answered. The only accepted error is UNAVAILABLE."""
    while True:
        death.check()
        try:
            return await command(player, match_id, request_id)
        except aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise


async def check(
    outside: EventStore,
    match_id: str,
    request_id: str,
    players: Sequence[Player],
    after: list[tuple[int, int]],
) -> None:
    """Check that the log has the command once and that the balances are as expected."""
    records = await log_of(outside, match_id)
    asked = UUID(request_id).bytes
    versions = [record.version for record in records if record.request_id == asked]
    assert versions == list(range(versions[0], len(records) + 1)) != []
    assert await balances(outside, list(players)) == after
    pending = await outside.ledger.read_pending_stakes(UUID(match_id))
    assert sum(pending.values()) == sum(escrow for _, escrow in after)
    assert (await outside.ledger.check()).holds


class Hold:
    """Holds back the n-th message that is sent through a wire from now on, and all later ones."""

    def __init__(self, wire: Wire, step: int) -> None:
        self._left = step
        self._release = asyncio.Event()
        self.reached = asyncio.Event()
        wire.before_request = self._count

    async def _count(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self.reached.set()
            await self._release.wait()
            raise ConnectionError

    def let_go(self) -> None:
        self._release.set()


class Doomed:
    """A service in its own process that reaches its database through a wire."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = AsyncExitStack()

    async def start(self, dsn: str) -> Doomed:
        self.wire, wire_dsn = await wire_to_database(dsn)
        self.server = Service(wire_dsn, self._folder, **QUIET)
        await self.server.start()
        self._channel = aio.insecure_channel(self.server.address)
        return self

    def players(self, step: int) -> list[Player]:
        players = [Player(self._channel, f"{name}{step}") for name in ("ann", "bob")]
        for player in players:
            player.metadata = self.server.metadata(player.name)
        return players

    async def kill(self) -> None:
        await self.server.kill()
        await self._channel.close()
        await self.wire.close()


@pytest.mark.timeout(300)
@COMMANDS
async def test_R12_8_the_service_is_killed_at_every_step(
    database: Database,
    tmp_path: Path,
    command: Command,
    before: list[str],
    after: list[tuple[int, int]],
) -> None:
    outside = await EventStore.open(database.app_dsn)
    doomed = await Doomed(tmp_path).start(database.app_dsn)
    try:
        for step in range(1, STEPS_MOST, STRIDE):
            starting = asyncio.create_task(Doomed(tmp_path).start(database.app_dsn))
            players = doomed.players(step)
            match_id = await prepare(players, before)
            request_id = new_id()
            hold = Hold(doomed.wire, step)
            calling = asyncio.ensure_future(command(players[0], match_id, request_id))
            reaching = asyncio.ensure_future(hold.reached.wait())
            await asyncio.wait({calling, reaching}, return_when=asyncio.FIRST_COMPLETED)
            reaching.cancel()
            await doomed.server.kill()
            hold.let_go()
            # The last message can be the hint to other replicas, which is sent beside the answer.
            [result] = await asyncio.gather(calling, return_exceptions=True)
            was_answered = not isinstance(result, BaseException)
            assert was_answered or isinstance(result, aio.AioRpcError), result
            await doomed.kill()
            doomed = await starting
            players = doomed.players(step)
            answer = await command(players[0], match_id, request_id)
            await check(outside, match_id, request_id, players, after)
            again = await command(players[0], match_id, request_id)
            assert without_server_time(again) == without_server_time(answer)
            await check(outside, match_id, request_id, players, after)
            if was_answered:
                assert without_server_time(calling.result()) == without_server_time(answer)
                assert step > STRIDE, "no step was interrupted"
                return
        pytest.fail(f"a command has more than {STEPS_MOST} steps")
    finally:
        await doomed.kill()
        await outside.close()


@pytest.mark.timeout(300)
@COMMANDS
async def test_R12_8_postgres_is_killed_at_every_step(
    own_postgres: EmbeddedPostgres,
    command: Command,
    before: list[str],
    after: list[tuple[int, int]],
) -> None:
    dsn = own_postgres.app_dsn()
    async with AsyncExitStack() as stack:
        playing = Playing(dsn, stack)
        outside = await stack.enter_async_context(await EventStore.open(dsn))
        wire, wire_dsn = await wire_to_database(dsn)
        stack.push_async_callback(wire.close)
        replica = await quiet_replica(playing, wire_dsn, retry_timeout_seconds=0.5)
        for step in range(1, STEPS_MOST, STRIDE):
            players = [await playing.player(replica, f"{name}{step}") for name in ("ann", "bob")]
            match_id = await prepare(players, before)
            request_id = new_id()
            death = Death(wire, own_postgres, step)
            async with asyncio.timeout(ANSWERED_S):
                answer = await until_answered(command, players[0], match_id, request_id, death)
            happened = await death.over()

            await check(outside, match_id, request_id, players, after)
            again = await command(players[0], match_id, request_id)
            assert without_server_time(again) == without_server_time(answer)
            await check(outside, match_id, request_id, players, after)
            if not happened:
                assert step > STRIDE, "no step was interrupted"
                return
        pytest.fail(f"a command has more than {STEPS_MOST} steps")


class Death:
    """Kills Postgres after it has answered the n-th message of a wire, and restarts it."""

    def __init__(self, wire: Wire, postgres: EmbeddedPostgres, step: int) -> None:
        self._wire = wire
        self._postgres = postgres
        self._left = step
        self._dying: asyncio.Task[None] | None = None
        wire.before_request = self._count

    async def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._wire.swallowed.clear()
            self._wire.swallows_answers = True
            self._dying = asyncio.create_task(self._die())

    async def _die(self) -> None:
        await self._wire.swallowed.wait()
        postmaster = self._postgres.status().pid
        assert postmaster is not None
        os.kill(postmaster, signal.SIGKILL)
        self._wire.cut()
        await until(lambda: self._postgres.status().pid is None)
        await asyncio.to_thread(self._postgres.start)
        self._wire.repair()

    def check(self) -> None:
        """Raise the error that prevented Postgres from starting, if any."""
        if self._dying is not None and self._dying.done():
            self._dying.result()

    async def over(self) -> bool:
        """Wait until Postgres runs again. Return whether it was killed."""
        self._wire.before_request = None
        if self._dying is not None:
            await self._dying
        return self._dying is not None
