"""The speculative fold: an outcome equals the fold of its stored records."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.match.commands import Actor, Command, OpenTable, TakeSeat
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.outcome import Outcome
from domain.match.view import timestamp
from durak.v1.events_pb2 import Event, Passed, Record
from durak.v1.table_pb2 import PHASE_PLAYING
from tests.domain.random_play import all_settings, dealt_by_seed, state_of, step
from tests.domain.tables import (
    IDLE_LIMIT_SECONDS,
    MATCH_ID,
    SERVER_SEED,
    START_US,
    dealt,
    opened,
    sitting,
)
from tests.domain.tables import settings as table_settings

BOUNDED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
REQUEST_ID = bytes(range(16))


def records_of(before: Match, events: list[Event], now_us: int) -> list[Record]:
    """The records of one command with a request id."""
    return [
        Record(
            match_id=MATCH_ID,
            version=version,
            event_time=timestamp(now_us),
            request_id=REQUEST_ID,
            event=event,
        )
        for version, event in enumerate(events, before.version + 1)
    ]


def with_requests(match: Match) -> Match:
    twin = match.copy()
    twin.requests = dict(match.requests)
    return twin


def without_table(match: Match) -> dict[str, object]:
    """The state without the table, which is immutable and shared."""
    return {slot: value for slot, value in state_of(match).items() if slot != "table"}


def assert_same(committed: Match, folded: Match) -> None:
    """All of the state is equal, except that the clock may refer to another record of that time."""
    apart = {"clock_record": None}
    assert committed.clock_us == folded.clock_us
    assert state_of(committed) | apart == state_of(folded) | apart


def assert_an_outcome_is_the_fold_of_its_records(before: Match, outcome: Outcome) -> None:
    folded = with_requests(before)
    records = records_of(before, outcome.events, START_US + 10**9)
    for record in records:
        folded.apply(record)
    outcome.stamp(records)
    committed = outcome.commit()
    assert committed.requests[REQUEST_ID] == folded.requests[REQUEST_ID]
    assert_same(committed, folded)


@BOUNDED
@given(
    wanted=st.sampled_from(list(all_settings())),
    seed=st.integers(0, 2**32),
    commands=st.integers(1, 60),
)
def test_a_committed_outcome_equals_the_fold_of_its_records(
    wanted: Any, seed: int, commands: int
) -> None:
    table = dealt_by_seed(wanted, seed)
    chance = random.Random(seed)
    for _ in range(commands):
        if table.match.phase != PHASE_PLAYING:
            return
        before = with_requests(table.match)
        outcome = Outcome(before)
        events = table.store(step(table, chance))
        for event in events:
            outcome.add(event)
        outcome.stamp(table.records[-len(events) :])
        assert_same(outcome.commit(), table.match)


@pytest.mark.parametrize(
    ("start", "actor", "command"),
    [
        (
            lambda: Match(MATCH_ID),
            sitting(0),
            OpenTable(table_settings(), SERVER_SEED, IDLE_LIMIT_SECONDS, 30, start_series=True),
        ),
        (lambda: opened(table_settings(seats=3)).match, sitting(1), TakeSeat("B")),
    ],
    ids=["the first event of a match", "an event before the deal"],
)
def test_outcomes_before_the_deal_equal_the_fold_of_their_records(
    start: Callable[[], Match], actor: Actor, command: Command
) -> None:
    before = start()
    outcome = decide(before, actor, command)
    assert isinstance(outcome, Outcome)
    assert_an_outcome_is_the_fold_of_its_records(before, outcome)


def test_an_outcome_that_is_not_committed_does_not_change_the_match() -> None:
    before = dealt("6♠ 6♥ 7♦ 8♦ 9♦ 10♦", "6♦ 7♥ 8♥ 9♥ 7♠ Q♣", trump="A♠").match
    was = copy.deepcopy(without_table(before))
    outcome = Outcome(before)
    lead = Event()
    lead.attacked.seat = 0
    lead.attacked.card = 31  # type: ignore[assignment] # 6♥
    outcome.add(lead)
    outcome.stamp(records_of(before, outcome.events, START_US + 1))
    assert without_table(before) == was
    assert outcome.after.version == before.version + 1


def test_an_event_that_cannot_follow_is_an_error_of_the_caller_and_not_added() -> None:
    before = dealt("6♠ 6♥ 7♦ 8♦ 9♦ 10♦", "6♦ 7♥ 8♥ 9♥ 7♠ Q♣", trump="A♠").match
    outcome = Outcome(before)
    with pytest.raises(AssertionError, match="cannot be folded"):
        outcome.add(Event(passed=Passed(seat=0)))
    assert outcome.events == []
