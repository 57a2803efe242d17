"""`decide`: one entry for all commands, which changes nothing and repeats its answer."""

from __future__ import annotations

import copy
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.match.commands import (
    CLOCK,
    Actor,
    CancelTable,
    Command,
    Leave,
    OpenTable,
    Play,
    Rematch,
    RemovePlayer,
    SeatBot,
    TakeSeat,
    TimeOut,
    by_bot,
    by_player,
)
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.outcome import Outcome
from domain.match.refusal import Refusal
from durak.v1.events_pb2 import ActorKind
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import PHASE_PLAYING, PHASE_WAITING
from tests.domain.random_play import all_settings, dealt_by_seed, state_of, step
from tests.domain.tables import (
    IDLE_LIMIT_SECONDS,
    MATCH_ID,
    PASS,
    REVEAL_LIMIT_SECONDS,
    SERVER_SEED,
    TAKE,
    Table,
    accepted,
    full,
    kinds,
    opened,
    refused,
    sitting,
)
from tests.domain.tables import settings as table_settings

EASY = BotLevel.BOT_LEVEL_EASY
OTHER_ID = bytes(range(16))
STRANGER = by_player("a stranger")
OPENING = OpenTable(table_settings(), SERVER_SEED, IDLE_LIMIT_SECONDS, REVEAL_LIMIT_SECONDS)


def against_bot() -> Table:
    """A finished match of a player against a bot, which sat on seat 0."""
    table = opened(table_settings())
    table.perform(sitting(0), SeatBot(EASY, 0))
    table.perform(sitting(0), TakeSeat("A", 1))
    table.perform(sitting(0), Leave())
    return table


def rematch(old: Table) -> Rematch:
    return Rematch(old.match, "A", b"", SERVER_SEED, IDLE_LIMIT_SECONDS, REVEAL_LIMIT_SECONDS)


def without_table(match: Match) -> dict[str, object]:
    return {slot: value for slot, value in state_of(match).items() if slot != "table"}


@pytest.mark.parametrize(
    ("actor", "command"),
    [
        (sitting(0), TakeSeat("A")),
        (sitting(0), SeatBot(EASY)),
        (sitting(0), Leave()),
        (sitting(0), RemovePlayer("player-B")),
        (sitting(0), CancelTable()),
        (sitting(0), Play(PASS)),
        (by_bot(0), Play(PASS)),
        (CLOCK, TimeOut(0)),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, Actor) else "",
)
def test_a_match_that_no_event_has_opened_is_not_found(actor: Actor, command: Command) -> None:
    refusal = decide(Match(MATCH_ID), actor, command)
    assert isinstance(refusal, Refusal)
    assert refused(refusal) == "MATCH_NOT_FOUND"
    assert refusal.metadata == {"match_id": "8c5e3b1e-6f0a-4c53-9d0f-000000000001"}


def test_a_table_is_opened_once() -> None:
    assert refused(decide(opened(table_settings()).match, sitting(0), OPENING)) == (
        "REQUEST_ID_REUSED"
    )


@pytest.mark.parametrize("command", [Play(TAKE), Leave()])
def test_a_player_without_a_seat_cannot_act(command: Command) -> None:
    assert refused(decide(full(table_settings()).match, STRANGER, command)) == "NOT_SEATED"


def test_a_bot_acts_for_its_seat_and_has_no_player_id() -> None:
    assert by_bot(3) == Actor(ActorKind.ACTOR_KIND_BOT, "", 3)
    table = full(table_settings())
    leader = table.match.attacker
    refusal = decide(table.match, by_bot(leader), Play(TAKE))
    assert refused(refusal) == refused(decide(table.match, sitting(leader), Play(TAKE)))


def test_the_clock_makes_no_event_before_a_deadline() -> None:
    outcome = decide(full(table_settings()).match, CLOCK, TimeOut(0))
    assert accepted(outcome) == []


