"""R10.5, C12, C13, C14: two replicas enforce the deadlines of many matches, and one is killed.

No player moves at any table. Each deadline takes effect once, never early and soon after it is due,
no matter which replica had the match in memory. Bots continue.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import grpc
import pytest
from grpc import aio

from domain.match.fold import Match
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import ActorKind, LeftReason, Outcome, Record
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from eventstore import EventStore, verify_chain
from service.config import Config
from tests.conftest import Database
from tests.e2e.test_nothing_lost import Service, serving

TURN_S = 1
TABLES = 12
STAKE = 10
TIMED = Settings(
    deck=Deck.DECK_36,
    seats=2,
    throw_in=ThrowIn.THROW_IN_ALL,
    turn_timer_seconds=TURN_S,
    stake_coins=STAKE,
)
WITH_BOT = Settings(
    deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL, turn_timer_seconds=TURN_S
)
ACTS = {"attacked", "take_declared", "passed", "left"}
LATE_S = 10.0
"""Maximum delay after a deadline. The search runs every second, finds a match one second after its
deadline, and the machine may be busy."""


class Caller:
    """Calls one replica as any player."""

    def __init__(self, server: Service, channel: aio.Channel) -> None:
        self._server = server
        self._stub: Any = MatchServiceStub(channel)

    async def call(self, who: str, method: str, **fields: Any) -> Any:
        request = getattr(api, f"{method}Request")(**fields)
        metadata = self._server.metadata(who)
        return await getattr(self._stub, method)(request, metadata=metadata, timeout=20)

    async def table(self, number: int) -> str:
        """Open a table where no player will move: two players with stakes, or one and a bot."""
        has_bot = number % 3 == 2
        opened = await self.call(
            f"ann{number}",
            "OpenTable",
            request_id=str(uuid4()),
            settings=WITH_BOT if has_bot else TIMED,
        )
        match_id: str = opened.view.match_id
        where = {"match_id": match_id}
        await self.call(f"ann{number}", "TakeSeat", request_id=str(uuid4()), **where)
        if has_bot:
            level = BotLevel.BOT_LEVEL_EASY
            fields = {"request_id": str(uuid4()), "level": level, **where}
            await self.call(f"ann{number}", "SeatBot", **fields)
        else:
            await self.call(f"bob{number}", "TakeSeat", request_id=str(uuid4()), **where)
        return match_id

    async def wait_for_timeout(self, match_id: str) -> None:
        """Wait until the clock has acted in a match."""
        request = api.WatchMatchRequest(match_id=match_id)
        watch = self._stub.WatchMatch(request, metadata=self._server.metadata("eve"))
        async with asyncio.timeout(30):
            async for message in watch:
                if message.HasField("event") and message.event.event.HasField("timed_out"):
                    break
        watch.cancel()

    async def watch(self, match_id: str) -> list[int]:
        """Return the versions seen until the match ends or the replica is killed."""
        request = api.WatchMatchRequest(match_id=match_id)
        watch = self._stub.WatchMatch(request, metadata=self._server.metadata("eve"))
        seen: list[int] = []
        try:
            seen += [one.event.version async for one in watch if one.HasField("event")]
        except aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
        return seen


async def check(store: EventStore, match_id: str) -> int:
    """Check that each deadline of a match took effect once and in time. Return their number."""
    stored = await store.read(UUID(match_id))
    verify_chain(UUID(match_id), ((one.record, one.hash) for one in stored))
    records = [Record.FromString(one.record) for one in stored]
    match, timeouts = Match(), 0
    for record, follows in zip(records, [*records[1:], None], strict=True):
        deadline_us = match.deadline_us()
        if record.event.HasField("timed_out"):
            timeouts += 1
            assert deadline_us is not None
            assert match.on_clock() >> record.event.timed_out.seat & 1
            late_s = record.event_time.ToDatetime(UTC).timestamp() - deadline_us / 1e6
            assert -1e-5 <= late_s <= LATE_S
            assert record.actor_kind == ActorKind.ACTOR_KIND_CLOCK
            assert follows is not None
            assert follows.event.WhichOneof("kind") in ACTS
            if match.unbeaten and record.event.timed_out.seat == match.defender:
                # C12: a defender takes, unless it was their third in a row.
                assert follows.event.WhichOneof("kind") in {"take_declared", "left"}
        match.apply(record)
    assert match.result is not None
    assert match.result.outcome == Outcome.OUTCOME_ABANDONED, "C13: no match waits forever"
    left = next(one.event.left for one in records if one.event.HasField("left"))
    assert left.reason == LeftReason.LEFT_REASON_TIMEOUTS
    return timeouts


@pytest.mark.timeout(180)
async def test_C14_R10_5_each_deadline_takes_effect_once_when_a_replica_is_killed(
    database: Database, tmp_path: Path
) -> None:
    started = datetime.now(UTC)
    async with (
        serving(database.app_dsn, tmp_path) as first,
        serving(database.app_dsn, tmp_path) as second,
        aio.insecure_channel(first.address) as to_first,
        aio.insecure_channel(second.address) as to_second,
    ):
        here, there = Caller(first, to_first), Caller(second, to_second)
        matches = [await (here, there)[n % 2].table(n) for n in range(TABLES)]
        # Half of the matches have timers on both replicas, the others on the one that opened them.
        dying = [asyncio.create_task(here.watch(match_id)) for match_id in matches[::2]]
        living = [asyncio.create_task(there.watch(match_id)) for match_id in matches]
        await there.wait_for_timeout(matches[0])
        await first.kill()
        await asyncio.gather(*dying)
        async with asyncio.timeout(90):
            seen = await asyncio.gather(*living)

    async with await EventStore.open(database.app_dsn) as store:
        for match_id, versions in zip(matches, seen, strict=True):
            assert versions == list(range(1, len(versions) + 1))
            assert versions[-1] == len(await store.read(UUID(match_id)))
            assert await check(store, match_id) >= 3
        far = datetime.now(UTC).replace(year=started.year + 2)
        assert await store.read_due(far, 10) == [], "no deadline is left"
        coins = await store.ledger.check()
        assert coins.holds
        staked = sum(number % 3 != 2 for number in range(TABLES))
        assert coins.issued == 2 * staked * Config().opening_balance_coins
        assert coins.escrow == 0
