"""Replicas of the service on the database of a test, and players on real channels."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast
from uuid import UUID, uuid4

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

from domain import bots
from domain.match.fold import Match, fold
from durak.v1 import match_service_pb2 as api
from durak.v1 import match_service_pb2_grpc as api_grpc
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.events_pb2 import Event, Record
from durak.v1.feed_service_pb2_grpc import add_FeedServiceServicer_to_server
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.standings_service_pb2_grpc import add_StandingsServiceServicer_to_server
from durak.v1.table_pb2 import Move, Phase, TableView
from durak.v1.wallet_service_pb2_grpc import add_WalletServiceServicer_to_server
from eventstore import EventStore, verify_chain
from eventstore import Limits as StoreLimits
from service.config import Config
from service.feeds.servicer import FeedService
from service.matches.servicer import add_to_server
from service.rpc.failures import Failures
from service.rpc.limits import Limits
from service.rpc.revocations import Revocations
from service.rpc.telemetry import open_telemetry
from service.rpc.token_keys import DevelopmentKey
from service.server import build_engine, build_interceptor
from service.standings.servicer import StandingsService
from service.supervisor import Supervisor
from service.times import system_now_us
from service.wallet.servicer import WalletService
from service.watchdog import Watchdog

KEY = DevelopmentKey(Ed25519PrivateKey.generate())
SETTINGS = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL, draw_allowed=True)
DEADLINE_S = 20.0


class Clock:
    """The clock of a replica: that of the system, plus the time that a test adds."""

    def __init__(self) -> None:
        self.ahead_us = 0

    def __call__(self) -> int:
        return system_now_us() + self.ahead_us

    def advance(self, seconds: float) -> None:
        self.ahead_us += round(seconds * 1_000_000)


class Replica:
    """One replica of the service in the process of the test: a store, an engine, a gRPC server."""

    def __init__(self, store: EventStore, config: Config, now_us: Callable[[], int]) -> None:
        self.store = store
        self.config = config
        self.limits = Limits(config)
        failures = Failures()
        self._supervisor = Supervisor(failures, Watchdog(0.0))
        self.engine = build_engine(store, config, self.limits, failures, now_us)
        self.interceptor = build_interceptor(
            config, KEY, Revocations(), self.limits, failures, open_telemetry(config)
        )
        self.server = aio.server(interceptors=[self.interceptor])
        add_to_server(self.engine.servicer, self.server)
        feeds = FeedService(self.engine.feeds, self.limits)
        add_FeedServiceServicer_to_server(feeds, self.server)
        add_WalletServiceServicer_to_server(WalletService(store, config, now_us), self.server)
        ratings = StandingsService(store.standings, self.engine.matches, config)
        add_StandingsServiceServicer_to_server(ratings, self.server)
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self._stack = AsyncExitStack()
        self._is_stopped = False

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        await self._stack.enter_async_context(self.engine.running(self._supervisor))
        await self.server.start()

    async def stop(self) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            self.interceptor.drain()
            await asyncio.wait_for(self.limits.idle(), DEADLINE_S)
            await self.server.stop(1)
            await self._stack.aclose()

    async def die(self) -> None:
        """Stop abruptly, without draining. Timers and bots stop too."""
        self._is_stopped = True
        self.engine.clock.close()
        await self.server.stop(None)
        await self._stack.aclose()


class Playing:
    """The replicas and players of one test."""

    def __init__(self, dsn: str, stack: AsyncExitStack) -> None:
        self.dsn = dsn
        self.stack = stack

    async def replica(self, now_us: Callable[[], int] = system_now_us, **settings: Any) -> Replica:
        settings = {
            "caller_calls_per_second": 0,
            "deadline_scan_interval_seconds": 0.1,
            "bot_think_seconds_min": 0,
            "opening_free_matches_min": 0,
            **settings,
        }
        limits = StoreLimits(retry_timeout_seconds=2)
        store = await self.stack.enter_async_context(await EventStore.open(self.dsn, limits))
        replica = Replica(store, Config(**settings), now_us)
        self.stack.push_async_callback(replica.stop)
        await replica.start()
        return replica

    async def player(
        self, replica: Replica, name: str, lifetime_s: int = 3600, *, is_slow: bool = False
    ) -> Player:
        """A player on another channel. The transport of a slow player buffers little."""
        options = [("grpc.use_local_subchannel_pool", 1)]
        if is_slow:
            options += [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1024)]
        channel = aio.insecure_channel(replica.address, options=options)
        self.stack.push_async_callback(channel.close)
        return Player(channel, name, lifetime_s)


@pytest.fixture
async def playing(database: Any) -> AsyncIterator[Playing]:
    async with AsyncExitStack() as stack:
        yield Playing(database.app_dsn, stack)


def new_id() -> str:
    return str(uuid4())


class Player:
    """A player with a channel and a token."""

    def __init__(self, channel: aio.Channel, name: str, lifetime_s: int = 3600) -> None:
        token = KEY.mint(name, issuer="durak", audience="durak", lifetime_seconds=lifetime_s)
        self.name = name
        self.channel = channel
        self.metadata: tuple[tuple[str, str], ...] = (("authorization", f"Bearer {token}"),)
        self.stub = api_grpc.MatchServiceStub(channel)

    async def call(self, method: str, request: Any) -> Any:
        return await getattr(self.stub, method)(request, metadata=self.metadata, timeout=DEADLINE_S)

    async def open(self, settings: Settings = SETTINGS, request_id: str = "") -> TableView:
        request = api.OpenTableRequest(request_id=request_id or new_id(), settings=settings)
        return cast("TableView", (await self.call("OpenTable", request)).view)

    async def sit(self, match_id: str, **fields: Any) -> TableView:
        fields = {"request_id": new_id(), **fields}
        return cast(
            "TableView",
            (await self.call("TakeSeat", api.TakeSeatRequest(match_id=match_id, **fields))).view,
        )

    async def seat_bot(self, match_id: str, **fields: Any) -> TableView:
        fields = {"request_id": new_id(), "level": BotLevel.BOT_LEVEL_EASY, **fields}
        return cast(
            "TableView",
            (await self.call("SeatBot", api.SeatBotRequest(match_id=match_id, **fields))).view,
        )

    async def play(self, match_id: str, move: Move, **fields: Any) -> TableView:
        fields = {"request_id": new_id(), **fields}
        request = api.PlayRequest(match_id=match_id, move=move, **fields)
        return cast("TableView", (await self.call("Play", request)).view)

    async def get(self, match_id: str) -> TableView:
        return cast(
            "TableView", (await self.call("GetMatch", api.GetMatchRequest(match_id=match_id))).view
        )

    def watch(self, match_id: str, after: int = 0, *, views: bool = False) -> Any:
        request = api.WatchMatchRequest(match_id=match_id, after_version=after, include_views=views)
        return self.stub.WatchMatch(request, metadata=self.metadata)

    def session(self) -> Session:
        return Session(self.stub.PlaySession(metadata=self.metadata))


class Session:
    """A PlaySession that sorts its answers by request id."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self._writing = asyncio.Lock()  # gRPC allows one write at a time
        self._boxes: dict[str, asyncio.Queue[api.PlaySessionResponse]] = {}
        self.messages = 0
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self.call:
            self.messages += 1
            for answer in (message, *message.more):
                self.box(answer.request_id).put_nowait(answer)

    def box(self, request_id: str) -> asyncio.Queue[api.PlaySessionResponse]:
        return self._boxes.setdefault(request_id, asyncio.Queue())

    async def send(self, **kind: Any) -> str:
        request = api.PlaySessionRequest(**kind)
        async with self._writing:
            await self.call.write(request)
        body = getattr(request, request.WhichOneof("kind") or "")
        return str(body.request_id)

    async def answer(self, request_id: str) -> api.PlaySessionResponse:
        return await asyncio.wait_for(self.box(request_id).get(), DEADLINE_S)

    async def ask(self, **kind: Any) -> api.PlaySessionResponse:
        return await self.answer(await self.send(**kind))

    async def close(self) -> None:
        await self.call.done_writing()
        await asyncio.wait_for(self.reading, DEADLINE_S)


