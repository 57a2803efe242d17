"""Acknowledged commands survive a SIGKILL of the service and of Postgres.

Clients play matches in sequence and retry with the same request id until they get a reply. No other
client plays at their tables, so no command may be refused. Every second table has a stake. No coin
may be lost, doubled or left in escrow (R12.8).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc import aio

from domain.audit import audit
from domain.match.fold import Match, fold
from durak.v1 import match_service_pb2 as api
from durak.v1 import match_service_pb2_grpc as api_grpc
from durak.v1.events_pb2 import ActorKind, Record
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Phase, TableView
from eventstore import EmbeddedPostgres, EventStore, StoredRecord, verify_chain
from eventstore.ledger.transfers import TransferKind
from service.config import Config
from service.rpc.status import STATUS_KEY
from service.rpc.token_keys import DevelopmentKey
from tests.service.frame import answer_of
from tests.service.playing import easy_move

TABLES = 24
ACKNOWLEDGED_BETWEEN_KILLS = 500
KILLS = 2
SETTINGS = [
    Settings(
        deck=Deck.DECK_24, seats=2, throw_in=ThrowIn.THROW_IN_ALL, transfer=True, stake_coins=stake
    )
    for stake in (0, 1)
]
PLAYERS_EVENTS = {
    *("table_opened", "seat_taken", "attacked", "defended"),
    *("transferred", "passed", "take_declared", "challenged", "seed_revealed"),
}
"""Every command of these clients causes exactly one of these events, and its consequences."""

SERVE = """
import asyncio
from service.config import Config
from service.server import serve_forever
from service.rpc.logs import configure_logging
config = Config()
configure_logging(config)
asyncio.run(serve_forever(config, lambda server: print(server.address, flush=True)))
"""


class Service:
    """The service in its own process, which can be killed and restarted on the same port."""

    def __init__(self, dsn: str, folder: Path, **settings: str) -> None:
        self.log = folder / "service.log"
        self.key = DevelopmentKey.in_folder(folder)
        self.address = ""
        self.program: tuple[str, ...] = (SERVE,)
        self._process: asyncio.subprocess.Process | None = None
        self._settings = {
            "DURAK_DATABASE_URL": dsn,
            "DURAK_DATA_DIR": str(folder),
            "DURAK_LISTEN_PORT": "0",
            "DURAK_CALLER_CALLS_PER_SECOND": "0",
            "DURAK_OPENING_FREE_MATCHES_MIN": "0",
            **settings,
        }

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", *self.program),
                env={**os.environ, **self._settings},
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), 60)
        self.address = line.decode().strip()
        assert self.address, self.log.read_text()
        self._settings["DURAK_LISTEN_PORT"] = self.address.rpartition(":")[2]

    async def stop(self) -> None:
        """Stop the service gracefully."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(self._process.wait(), 30) == 0, self.log.read_text()

    async def kill(self) -> None:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    def metadata(self, subject: str) -> tuple[tuple[str, str], ...]:
        token = self.key.mint(subject, issuer="durak", audience="durak", lifetime_seconds=600)
        return (("authorization", f"Bearer {token}"),)


@asynccontextmanager
async def serving(dsn: str, folder: Path, **settings: str) -> AsyncIterator[Service]:
    one = Service(dsn, folder, **settings)
    await one.start()
    try:
        yield one
    finally:
        await one.kill()


async def kill_and_start(postgres: EmbeddedPostgres) -> None:
    """Kill Postgres, and start it again once it is gone: a dying server still counts as running."""
    postmaster = postgres.status().pid
    assert postmaster is not None
    os.kill(postmaster, signal.SIGKILL)
    while postgres.status().running:  # noqa: ASYNC110 - its parent is another process
        await asyncio.sleep(0.01)
    await asyncio.to_thread(postgres.start)


async def wait_as_advised(error: aio.AioRpcError) -> None:
    """Wait before a retry as long as RetryInfo says. After a lost connection do not wait."""
    assert error.code() is grpc.StatusCode.UNAVAILABLE, error
    if any(key == STATUS_KEY for key, _ in error.trailing_metadata() or ()):
        (advice,) = (
            one for one in answer_of(error).details if isinstance(one, error_details_pb2.RetryInfo)
        )
        loop = asyncio.get_running_loop()
        advised = loop.create_future()
        delay_s = advice.retry_delay.ToTimedelta().total_seconds()
        loop.call_later(delay_s, advised.set_result, None)
        await advised


