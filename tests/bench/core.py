"""Measure the game core: decoding a stored match, folding it, and the memory of a live match.

Bots play the matches through views. The records are stored as the service stores them, with the ids
of player, request and trace. `python -m tests.bench.core` runs only this benchmark.
"""

from __future__ import annotations

import gc
import json
import random
import time
import tracemalloc
import uuid
from collections.abc import Sequence
from statistics import median

from domain import bots
from domain.match.commands import Actor, Command, OpenTable, Play, TakeSeat, by_player
from domain.match.decide import decide
from domain.match.fold import Match, fold
from domain.match.refusal import Refusal
from domain.match.view import redact, seats_in, table_view, timestamp
from durak.v1.events_pb2 import Event, Record
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.table_pb2 import PHASE_PLAYING

MATCHES = 60
ROUNDS = 7
START_US = 1_790_000_000_000_000
MOVE_US = 2_300_000


class _Log:
    """A match in progress: its state and its stored records."""

    def __init__(self, chance: random.Random) -> None:
        self.match = Match(chance.randbytes(16))
        self.stored: list[bytes] = []
        self.events: list[Event] = []
        self.chance = chance

    def perform(self, actor: Actor, command: Command) -> None:
        """Store and fold the events of one command."""
        outcome = decide(self.match, actor, command)
        assert not isinstance(outcome, Refusal), outcome
        request_id, trace_id = self.chance.randbytes(16), self.chance.randbytes(16)
        now_us = START_US + MOVE_US * len(self.stored)
        for event in outcome.events:
            record = Record(
                match_id=self.match.match_id,
                version=self.match.version + 1,
                event_time=timestamp(now_us),
                actor_kind=actor.kind,
                actor_id=actor.player_id,
                request_id=request_id,
                trace_id=trace_id,
                event=event,
            )
            self.match.apply(record)
            self.stored.append(record.SerializeToString())
            self.events.append(event)


def bot_match(seed: int) -> list[bytes]:
    """Return the stored records of a match between easy bots with two to four seats."""
    chance = random.Random(seed)
    log = _Log(chance)
    wanted = Settings(
        deck=Deck.DECK_36,
        seats=2 + seed % 3,
        throw_in=ThrowIn.THROW_IN_ALL,
        transfer=bool(seed & 1),
        draw_allowed=True,
        turn_timer_seconds=30,
    )
    players = [by_player(str(uuid.UUID(bytes=chance.randbytes(16)))) for _ in range(wanted.seats)]
    log.perform(players[0], OpenTable(wanted, chance.randbytes(32), 86_400, 30))
    for number, actor in enumerate(players):
        log.perform(actor, TakeSeat(f"Player {number}"))
    while log.match.phase == PHASE_PLAYING:
        seat = chance.choice(seats_in(log.match.on_clock()))
        trump_card = log.match.trump_card
        history = [redact(event, seat, trump_card) for event in log.events]
        view = table_view(log.match, seat)
        move = bots.choose_move(BotLevel.BOT_LEVEL_EASY, view, history, seed)
        log.perform(players[seat], Play(move))
    return log.stored


def _seconds(matches: Sequence[Sequence[bytes]]) -> tuple[float, float]:
    """Return the CPU seconds to decode the matches, and to decode and fold them.

    The two are measured alternately, match by match.
    """
    decoding = folding = 0.0
    for stored in matches:
        start = time.process_time()
        for record in stored:
            Record.FromString(record)
        between = time.process_time()
        fold(map(Record.FromString, stored))
        decoding += between - start
        folding += time.process_time() - between
    return decoding, folding


def _bytes_per_match(matches: Sequence[Sequence[bytes]]) -> float:
    """Return the bytes that Python allocates for a match in the middle of play."""
    gc.collect()
    tracemalloc.start()
    live = [fold(map(Record.FromString, stored[: len(stored) // 2])) for stored in matches]
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / len(live)


def run(*, matches: int = MATCHES, rounds: int = ROUNDS) -> dict[str, float]:
    """Measure. Return the ratio and the absolute figures.

    ``decode_vs_fold`` is the time to decode stored matches ÷ the time to decode and fold them, the
    median over rounds that measure both side by side. ``events_folded_per_s`` includes decoding.
    ``bytes_per_live_match`` counts Python's allocations. It does not count the two records that a
    match keeps for their times, because they are in protobuf's own memory.
    """
    played = [bot_match(seed) for seed in range(matches)]
    events = sum(map(len, played))
    _seconds(played)  # warm up caches
    ratios, rates = [], []
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            decode_s, fold_s = _seconds(played)
            ratios.append(decode_s / fold_s)
            rates.append(events / fold_s)
    finally:
        gc.enable()
    return {
        "decode_vs_fold": median(ratios),
        "events_folded_per_s": median(rates),
        "events_per_match": events / len(played),
        "bytes_per_stored_event": sum(len(r) for stored in played for r in stored) / events,
        "bytes_per_live_match": _bytes_per_match(played),
    }


if __name__ == "__main__":
    print(json.dumps(run()))