# --- answers --------------------------------------------------------------------------------------


def reason_of(error: aio.AioRpcError | status_pb2.Status) -> ErrorReason.ValueType:
    """The reason in a rich error, after checking that code and status agree."""
    if isinstance(error, aio.AioRpcError):
        trailing = {key: value for key, value in error.trailing_metadata() or ()}  # noqa: C416
        status = status_pb2.Status.FromString(cast("bytes", trailing["grpc-status-details-bin"]))
        assert status.code == error.code().value[0]
    else:
        status = error
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    return ErrorReason.Value(f"ERROR_REASON_{info.reason}")


@asynccontextmanager
async def refused(reason: ErrorReason.ValueType) -> AsyncIterator[None]:
    """Assert that the call inside is refused for this reason."""
    with pytest.raises(aio.AioRpcError) as caught:
        yield
    assert caught.value.code() not in {grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL}
    assert ErrorReason.Name(reason_of(caught.value)) == ErrorReason.Name(reason)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition becomes true."""
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - conditions of the service, which has no events
            await asyncio.sleep(0.005)


async def take(call: Any, count: int) -> list[api.WatchMatchResponse]:
    """The next messages of a watch."""
    async with asyncio.timeout(DEADLINE_S):
        return [await call.read() for _ in range(count)]


async def rest_of(call: Any) -> AsyncIterator[api.WatchMatchResponse]:
    """The remaining messages of a watch until it ends."""
    while (message := await asyncio.wait_for(call.read(), DEADLINE_S)) is not aio.EOF:
        yield message


async def take_until_caught_up(call: Any) -> list[api.MatchEvent]:
    """The events of a watch before `caught_up`, whose version is checked."""
    events: list[api.MatchEvent] = []
    async with asyncio.timeout(DEADLINE_S):
        while (message := await call.read()).WhichOneof("kind") == "event":
            events.append(message.event)
    assert message.WhichOneof("kind") == "caught_up"
    if events:
        assert message.caught_up.version == events[-1].version
    return events


async def log_of(store: EventStore, match_id: str) -> list[Record]:
    """The records of a match. Checks their hash chain and versions."""
    stored = await store.read(UUID(match_id))
    verify_chain(UUID(match_id), ((one.record, one.hash) for one in stored))
    records = [Record.FromString(one.record) for one in stored]
    assert [record.version for record in records] == list(range(1, len(records) + 1))
    return records


async def folded(store: EventStore, match_id: str) -> Match:
    return fold(await log_of(store, match_id))


def without_server_time(view: TableView) -> TableView:
    """A copy of a view without the server's time: the rest depends on version and viewer only."""
    assert view.HasField("server_time")
    copied = TableView()
    copied.CopyFrom(view)
    copied.ClearField("server_time")
    return copied