class Load:
    """Players and watchers of many tables, and the replies and events that they received."""

    patience_s = 30.0
    """How long to wait for commands to be acknowledged."""

    def __init__(self, server: Service, channel: aio.Channel) -> None:
        self.acknowledged: dict[bytes, tuple[str, str, int]] = {}
        """Maps each request id to the player, the match and the version in the reply."""
        self.watched: dict[str, list[tuple[int, str]]] = {}
        """Maps each match to the version and kind of its events, in the order received."""
        self.retries = 0
        self.resumed = 0
        self._server = server
        self._stub: Any = api_grpc.MatchServiceStub(channel)
        self._more = asyncio.Condition()
        self._enough = False
        self._tasks = [asyncio.create_task(self._play_at(table)) for table in range(TABLES)]

    async def acknowledges(self, count: int) -> None:
        """Wait until `count` more commands are acknowledged."""
        goal = len(self.acknowledged) + count
        async with asyncio.timeout(self.patience_s), self._more:
            await self._more.wait_for(
                lambda: len(self.acknowledged) >= goal or any(t.done() for t in self._tasks)
            )
        assert len(self.acknowledged) >= goal, [t for t in self._tasks if t.done()]

    async def finish(self) -> None:
        """Wait until the running matches have ended."""
        self._enough = True
        async with asyncio.timeout(40):
            await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _play_at(self, table: int) -> None:
        try:
            while not self._enough:
                await self._play_match(table)
        finally:
            async with self._more:
                self._more.notify_all()

    async def _play_match(self, table: int) -> None:
        players = [f"ann{table}", f"bob{table}"]
        opened = await self._command(players[0], "OpenTable", settings=SETTINGS[table % 2])
        match_id = opened.match_id
        watching = asyncio.create_task(self._watch(f"eve{table}", match_id))
        try:
            for seat, player in enumerate(players):
                await self._command(player, "TakeSeat", match_id=match_id, seat=seat)
            view = await self._get(players[0], match_id)
            while view.phase == Phase.PHASE_PLAYING:
                player = players[view.on_clock[0]]
                view = await self._get(player, match_id)
                view = await self._command(
                    player,
                    "Play",
                    match_id=match_id,
                    move=easy_move(view),
                    expected_version=view.version,
                )
            await watching
        finally:
            watching.cancel()

    async def _command(self, who: str, method: str, **fields: Any) -> TableView:
        request_id = uuid4()
        request = getattr(api, f"{method}Request")(request_id=str(request_id), **fields)
        view = await self._call(who, method, request)
        await self._acknowledge(request_id.bytes, who, view)
        return view

    async def _acknowledge(self, request_id: bytes, who: str, view: TableView) -> None:
        self.acknowledged[request_id] = (who, view.match_id, view.version)
        async with self._more:
            self._more.notify_all()

    async def _get(self, who: str, match_id: str) -> TableView:
        return await self._call(who, "GetMatch", api.GetMatchRequest(match_id=match_id))

    async def _call(self, who: str, method: str, request: Any) -> TableView:
        """Repeat a call until it is answered. Return the view."""
        metadata = self._server.metadata(who)
        while True:
            try:
                answer = await getattr(self._stub, method)(
                    request, metadata=metadata, wait_for_ready=True
                )
            except aio.AioRpcError as error:
                self.retries += 1
                await wait_as_advised(error)
            else:
                return cast("TableView", answer.view)

    async def _watch(self, who: str, match_id: str) -> None:
        seen = self.watched.setdefault(match_id, [])
        while not seen or seen[-1][1] != "finished":
            request = api.WatchMatchRequest(
                match_id=match_id, after_version=seen[-1][0] if seen else 0
            )
            watch = self._stub.WatchMatch(
                request, metadata=self._server.metadata(who), wait_for_ready=True
            )
            try:
                async for message in watch:
                    if message.WhichOneof("kind") == "event":
                        kind = message.event.event.WhichOneof("kind")
                        seen.append((message.event.version, kind))
            except aio.AioRpcError as error:
                self.resumed += 1
                await wait_as_advised(error)


@asynccontextmanager
async def loaded(server: Service) -> AsyncIterator[Load]:
    options = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200)]
    async with aio.insecure_channel(server.address, options=options) as channel:
        load = Load(server, channel)
        try:
            yield load
        finally:
            await load.close()


