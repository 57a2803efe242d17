"""The clock (R10): each deadline is enforced exactly once, with or without clients."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from domain.match.fold import fold
from durak.v1.events_pb2 import ActorKind, LeftReason, Outcome, Record
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Phase
from tests.service.playing import (
    Clock,
    Player,
    Playing,
    easy_move,
    has_move,
    kinds,
    log_of,
    playing,
    rest_of,
    seated,
    take_until_caught_up,
    until,
)

__all__ = ["playing"]

TIMED = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL, turn_timer_seconds=1)
UNTIMED = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL)
DAY_S = 86_400


def check_timeouts(records: list[Record], turn_s: float) -> int:
    """Check that no deadline was enforced early and that the server acted. Returns their number."""
    times = {record.version: record.event_time.ToDatetime() for record in records}
    found = 0
    for record in records:
        if not record.event.HasField("timed_out"):
            continue
        found += 1
        before = fold(records[: record.version - 1])
        assert before.on_clock() >> record.event.timed_out.seat & 1
        waited = times[record.version] - datetime.fromtimestamp(before.clock_us / 1e6, UTC).replace(
            tzinfo=None
        )
        assert waited >= timedelta(seconds=turn_s) - timedelta(microseconds=2)
        act = records[record.version].event.WhichOneof("kind")
        assert act in {"attacked", "take_declared", "passed", "left"}
        assert record.actor_kind == ActorKind.ACTOR_KIND_CLOCK
    return found


async def two_players(playing: Playing, clock: Clock | None = None) -> list[Player]:
    replica = await playing.replica(now_us=clock or Clock())
    return [await playing.player(replica, name) for name in ("ann", "bob")]


async def test_C12_C13_R10_2_the_server_acts_for_a_player_whose_time_is_over(
    playing: Playing,
) -> None:
    players = await two_players(playing)
    match_id = await seated(players, TIMED)
    watch = players[0].watch(match_id, 4)
    await take_until_caught_up(watch)
    events = []
    async for message in rest_of(watch):
        if message.HasField("event"):
            events.append(message.event.event)
        if len(events) == 4:
            break
    # The server leads for the attacker, then takes for the defender.
    assert kinds(events) == ["timed_out", "attacked", "timed_out", "take_declared"]


async def test_R10_3_two_replicas_enforce_each_deadline_once(playing: Playing) -> None:
    replicas = [await playing.replica() for _ in range(2)]
    players = [
        await playing.player(replica, name)
        for replica, name in zip(replicas, ("ann", "bob"), strict=True)
    ]
    match_id = await seated(players, TIMED)
    watches = [
        player.watch(match_id) for player in players
    ]  # the match is live on both, each with a timer
    seen = await asyncio.gather(*(_versions(watch) for watch in watches))
    records = await log_of(replicas[0].store, match_id)
    assert seen[0] == seen[1] == list(range(1, len(records) + 1))
    assert check_timeouts(records, 1) >= 3
    assert records[-2].event.left.reason == LeftReason.LEFT_REASON_TIMEOUTS
    assert records[-1].event.finished.outcome == Outcome.OUTCOME_ABANDONED
    assert sum(replica.engine.matches.context.counters.timeouts for replica in replicas) == (
        sum(record.event.HasField("timed_out") for record in records)
    )


async def _versions(watch: object) -> list[int]:
    return [one.event.version async for one in rest_of(watch) if one.HasField("event")]


async def test_C14_R10_5_another_replica_enforces_the_deadline_of_one_that_died(
    playing: Playing,
) -> None:
    clock = Clock()
    first = await playing.replica(now_us=clock)
    players = [await playing.player(first, name) for name in ("ann", "bob")]
    match_id = await seated(players, TIMED)
    await first.die()
    second = await playing.replica(now_us=clock)
    assert len(second.engine.matches) == 0
    clock.advance(10)
    guest = await playing.player(second, "guest")
    watch = guest.watch(match_id, 4)
    events = []
    async for message in rest_of(watch):
        if message.HasField("event"):
            events.append(message.event.event)
        if len(events) == 2:
            break
    assert kinds(events) == ["timed_out", "attacked"]


async def test_a_deadline_is_enforced_once_when_all_replicas_search_at_once(
    playing: Playing,
) -> None:
    clock = Clock()
    replicas = [
        await playing.replica(now_us=clock, deadline_scan_interval_seconds=600) for _ in range(3)
    ]
    players = [await playing.player(replicas[0], name) for name in ("ann", "bob")]
    tables = [await seated(players, TIMED) for _ in range(5)]
    clock.advance(3)
    found = await asyncio.gather(*(replica.engine.clock.scan() for replica in replicas))
    assert found == [5, 5, 5]
    for match_id in tables:
        records = await log_of(replicas[0].store, match_id)
        assert kinds([record.event for record in records[4:]]) == ["timed_out", "attacked"]
        check_timeouts(records, 1)


async def test_R10_8_a_table_that_does_not_fill_is_cancelled(playing: Playing) -> None:
    clock = Clock()
    replica = await playing.replica(now_us=clock, deadline_scan_interval_seconds=600)
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open(UNTIMED)).match_id
    await ann.sit(match_id)
    clock.advance(DAY_S - 60)
    assert await replica.engine.clock.scan() == 0
    clock.advance(120)
    assert await replica.engine.clock.scan() == 1
    view = await ann.get(match_id)
    assert view.result.outcome == Outcome.OUTCOME_CANCELLED
    assert await replica.engine.clock.scan() == 0


async def test_R10_8_a_player_who_does_not_move_for_a_day_has_left(playing: Playing) -> None:
    clock = Clock()
    replica = await playing.replica(now_us=clock, deadline_scan_interval_seconds=600)
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await seated(players, UNTIMED)
    leader = players[0] if has_move(await players[0].get(match_id)) else players[1]
    clock.advance(DAY_S - 60)
    await leader.play(match_id, easy_move(await leader.get(match_id)))
    clock.advance(120)
    # The wake-up in the store is that of the deal. The search finds it and reschedules it.
    assert await replica.engine.clock.scan() == 1
    assert (await leader.get(match_id)).phase == Phase.PHASE_PLAYING
    assert await replica.engine.clock.scan() == 0
    clock.advance(DAY_S)
    assert await replica.engine.clock.scan() == 1
    records = await log_of(replica.store, match_id)
    assert records[-2].event.left.reason == LeftReason.LEFT_REASON_IDLE
    assert records[-2].event.left.seat != players.index(leader)


async def test_an_ended_match_has_no_wake_up_and_no_timer(playing: Playing) -> None:
    clock = Clock()
    replica = await playing.replica(now_us=clock, deadline_scan_interval_seconds=600)
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await seated(players, TIMED)
    live = replica.engine.matches.get(UUID(match_id).bytes)
    for _ in range(40):
        clock.advance(3)
        await replica.engine.clock.scan()
        if live.match.phase == Phase.PHASE_ENDED:
            break
    else:
        pytest.fail("three timeouts in a row did not end the match")
    far = datetime.now(UTC) + timedelta(days=400)
    assert await replica.store.read_due(far, 10) == []
    await until(lambda: live.match_id not in replica.engine.clock.timers)