def easy_move(view: TableView) -> Move:
    """The move that the easy bot would make in place of the player."""
    return bots.choose_move(BotLevel.BOT_LEVEL_EASY, view, [], 0)


def has_move(view: TableView) -> bool:
    """Whether the table waits for this player."""
    return view.HasField("your_seat") and view.your_seat in view.on_clock


async def play_out(players: list[Player], match_id: str) -> TableView:
    """Play a match to its end like easy bots, each player by their own watch."""

    async def one(player: Player) -> TableView:
        watch = player.watch(match_id, views=True)
        async for message in watch:
            if message.WhichOneof("kind") != "view" or not has_move(message.view):
                continue
            seen = message.view
            try:
                await player.play(match_id, easy_move(seen), expected_version=seen.version)
            except aio.AioRpcError as error:
                if reason_of(error) != ErrorReason.ERROR_REASON_STALE_VERSION:
                    raise
        return await player.get(match_id)

    async with asyncio.timeout(60):
        views = await asyncio.gather(*(one(player) for player in players))
    assert all(view.phase == Phase.PHASE_ENDED for view in views)
    return views[0]


async def seated(players: list[Player], settings: Settings = SETTINGS) -> str:
    """Open a table for the first player and seat all players in this order."""
    match_id = (await players[0].open(settings)).match_id
    for seat, player in enumerate(players):
        await player.sit(match_id, seat=seat)
    return match_id


def kinds(events: list[Event]) -> list[str]:
    return [event.WhichOneof("kind") or "" for event in events]