async def check(load: Load, dsn: str, *, players: int = TABLES) -> None:
    """Check that log and ledger hold each acknowledged and watched command once, and no more.

    `players` have sat at tables with stakes, and so have opened an account.
    """
    found: dict[bytes, tuple[str, str, int]] = {}
    matches = set()
    async with await EventStore.open(dsn) as store:
        async for stream_id, stored in store.read_all():
            matches.add(str(stream_id))
            records = check_match(stream_id, stored)
            seen = [(one.version, one.event.WhichOneof("kind")) for one in records]
            assert load.watched[str(stream_id)] == seen
            for request_id, command in commands_of(records):
                assert request_id not in found, "a command was stored twice"
                found[request_id] = (command[0].actor_id, str(stream_id), command[-1].version)
            await check_coins(store, stream_id, fold(records))
        coins = await store.ledger.check()
        assert coins.holds
        assert (coins.issued, coins.escrow) == (players * Config().opening_balance_coins, 0)
    assert matches == set(load.watched)
    assert found == load.acknowledged


def check_match(stream_id: UUID, stored: list[StoredRecord]) -> list[Record]:
    """Return the records of a finished match. Check that they are complete and follow the rules."""
    assert [one.version for one in stored] == list(range(1, len(stored) + 1))
    verify_chain(stream_id, ((one.record, one.hash) for one in stored))
    report = audit(
        ((one.version, one.record, one.hash) for one in stored), match_id=stream_id.bytes
    )
    assert report.ok, report.findings
    records = [Record.FromString(one.record) for one in stored]
    assert fold(records).version == len(records)
    assert records[-1].event.WhichOneof("kind") == "finished"
    return records


async def check_coins(store: EventStore, stream_id: UUID, match: Match) -> None:
    """Check that an ended match paid each seat its share and that no other coins moved."""
    assert match.result is not None
    balance = {seat.player_id: 0 for seat in match.table.seats if seat is not None}
    for transfer in await store.ledger.list_transfers_of(stream_id):
        gives = transfer.kind in (TransferKind.REFUND, TransferKind.PAYOUT)
        takes = transfer.kind is TransferKind.STAKE
        balance[transfer.player] += transfer.coins * (gives - takes)
    stake = match.table.settings.stake_coins
    shares = [one.share_coins - stake for one in match.result.results]
    assert list(balance.values()) == shares


def commands_of(records: list[Record]) -> list[tuple[bytes, list[Record]]]:
    """Group the records by request id. Check that each group is one command of one player.

    A deal that a seat prevented is cancelled by the server (R3.6).
    """
    commands: dict[bytes, list[Record]] = {}
    for one in records:
        if one.event.finished.prevented_by:
            assert one.actor_kind == ActorKind.ACTOR_KIND_CLOCK
            continue
        assert one.actor_kind == ActorKind.ACTOR_KIND_PLAYER
        commands.setdefault(one.request_id, []).append(one)
    for command in commands.values():
        assert command[-1].version - command[0].version == len(command) - 1
        assert len({one.actor_id for one in command}) == 1
        kinds = [one.event.WhichOneof("kind") for one in command]
        assert len([kind for kind in kinds if kind in PLAYERS_EVENTS]) == 1, kinds
    return list(commands.items())


@pytest.mark.timeout(120)
async def test_killing_the_service_loses_nothing_and_does_nothing_twice(
    own_postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    async with serving(own_postgres.app_dsn(), tmp_path) as server, loaded(server) as load:
        for _ in range(KILLS):
            await load.acknowledges(ACKNOWLEDGED_BETWEEN_KILLS)
            await server.kill()
            await server.start()
        await load.finish()
        assert load.retries >= 1, "no call was cut off"
        assert load.resumed >= TABLES, "watches were not cut off"
        await check(load, own_postgres.app_dsn())
        assert '"event": "call failed"' not in server.log.read_text()


@pytest.mark.timeout(120)
async def test_killing_postgres_loses_nothing_and_does_nothing_twice(
    own_postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    async with serving(own_postgres.app_dsn(), tmp_path) as server, loaded(server) as load:
        for _ in range(KILLS):
            await load.acknowledges(ACKNOWLEDGED_BETWEEN_KILLS)
            await kill_and_start(own_postgres)
        await load.finish()
        await check(load, own_postgres.app_dsn())
        assert '"event": "call failed"' not in server.log.read_text()
