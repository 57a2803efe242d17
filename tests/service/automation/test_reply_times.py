"""The time of a bot's move says nothing about its hand (R14.1)."""

from __future__ import annotations

import os
import random
import time
from math import sqrt
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import bots
from domain.bots.arena import BotMatch
from domain.match.view import seats_in, table_view
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from service.automation.reply_times import reply_time
from service.config import Config

TAKES = int(os.environ.get("DURAK_TEST_BOT_TAKES", "60"))
"""Forced takes, and as many free ones."""

HARD = bots.BOTS[BotLevel.BOT_LEVEL_HARD]
NORMAL = bots.BOTS[BotLevel.BOT_LEVEL_NORMAL]


class Take(NamedTuple):
    """A take of a hard bot: whether it had no choice, how long it thought, and its seed."""

    is_forced: bool
    seconds: float
    seed: int


def takes_of_hard_bots(count: int) -> list[Take]:
    """Forced and free takes, `count` of each, from matches between normal bots."""
    found: dict[bool, list[Take]] = {True: [], False: []}
    number = 0
    table = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL, draw_allowed=True)
    while min(len(takes) for takes in found.values()) < count:
        number += 1
        match = BotMatch(table, [NORMAL] * 2, number.to_bytes(32), [number, number + 1])
        while match.match.result is None:
            seat = seats_in(match.match.on_clock())[0]
            view = table_view(match.match, seat)
            is_forced = not view.moves.defend
            if view.moves.can_take and len(found[is_forced]) < count:
                seed = bots.move_seed(match.bot_seeds[seat], match.match.version)
                before = time.perf_counter()
                move = HARD.choose_move(view, match.histories[seat], seed)
                if move.HasField("take"):
                    seconds = time.perf_counter() - before
                    found[is_forced].append(Take(is_forced, seconds, seed))
            match.step()
    return found[True] + found[False]


def rate_of_best_threshold(known: list[tuple[float, bool]], new: list[tuple[float, bool]]) -> float:
    """How often the threshold that separates the known cases best is right about new ones."""

    def right(cases: list[tuple[float, bool]], threshold: float, above: bool) -> float:
        return sum((seconds > threshold) == (forced == above) for seconds, forced in cases)

    rules = [(seconds, above) for seconds, _ in known for above in (False, True)]
    threshold, above = max(rules, key=lambda rule: right(known, *rule))
    return right(new, threshold, above) / len(new)


@given(
    st.floats(0, 1e6),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
    st.integers(0, 2**64 - 1),
)
def test_moves_that_are_ready_in_time_come_at_the_same_time(
    started: float, one: float, other: float, seed: int
) -> None:
    at = reply_time(started, started + one, seed, 0.5)
    assert at == reply_time(started, started + other, seed, 0.5)
    assert started + 0.5 <= at <= started + 1.0


@given(st.floats(0, 100), st.integers(0, 2**64 - 1))
def test_a_late_move_waits_for_the_end_of_an_interval(seconds: float, seed: int) -> None:
    at = reply_time(0.0, seconds, seed, 0.5)
    first = reply_time(0.0, 0.0, seed, 0.5)
    assert seconds <= at + 1e-9
    assert abs((at - first) / 0.5 - round((at - first) / 0.5)) < 1e-9


def test_moves_come_at_once_where_no_minimum_is_set() -> None:
    assert reply_time(1.0, 1.25, seed=7, seconds_min=0.0) <= 1.25


@pytest.mark.timeout(900)
def test_the_time_of_a_take_does_not_reveal_whether_it_was_forced() -> None:
    takes = takes_of_hard_bots(TAKES)
    random.Random(1).shuffle(takes)
    half = len(takes) // 2

    def rate(seconds: list[float]) -> float:
        cases = [(one, take.is_forced) for one, take in zip(seconds, takes, strict=True)]
        return rate_of_best_threshold(cases[:half], cases[half:])

    minimum = Config().bot_think_seconds_min
    replies = [reply_time(0.0, take.seconds, take.seed, minimum) for take in takes]
    forced = sum(take.is_forced for take in takes[half:]) / half
    guess = max(forced, 1 - forced)
    assert rate([take.seconds for take in takes]) > 0.9, "the thinking times separate the cases"
    assert rate(replies) <= guess + 1.96 * sqrt(0.25 / half)
