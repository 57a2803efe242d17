"""The fold: the log determines the state, and a changed log is detected."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.match.fold import CorruptLogError, Match, fold
from durak.v1.cards_pb2 import Card
from durak.v1.events_pb2 import (
    Attacked,
    Challenged,
    Defended,
    Event,
    Left,
    Passed,
    Record,
    SeatTaken,
    SeatVacated,
    TakeDeclared,
    TimedOut,
    Transferred,
)
from durak.v1.table_pb2 import PHASE_PLAYING
from tests.domain.random_play import all_settings, dealt_by_seed, play_out, state_of, step
from tests.domain.tables import Table, assert_every_card_in_one_place, dealt, opened
from tests.domain.tables import settings as table_settings

COMBINATIONS = list(all_settings())
BOUNDED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

combinations = st.sampled_from(COMBINATIONS)
seeds = st.integers(0, 2**32)


@BOUNDED
@given(wanted=combinations, seed=seeds, commands=st.integers(1, 150))
def test_the_fold_of_the_records_equals_the_state_built_event_by_event(
    wanted: Any, seed: int, commands: int
) -> None:
    table = dealt_by_seed(wanted, seed)
    chance = random.Random(seed)
    for _ in range(commands):
        if table.match.phase == PHASE_PLAYING:
            table.store(step(table, chance))  # checks every card after every event
    stored = [record.SerializeToString() for record in table.records]
    folded = fold(map(Record.FromString, stored))
    assert state_of(folded) == state_of(table.match)
    assert [record.version for record in table.records] == list(range(1, folded.version + 1))


@BOUNDED
@given(wanted=combinations, seed=seeds, commands=st.integers(1, 60))
def test_a_copy_is_equal_and_independent(wanted: Any, seed: int, commands: int) -> None:
    table = dealt_by_seed(wanted, seed)
    chance = random.Random(seed)
    for _ in range(commands):
        if table.match.phase == PHASE_PLAYING:
            table.store(step(table, chance))
    if table.match.phase != PHASE_PLAYING:
        return
    twin = table.match.copy()
    before = copy.deepcopy({k: v for k, v in state_of(table.match).items() if k != "table"})
    assert state_of(twin) | {"requests": table.match.requests} == state_of(table.match)
    for event in step(table, chance):
        twin.fold_event(event)
    assert_every_card_in_one_place(twin)
    after = {k: v for k, v in state_of(table.match).items() if k != "table"}
    assert after == before


# --- changed logs -------------------------------------------------------------------------------


@lru_cache
def a_match(number: int) -> tuple[Record, ...]:
    """The records of a whole match."""
    chance = random.Random(number)
    table = dealt_by_seed(COMBINATIONS[number * 83 % len(COMBINATIONS)], number)
    play_out(table, chance)
    return tuple(table.records)


matches = st.integers(0, 19).map(a_match)


def renumbered(events: Sequence[Event], like: Sequence[Record]) -> Iterator[Record]:
    """These events as records with versions from 1, so that only the events are changed."""
    for version, event in enumerate(events, 1):
        record = Record(match_id=like[0].match_id, version=version, event=event)
        record.event_time.CopyFrom(like[min(version, len(like)) - 1].event_time)
        yield record


@BOUNDED
@given(records=matches, data=st.data())
def test_a_log_with_a_missing_repeated_or_moved_record_is_corrupt(
    records: tuple[Record, ...], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(records) - 2))
    other = data.draw(st.integers(0, len(records) - 1).filter(lambda n: n != at))
    dropped = [*records[:at], *records[at + 1 :]]
    doubled = [*records[: at + 1], records[at], *records[at + 1 :]]
    moved = dropped.copy()
    moved.insert(other, records[at])
    for changed in (dropped, doubled, moved):
        with pytest.raises(CorruptLogError):
            fold(changed)


CONSEQUENCES = {"dealt", "took", "discarded", "drew", "went_out", "finished"}


@BOUNDED
@given(records=matches, data=st.data())
def test_consequences_cannot_be_missing_repeated_or_moved(
    records: tuple[Record, ...], data: st.DataObject
) -> None:
    events = [record.event for record in records]
    drawn = [at for at, event in enumerate(events) if event.WhichOneof("kind") in CONSEQUENCES]
    at = data.draw(st.sampled_from(drawn))
    other = data.draw(st.integers(0, len(events) - 1).filter(lambda n: n != at))
    moved = [*events[:at], *events[at + 1 :]]
    moved.insert(other, events[at])
    doubled = [*events[: at + 1], *events[at:]]
    for changed in (moved, doubled):
        with pytest.raises(CorruptLogError):
            fold(renumbered(changed, records))


@BOUNDED
@given(records=matches, data=st.data())
def test_a_changed_consequence_is_corrupt(records: tuple[Record, ...], data: st.DataObject) -> None:
    events = [record.event for record in records]
    drawn = [
        at
        for at, event in enumerate(events)
        if event.WhichOneof("kind") in CONSEQUENCES - {"dealt"}
    ]
    at = data.draw(st.sampled_from(drawn))
    changed = Event.FromString(events[at].SerializeToString())
    mutate(changed, data)
    if changed == events[at]:
        return
    with pytest.raises(CorruptLogError):
        fold(renumbered([*events[:at], changed, *events[at + 1 :]], records))


def mutate(message: Message, data: st.DataObject) -> None:
    """Change one field of a message, at any depth, to any value of its type."""
    set_fields: list[Any] = [field for field, _ in message.ListFields()]
    field: Any = data.draw(
        st.sampled_from(set_fields or [*message.DESCRIPTOR.fields_by_name.values()])
    )
    value = getattr(message, field.name)
    if field.is_repeated:
        at = data.draw(st.integers(0, max(0, len(value) - 1)))
        if field.message_type:
            mutate(value[at], data) if value else value.add()
        elif data.draw(st.booleans()) and value:
            del value[at]
        elif field.cpp_type == field.CPPTYPE_STRING:
            value.append("x")
        else:
            value.append(data.draw(st.integers(0, 60)))
    elif field.message_type:
        mutate(value, data)
    elif isinstance(value, bool):
        setattr(message, field.name, not value)
    elif isinstance(value, int):
        numbers = st.integers(-8, 60) | st.sampled_from([-(2**31), 2**31 - 1])
        setattr(message, field.name, data.draw(numbers))
    elif isinstance(value, bytes):
        setattr(message, field.name, value + b"x")
    else:
        setattr(message, field.name, value + "x")


@settings(BOUNDED, max_examples=250)
@given(records=matches, data=st.data())
def test_any_change_folds_or_is_corrupt_and_never_fails_otherwise(
    records: tuple[Record, ...], data: st.DataObject
) -> None:
    changed = [Record.FromString(record.SerializeToString()) for record in records]
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(changed[data.draw(st.integers(0, len(changed) - 1))], data)
    try:
        match = fold(changed)
    except CorruptLogError:
        return
    assert_every_card_in_one_place(match)


@BOUNDED
@given(records=matches, event=st.data())
def test_no_event_follows_the_end(records: tuple[Record, ...], event: st.DataObject) -> None:
    extra = event.draw(st.sampled_from(records)).event
    with pytest.raises(CorruptLogError):
        fold(renumbered([*(record.event for record in records), extra], records))


def test_no_move_follows_after_a_player_left() -> None:
    table = dealt("6♠ 6♥ 7♦ 8♦ 9♦ 10♦", "6♦ 7♥ 8♥ 9♥ 7♠ Q♣", trump="A♠")
    table.play("A: 6♥", "A: leave")
    for extra in (Event(), Event(passed=Passed(seat=0)), Event(seat_taken=SeatTaken(seat=0))):
        with pytest.raises(CorruptLogError):
            table.store([extra])
    late = Event()
    late.take_declared.seat = 1
    again = Match()
    for record in table.records:
        again.apply(record)
    with pytest.raises(CorruptLogError):
        again.fold_event(late)


@pytest.mark.parametrize("at", range(8))
def test_an_event_of_no_kind_is_corrupt(at: int) -> None:
    records = list(a_match(0))
    records[at] = Record(match_id=records[0].match_id, version=at + 1)
    with pytest.raises(CorruptLogError):
        fold(records)


@pytest.mark.parametrize("match_id", [bytes(16), bytes(15), b""])
def test_all_records_of_a_match_have_its_id(match_id: bytes) -> None:
    first = Record.FromString(a_match(1)[0].SerializeToString())
    own = Match(first.match_id)
    own.apply(first)
    first.match_id = match_id
    with pytest.raises(CorruptLogError):
        Match(own.match_id).apply(first)


def test_a_record_of_another_match_is_corrupt() -> None:
    records = list(a_match(1))
    records[3] = Record.FromString(records[3].SerializeToString())
    records[3].match_id = bytes(16)
    with pytest.raises(CorruptLogError):
        fold(records)


def test_the_server_acts_for_a_seat_only_as_R10_2_says() -> None:
    table: Table = dealt(
        "6♠ 6♥ 7♦ 8♦ 9♦ 10♦", "6♦ 7♥ 8♥ 9♥ 7♠ Q♣", trump="A♠", turn_timer_seconds=30
    )
    timed_out, attacked = Event(), Event()
    timed_out.timed_out.seat = 0
    attacked.attacked.seat = 0
    for card, right in (("6♥", True), ("7♦", False), ("6♠", False)):
        match = table.match.copy()
        match.fold_event(timed_out)
        attacked.attacked.card = dict(zip(("6♥", "7♦", "6♠"), (31, 19, 44), strict=True))[card]  # type: ignore[assignment]
        if right:
            match.fold_event(attacked)
        else:
            with pytest.raises(CorruptLogError):
                match.fold_event(attacked)


def test_a_table_that_cannot_be_dealt_is_corrupt() -> None:
    record = Record(match_id=bytes(16), version=1)
    for seats in (-1, 0, 1, 7, 2**31 - 1):
        record.event.table_opened.settings.CopyFrom(table_settings(seats=seats))
        with pytest.raises(CorruptLogError):
            fold([record])


@pytest.mark.parametrize("setting", ["turn_timer_seconds", "stake_coins", "idle_limit_seconds"])
def test_a_negative_setting_is_corrupt(setting: str) -> None:
    record = Record(match_id=bytes(16), version=1)
    opening = record.event.table_opened
    opening.settings.CopyFrom(table_settings())
    owner = opening if setting == "idle_limit_seconds" else opening.settings
    setattr(owner, setting, -1)
    with pytest.raises(CorruptLogError):
        fold([record])


def test_a_negative_seat_is_corrupt_before_the_deal() -> None:
    table = opened(table_settings())
    assert table.match.table.seats[-1] is None, "a list of Python accepts the number -1"
    with pytest.raises(CorruptLogError):
        table.match.fold_event(Event(seat_taken=SeatTaken(seat=-1, player_id="ann")))
    table = opened(table_settings())
    table.store([Event(seat_taken=SeatTaken(seat=1, player_id="ann"))])
    with pytest.raises(CorruptLogError):
        table.match.fold_event(Event(seat_vacated=SeatVacated(seat=-1)))


@pytest.mark.parametrize(
    "event",
    [
        Event(attacked=Attacked(seat=-1, card=Card.CARD_6H)),
        Event(defended=Defended(seat=-1, attack_card=Card.CARD_6D, card=Card.CARD_7D)),
        Event(transferred=Transferred(seat=-1, card=Card.CARD_6H)),
        Event(passed=Passed(seat=-1)),
        Event(take_declared=TakeDeclared(seat=-1)),
        Event(challenged=Challenged(seat=-1, play_version=6)),
        Event(challenged=Challenged(seat=0, play_version=-1)),
        Event(timed_out=TimedOut(seat=-1)),
        Event(left=Left(seat=-1)),
    ],
    ids=lambda event: event.WhichOneof("kind"),
)
def test_a_negative_number_in_an_event_is_corrupt(event: Event) -> None:
    table = dealt(
        "6♦ 8♦ 9♦ 10♦ J♦ 6♠",
        "7♦ 7♣ 8♣ 9♣ 10♣ J♣",
        "6♥ 7♥ 8♥ 9♥ 10♥ J♥",
        trump="A♠",
        tricky=True,
        transfer=True,
        turn_timer_seconds=30,
    )
    table.play("A: 6♦")
    with pytest.raises(CorruptLogError):
        table.match.fold_event(event)


def test_a_deal_with_a_negative_first_attacker_is_corrupt() -> None:
    records = [Record.FromString(record.SerializeToString()) for record in a_match(0)]
    at = next(at for at, record in enumerate(records) if record.event.HasField("dealt"))
    records[at].event.dealt.first_attacker = -1
    with pytest.raises(CorruptLogError):
        fold(records[: at + 1])
