"""Feeds of players for the tests: read over real channels, and computed from whole logs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import UUID

from grpc import aio

from domain.match.fold import Match
from durak.v1 import feed_service_pb2 as api
from durak.v1.events_pb2 import Record
from durak.v1.feed_service_pb2_grpc import FeedServiceStub
from tests.service.playing import DEADLINE_S, Player

MATCH_KINDS = (
    "your_turn",
    "rematch_offered",
    "seat_taken",
    "seat_vacated",
    "dealt",
    "match_over",
)


class Device(NamedTuple):
    """A channel and a token."""

    channel: aio.Channel
    metadata: tuple[tuple[str, str], ...]


class Reader:
    """A device of a player: it reads feeds one after the other and keeps all that it receives."""

    def __init__(self, player: Player | Device, position: str = "") -> None:
        self.player = player
        self.position = position
        self.news: list[api.PlayerNews] = []
        self.heartbeats = 0
        self.is_caught_up = False

    def open(self) -> Any:
        stub: Any = FeedServiceStub(self.player.channel)
        request = api.WatchPlayerRequest(after_position=self.position)
        return stub.WatchPlayer(request, metadata=self.player.metadata)

    def take(self, message: api.WatchPlayerResponse) -> None:
        assert message.position
        self.position = message.position
        self.news += message.news
        self.is_caught_up |= message.caught_up
        self.heartbeats += not (message.news or message.caught_up)

    async def read_until(self, done: Callable[[Reader], bool]) -> None:
        """Read on one feed until a condition is true, and close it."""
        call = self.open()
        try:
            async with asyncio.timeout(DEADLINE_S):
                while not done(self):
                    self.take(await call.read())
        finally:
            call.cancel()

    async def drain(self, call: Any) -> None:
        """Read a feed until it ends."""
        async with asyncio.timeout(DEADLINE_S):
            while (message := await call.read()) is not aio.EOF:
                self.take(message)

    async def catch_up(self) -> None:
        """Read until nothing is missing."""
        self.is_caught_up = False
        await self.read_until(lambda reader: reader.is_caught_up)

    @property
    def kinds(self) -> list[str]:
        return [one.WhichOneof("kind") or "" for one in self.news]

    def of_kind(self, kind: str) -> list[Any]:
        return [getattr(one, kind) for one in self.news if one.WhichOneof("kind") == kind]

    def of_match(self, match_id: str) -> list[api.PlayerNews]:
        """Return the news of a match that come from its log, in the order of arrival."""
        return [
            one
            for one in self.news
            if one.WhichOneof("kind") in MATCH_KINDS
            and getattr(one, one.WhichOneof("kind") or "").match_id == match_id
        ]


@asynccontextmanager
async def reading(reader: Reader) -> AsyncIterator[Reader]:
    """Read a feed during the block, beginning when it has caught up."""
    call = reader.open()

    async def read() -> None:
        while True:
            reader.take(await call.read())

    async with asyncio.timeout(DEADLINE_S):
        while not reader.is_caught_up:
            reader.take(await call.read())
    task = asyncio.create_task(read())
    try:
        yield reader
    finally:
        assert not task.done(), "the feed has ended"
        call.cancel()
        task.cancel()
        await asyncio.wait({task})


def expected_news(records: Sequence[Record], player_id: str) -> list[tuple[str, int]]:
    """Return the kinds and versions of a match's news for a player, by the whole log.

    This follows the text of feed_service.proto, event by event, and shares no code with the
    service: a turn is news if its deadline or the seats on the clock are new after a command.
    """
    match = Match(UUID(bytes=records[0].match_id).bytes)
    found: list[tuple[str, int]] = []
    is_mine, on_clock = False, False
    clock_us = -1
    for at, record in enumerate(records):
        seats = {seat.player_id for seat in match.table.seats if seat} if match.version else set()
        match.apply(record)
        table = match.table
        seats |= {seat.player_id for seat in table.seats if seat}
        is_mine = player_id in {table.owner_id, *table.reserved_for, *seats}
        kind = {
            "seat_taken": "seat_taken",
            "seat_vacated": "seat_vacated",
            "dealt": "dealt",
            "finished": "match_over",
        }.get(record.event.WhichOneof("kind") or "")
        if record.version == 1 and player_id in table.reserved_for:
            kind = "rematch_offered"
        if kind and is_mine:
            found.append((kind, record.version))
        following = records[at + 1 : at + 2]
        if following and _command(following[0]) == _command(record):
            continue
        seat = table.seat_of(player_id)
        waits = seat is not None and bool(match.on_clock() >> seat & 1)
        if waits and (not on_clock or match.clock_record.version > clock_us):
            found.append(("your_turn", record.version))
        on_clock, clock_us = waits, record.version
    return found


def _command(record: Record) -> tuple[Any, ...]:
    time = record.event_time
    return record.actor_kind, record.actor_id, record.request_id, time.seconds, time.nanos


def kinds_and_versions(news: Sequence[api.PlayerNews]) -> list[tuple[str, int]]:
    kinds = [one.WhichOneof("kind") or "" for one in news]
    return [(kind, getattr(one, kind).version) for kind, one in zip(kinds, news, strict=True)]
