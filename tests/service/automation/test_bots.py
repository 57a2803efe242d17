"""Bots (R14): they play to the end, also when the replica that moves them dies."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from domain.match.fold import Match
from domain.match.move_messages import attack
from domain.match.view import redact
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.events_pb2 import ActorKind, Challenged, Event
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Phase, TableView
from tests.service.playing import (
    Playing,
    easy_move,
    folded,
    has_move,
    log_of,
    play_out,
    playing,
    refused,
    rest_of,
)

__all__ = ["playing"]

RESULT_S = 110.0


def table_of(seats: int, **settings: Any) -> Settings:
    return Settings(
        deck=Deck.DECK_52 if seats > 4 else Deck.DECK_36,
        seats=seats,
        throw_in=ThrowIn.THROW_IN_ALL,
        draw_allowed=True,
        **settings,
    )


async def to_the_end(watch: Any) -> None:
    async with asyncio.timeout(RESULT_S):
        async for _ in rest_of(watch):
            pass


@pytest.mark.parametrize("seats", [2, 3, 4, 5, 6])
async def test_R14_2_easy_bots_play_a_match_to_its_end(playing: Playing, seats: int) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open(table_of(seats, transfer=True))).match_id
    for _ in range(seats):
        await ann.seat_bot(match_id)
    await to_the_end(ann.watch(match_id))
    records = await log_of(replica.store, match_id)
    assert records[-1].event.HasField("finished")
    moves = [record for record in records if record.actor_kind == ActorKind.ACTOR_KIND_BOT]
    assert not any(record.actor_id or record.request_id for record in moves)
    assert not any(record.event.HasField("timed_out") for record in records)
    times = {record.event_time.ToNanoseconds() for record in moves}
    assert replica.engine.matches.context.counters.bot_moves == len(times)


async def test_R14_3_normal_bots_play_a_match_to_its_end(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open(table_of(3, transfer=True, tricky=True))).match_id
    for _ in range(3):
        await ann.seat_bot(match_id, level=BotLevel.BOT_LEVEL_NORMAL)
    await to_the_end(ann.watch(match_id))
    assert (await folded(replica.store, match_id)).phase == Phase.PHASE_ENDED


@pytest.mark.parametrize("settings", [{"transfer": True}, {"tricky": True}])
async def test_R14_4_hard_bots_play_a_match_to_its_end(
    playing: Playing, settings: dict[str, Any]
) -> None:
    replica = await playing.replica(bot_think_seconds_max=RESULT_S)
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open(table_of(2, **settings))).match_id
    for _ in range(2):
        await ann.seat_bot(match_id, level=BotLevel.BOT_LEVEL_HARD)
    await to_the_end(ann.watch(match_id))
    assert (await folded(replica.store, match_id)).phase == Phase.PHASE_ENDED
    assert not replica.engine.matches.context.counters.bot_moves_fallback


async def test_a_player_plays_against_bots(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open(table_of(4, transfer=True))).match_id
    for seat in (0, 1, 3):
        await ann.seat_bot(match_id, seat=seat)
    await ann.sit(match_id)
    view = await play_out([ann], match_id)
    assert (await folded(replica.store, match_id)).version == view.version


async def test_bots_play_to_the_end_at_a_tricky_table(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open(table_of(4, tricky=True, transfer=True))).match_id
    for _ in range(4):
        await ann.seat_bot(match_id)
    await to_the_end(ann.watch(match_id))
    assert (await folded(replica.store, match_id)).phase == Phase.PHASE_ENDED


async def test_R11_5_a_hard_bot_challenges_a_card_thrown_onto_its_take(playing: Playing) -> None:
    replica = await playing.replica(bot_think_seconds_max=RESULT_S)
    ann = await playing.player(replica, "ann")
    match_id, thrown = "", 0
    view = TableView(phase=Phase.PHASE_ENDED)
    challenged = Challenged()
    async with asyncio.timeout(RESULT_S):
        while not thrown:
            if view.phase == Phase.PHASE_ENDED:  # in some matches the bot takes nothing
                match_id = (await ann.open(table_of(2, tricky=True))).match_id
                await ann.sit(match_id, seat=0)
                await ann.seat_bot(match_id, seat=1, level=BotLevel.BOT_LEVEL_HARD)
                view = await ann.get(match_id)
            illegal = [card for card in view.hand if card not in view.moves.attack]
            onto_take = view.taking and view.defender == 1 and view.attacks_left and illegal
            if has_move(view):
                move = attack(illegal[0]) if onto_take else easy_move(view)
                view = await ann.play(match_id, move, expected_version=view.version)
                thrown = view.version if onto_take else 0
            else:
                view = await ann.get(match_id)
        async for message in ann.watch(match_id, thrown):
            challenged = message.event.event.challenged
            if message.event.event.HasField("challenged"):
                break
    assert (challenged.seat, challenged.play_version, challenged.upheld) == (1, thrown, True)


async def test_C14_another_replica_takes_over_the_bots_of_one_that_died(playing: Playing) -> None:
    settings: dict[str, Any] = {"bot_turn_seconds": 0.2, "deadline_scan_grace_seconds": 0.1}
    first = await playing.replica(bot_delay_seconds=60, **settings)
    ann = await playing.player(first, "ann")
    match_id = (await ann.open(table_of(3))).match_id
    for _ in range(3):
        await ann.seat_bot(match_id)
    dealt = len(await log_of(first.store, match_id))
    await first.die()  # while its bot waits before the move
    second = await playing.replica(**settings)
    guest = await playing.player(second, "guest")
    await to_the_end(guest.watch(match_id))
    records = await log_of(second.store, match_id)
    assert records[dealt].actor_kind == ActorKind.ACTOR_KIND_BOT
    assert records[-1].event.HasField("finished")


async def test_several_replicas_move_each_bot_once(playing: Playing) -> None:
    replicas = [
        await playing.replica(bot_turn_seconds=0.01, deadline_scan_grace_seconds=0)
        for _ in range(2)
    ]
    ann = await playing.player(replicas[0], "ann")
    match_id = (await ann.open(table_of(2))).match_id
    other = await playing.player(replicas[1], "guest")
    watches = [ann.watch(match_id), other.watch(match_id)]
    for _ in range(2):
        await ann.seat_bot(match_id)

    async def sweep() -> None:
        while not ended.done():
            await asyncio.gather(*(replica.engine.clock.scan() for replica in replicas))

    ended = asyncio.gather(*(to_the_end(watch) for watch in watches))
    await sweep()
    await ended
    match = Match()
    for record in await log_of(replicas[0].store, match_id):
        match.apply(record)  # fails if a move was made twice
    assert match.phase == Phase.PHASE_ENDED


async def test_R14_1_a_bot_gets_only_the_events_shown_to_its_seat(playing: Playing) -> None:
    replica = await playing.replica(bot_delay_seconds=60)
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open(table_of(2))).match_id
    await ann.sit(match_id, seat=0)
    view = await ann.seat_bot(match_id, seat=1)
    if has_move(view):
        await ann.play(match_id, easy_move(view))
    live = replica.engine.matches.get(UUID(match_id).bytes)
    records = await log_of(replica.store, match_id)
    trump_card = live.match.trump_card
    encoded = replica.engine.histories.shown_to(live.match_id, 1, trump_card)
    shown = [Event.FromString(event) for event in encoded]
    assert shown == [redact(record.event, 1, trump_card) for record in records]
    assert set(shown[3].dealt.hands[0].cards) <= {0, trump_card}


async def test_the_seed_of_a_bot_is_hidden(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open(table_of(2))).match_id
    await ann.seat_bot(match_id)
    records = await log_of(replica.store, match_id)
    assert records[1].event.seat_taken.bot_seed
    watch = ann.watch(match_id, 1)
    shown = (await watch.read()).event.event
    assert shown.seat_taken.bot_level == BotLevel.BOT_LEVEL_EASY
    assert not shown.seat_taken.bot_seed


async def test_seating_a_bot_counts_as_several_calls(playing: Playing) -> None:
    """Otherwise one account could keep a service busy with tables of bots."""
    replica = await playing.replica(
        caller_calls_per_second=0.001, caller_calls_burst=16, seat_bot_calls=10
    )
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open(table_of(3))).match_id  # 1 of 16
    await ann.seat_bot(match_id)  # 11 of 16
    async with refused(ErrorReason.ERROR_REASON_RATE_LIMITED):
        await ann.seat_bot(match_id)
    bob = await playing.player(replica, "bob")
    await bob.seat_bot((await bob.open(table_of(3))).match_id)