def test_R13_1_the_first_to_ask_for_a_rematch_opens_the_table_and_seats_the_bots() -> None:
    old = against_bot()
    again = Table(OTHER_ID)
    events = again.perform(sitting(0), rematch(old))
    assert kinds(events) == ["table_opened", "seat_taken", "seat_taken", "dealt"]
    before, after = old.match.table.seats, again.match.table.seats
    assert [seat.player_id for seat in after if seat] == [seat.player_id for seat in before if seat]
    assert after[0] is not None
    assert after[0].bot_level == EASY
    assert again.match.phase == PHASE_PLAYING


def test_R13_1_the_others_join_the_rematch_on_their_seats() -> None:
    old = full(table_settings(seats=3))
    old.play("B: leave")
    again = Table(OTHER_ID)
    assert kinds(again.perform(sitting(2), rematch(old))) == ["table_opened", "seat_taken"]
    assert again.match.phase == PHASE_WAITING
    assert kinds(again.perform(sitting(0), rematch(old))) == ["seat_taken"]
    assert refused(decide(again.match, sitting(0), rematch(old))) == "ALREADY_SEATED R3.0"
    assert kinds(again.perform(sitting(1), rematch(old))) == ["seat_taken", "dealt"]
    assert [seat.player_id for seat in again.match.table.seats if seat] == [
        "player-A",
        "player-B",
        "player-C",
    ]


def test_R13_1_a_rematch_is_refused_to_others_and_before_the_end() -> None:
    old = full(table_settings())
    again = Match(OTHER_ID)
    assert refused(decide(again, sitting(0), rematch(old))) == "MATCH_NOT_ENDED R9"
    assert refused(decide(again, STRANGER, rematch(old))) == "NOT_SEATED"
    cancelled = opened(table_settings())
    cancelled.perform(sitting(1), TakeSeat("B"))
    cancelled.perform(sitting(0), CancelTable())
    assert refused(decide(again, sitting(1), rematch(cancelled))) == "REMATCH_IMPOSSIBLE R9.6"


@pytest.mark.parametrize(
    ("actor", "command"),
    [
        (sitting(0), TakeSeat("A", client_seed_hash=bytes(32))),
        (sitting(0), SeatBot(EASY)),
        (sitting(0), CancelTable()),
        (CLOCK, TimeOut(2**60)),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, Actor) else "",
)
def test_deciding_before_the_deal_changes_nothing_and_gives_the_same_events_again(
    actor: Actor, command: Command
) -> None:
    match = opened(table_settings(seats=3)).match
    table, state = match.table, copy.deepcopy(without_table(match))
    first, second = accepted(decide(match, actor, command)), accepted(decide(match, actor, command))
    assert first == second != []
    assert match.table is table
    assert without_table(match) == state


def test_opening_and_rematch_give_the_same_events_again() -> None:
    old = against_bot()
    for command in (OPENING, rematch(old)):
        outcomes = [decide(Match(OTHER_ID), sitting(0), command) for _ in range(2)]
        assert accepted(outcomes[0]) == accepted(outcomes[1]) != []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    wanted=st.sampled_from(list(all_settings())),
    seed=st.integers(0, 2**32),
    commands=st.integers(1, 60),
)
def test_the_state_after_an_outcome_decides_like_the_match_that_stored_it(
    wanted: object, seed: int, commands: int
) -> None:
    """A chain of outcomes, with nothing stored in between, is the match of the stored events."""
    table = dealt_by_seed(wanted, seed)  # type: ignore[arg-type] # drawn from all settings
    chance = random.Random(seed)
    match = table.match.copy()
    for _ in range(commands):
        if table.match.phase != PHASE_PLAYING:
            break
        outcome = Outcome(match)
        for event in table.store(step(table, chance)):
            outcome.add(event)
        match = outcome.after
    times = {"clock_record": None, "last_record": None}
    assert state_of(match) | times == state_of(table.match) | times
