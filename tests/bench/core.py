"""The game core: decoding a stored match against folding it, and what a live match weighs.

The matches are played by bots through views, and stored as the service stores them: each record
with the player's id, the request's and the trace's. Alone: `python -m tests.bench.core`.
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
from domain.match.decide import decide
from domain.match.fold import Match, fold
from domain.match.refusal import Refusal
from domain.match.seating import open_table, take_seat
from domain.match.view import redact, seats_in, table_view, timestamp
from durak.v1.events_pb2 import ActorKind, Event, Record
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.table_pb2 import PHASE_PLAYING

MATCHES = 60
ROUNDS = 7
START_US = 1_790_000_000_000_000
MOVE_US = 2_300_000


class _Log:
    """A match as it is played: its state and its stored records."""

    def __init__(self, chance: random.Random) -> None:
        self.match = Match()
        self.stored: list[bytes] = []
        self.events: list[Event] = []
        self.chance = chance
        self.match_id = chance.randbytes(16)

    def store(self, outcome: list[Event] | Refusal, actor_id: str) -> None:
        """Store and fold the events of one command."""
        assert not isinstance(outcome, Refusal), outcome
        request_id, trace_id = self.chance.randbytes(16), self.chance.randbytes(16)
        now_us = START_US + MOVE_US * len(self.stored)
        for event in outcome:
            record = Record(
                match_id=self.match_id,
                version=self.match.version + 1,
                time=timestamp(now_us),
                actor_kind=ActorKind.ACTOR_KIND_PLAYER,
                actor_id=actor_id,
                request_id=request_id,
                trace_id=trace_id,
                event=event,
            )
            self.match.apply(record)
            self.stored.append(record.SerializeToString())
            self.events.append(event)


def bot_match(seed: int) -> list[bytes]:
    """The stored records of a match between easy bots, of two to four seats."""
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
    players = [str(uuid.UUID(bytes=chance.randbytes(16))) for _ in range(wanted.seats)]
    opened = open_table(
        wanted,
        start_series=False,
        match_id=log.match_id,
        owner_id=players[0],
        server_seed=chance.randbytes(32),
        idle_limit_seconds=86_400,
    )
    log.store(opened, players[0])
    for number, player in enumerate(players):
        seated = take_seat(log.match, player, f"Player {number}", None, chance.randbytes(16))
        log.store(seated, player)
    while log.match.phase == PHASE_PLAYING:
        seat = chance.choice(seats_in(log.match.on_clock()))
        trump_card = log.match.trump_card
        history = [redact(event, seat, trump_card) for event in log.events]
        view = table_view(log.match, seat)
        move = bots.choose_move(BotLevel.BOT_LEVEL_EASY, view, history, seed)
        log.store(decide(log.match, seat, move), players[seat])
    return log.stored


def _seconds(matches: Sequence[Sequence[bytes]]) -> tuple[float, float]:
    """Processor time to decode these matches, and to decode and fold them: in turns, one by one."""
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
    """Python's memory for a match held in the middle of play."""
    gc.collect()
    tracemalloc.start()
    live = [fold(map(Record.FromString, stored[: len(stored) // 2])) for stored in matches]
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / len(live)


def run(*, matches: int = MATCHES, rounds: int = ROUNDS) -> dict[str, float]:
    """Measure, and give the ratio and, beside it, the absolute figures.

    ``decode_vs_fold``: time to decode stored matches ÷ time to decode and fold them, the median
    over rounds that measure both side by side. ``events_folded_per_s`` includes decoding.
    ``bytes_per_live_match`` is what Python allocates; the two records that a match keeps for its
    times live in protobuf's own memory and come on top.
    """
    played = [bot_match(seed) for seed in range(matches)]
    events = sum(map(len, played))
    _seconds(played)  # warms caches
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
