"""One player at the limits of fair use does not take what others need (T15, T16)."""

from __future__ import annotations

import asyncio
import time

from domain import bots
from domain.match.fold import Match
from domain.match.view import redact, table_view
from durak.v1.events_pb2 import ACTOR_KIND_BOT, Event, Record
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import Move
from tests.service.playing import (
    Player,
    Playing,
    log_of,
    play_out,
    playing,
    rest_of,
    seated,
    take_until_caught_up,
    until,
)

__all__ = ["playing"]

HARD = BotLevel.BOT_LEVEL_HARD
LONG_S = 60.0


async def test_T15_watches_of_a_long_match_delay_only_the_account_that_starts_them(
    playing: Playing,
) -> None:
    quick = await playing.replica()
    players = [await playing.player(quick, name) for name in ("ann", "bob")]
    match_id = await seated(players)
    await play_out(players, match_id)
    length = len(await log_of(quick.store, match_id))

    rate, burst = 200, 200
    replica = await playing.replica(
        caller_calls_per_second=rate, caller_calls_burst=burst, watch_events_per_call=1
    )
    noisy, quiet = [await playing.player(replica, name) for name in ("noisy", "quiet")]
    starts = 2 + 2 * burst // length
    start = time.monotonic()

    async def one(player: Player) -> None:
        watch = player.watch(match_id)
        assert len(await take_until_caught_up(watch)) == length
        watch.cancel()

    greedy = asyncio.gather(*(one(noisy) for _ in range(starts)))
    await one(quiet)
    assert not greedy.done()
    await greedy
    assert time.monotonic() - start >= (starts * (length + 1) - burst) / rate * 0.9


def chosen(level: BotLevel.ValueType, match: Match, seat: int, records: list[Record]) -> Move:
    """The move that a bot of this level chooses on the seat."""
    occupant = match.table.seats[seat]
    assert occupant is not None
    history = [redact(record.event, seat, match.trump_card) for record in records]
    seed = bots.move_seed(occupant.bot_seed, match.version)
    return bots.choose_move(level, table_view(match, seat), history, seed)


def made(event: Event, move: Move) -> bool:
    """Whether a move makes this event."""
    kind = move.WhichOneof("kind")
    match event.WhichOneof("kind"):
        case "attacked":
            return kind == "attack" and move.attack.card == event.attacked.card
        case "defended":
            cards = (event.defended.attack_card, event.defended.card)
            return kind == "defend" and (move.defend.attack_card, move.defend.card) == cards
        case "take_declared":
            return kind == "take"
        case "passed":
            return kind == "pass"
    raise AssertionError(event)


async def test_T16_one_players_many_hard_bots_weaken_only_those(playing: Playing) -> None:
    """The greedy player's bots fill the queue of the workers; Ann's bots all think."""
    replica = await playing.replica(
        worker_processes=1, worker_tasks_max=6, bot_think_seconds_max=LONG_S
    )
    greedy, ann = [await playing.player(replica, name) for name in ("greedy", "ann")]
    counters = replica.engine.matches.context.counters
    for _ in range(12):
        noisy_id = (await greedy.open()).match_id
        for _ in range(2):
            await greedy.seat_bot(noisy_id, level=HARD)
    await until(lambda: counters.bot_moves_fallback > 0)
    match_id = (await ann.open()).match_id
    for _ in range(2):
        await ann.seat_bot(match_id, level=HARD)
    async with asyncio.timeout(LONG_S):
        async for _ in rest_of(ann.watch(match_id)):
            pass

    records = await log_of(replica.store, match_id)
    match, moves, unlike_normal = Match(), 0, 0
    for at, record in enumerate(records):
        event = record.event
        kind = str(event.WhichOneof("kind"))
        if record.actor_kind == ACTOR_KIND_BOT and kind in {
            "attacked",
            "defended",
            "take_declared",
            "passed",
        }:
            seat = getattr(event, kind).seat
            assert made(event, chosen(HARD, match, seat, records[:at])), record.version
            normal = chosen(BotLevel.BOT_LEVEL_NORMAL, match, seat, records[:at])
            unlike_normal += not made(event, normal)
            moves += 1
        match.apply(record)
    assert moves > 10
    assert unlike_normal > 0
