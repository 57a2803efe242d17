"""Repeated requests: the log has their answer, or shows that the request id is used twice."""

from __future__ import annotations

import pytest

from domain.match.commands import Actor, Command, Leave, OpenTable, TakeSeat
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.outcome import Outcome
from domain.match.view import timestamp
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.events_pb2 import Record
from service.matches.envelope import Envelope
from service.matches.records import records_of
from service.matches.repeats import ANSWERS_REMEMBERED, RecentAnswers, answered_match
from service.rpc.errors import Refused
from tests.domain.tables import (
    IDLE_LIMIT_SECONDS,
    MATCH_ID,
    SERVER_SEED,
    START_US,
    settings,
    sitting,
)

OPEN, SIT = bytes(15) + b"\x01", bytes(15) + b"\x02"
OPENING = OpenTable(settings(seats=3), SERVER_SEED, IDLE_LIMIT_SECONDS, 30)


def envelope(actor: Actor, command: Command, request_id: bytes) -> Envelope:
    return Envelope(MATCH_ID, actor, command, request_id)


def stored(*envelopes: Envelope) -> list[Record]:
    """The records of these commands, one after the other."""
    match, records = Match(MATCH_ID), []
    for one in envelopes:
        outcome = decide(match, one.actor, one.command)
        assert isinstance(outcome, Outcome)
        made = records_of(match, one, outcome.events, START_US)
        outcome.stamp(made)
        match = outcome.commit()
        records += made
    return records


LOG = stored(
    envelope(sitting(0), OPENING, OPEN),
    envelope(sitting(0), TakeSeat("A"), SIT),
    envelope(sitting(1), TakeSeat("B"), SIT),
)


def test_a_repeat_gets_the_match_as_the_command_left_it() -> None:
    match = answered_match(LOG, envelope(sitting(0), TakeSeat("A"), SIT))
    assert match is not None
    assert match.version == 2
    assert match.time == timestamp(START_US)


def test_a_repeated_opening_has_another_server_seed_and_is_the_same_command() -> None:
    again = OPENING._replace(server_seed=bytes(32))
    match = answered_match(LOG, envelope(sitting(0), again, OPEN))
    assert match is not None
    assert match.version == 1
    assert match.table.server_seed == SERVER_SEED


def test_two_players_may_use_the_same_request_id() -> None:
    match = answered_match(LOG, envelope(sitting(1), TakeSeat("B"), SIT))
    assert match is not None
    assert match.version == 3
    assert answered_match(LOG, envelope(sitting(2), TakeSeat("C"), SIT)) is None


@pytest.mark.parametrize(
    ("command", "request_id"),
    [
        (TakeSeat("A", seat=2), SIT),
        (TakeSeat("A"), OPEN),
        (OPENING._replace(settings=settings(seats=4)), OPEN),
        (OPENING._replace(start_series=True), OPEN),
    ],
)
def test_another_payload_under_the_same_request_id_is_refused(
    command: Command, request_id: bytes
) -> None:
    with pytest.raises(Refused) as caught:
        answered_match(LOG, envelope(sitting(0), command, request_id))
    assert caught.value.refusal.reason == ErrorReason.ERROR_REASON_REQUEST_ID_REUSED


def test_a_recent_command_is_answered_from_memory() -> None:
    recent, match = RecentAnswers(), Match(MATCH_ID)
    sit = envelope(sitting(0), TakeSeat("A", seat=1), SIT)
    recent.add(envelope(sitting(0), OPENING, OPEN), Match(MATCH_ID))
    recent.add(sit, match)
    assert recent.find(sit) is match
    assert recent.find(envelope(sitting(1), TakeSeat("A", seat=1), SIT)) is None
    assert recent.find(envelope(sitting(0), OPENING._replace(server_seed=bytes(32)), OPEN))
    for command in (TakeSeat("A"), TakeSeat("B", seat=1), Leave()):
        with pytest.raises(Refused) as refused:
            recent.find(envelope(sitting(0), command, SIT))
        assert refused.value.refusal.reason == ErrorReason.ERROR_REASON_REQUEST_ID_REUSED
    recent.clear()
    assert recent.find(sit) is None


def test_few_commands_are_remembered() -> None:
    recent = RecentAnswers()
    sent = [envelope(sitting(0), Leave(), bytes([number]) * 16) for number in range(1, 11)]
    for one in sent:
        recent.add(one, Match(MATCH_ID))
    found = [one for one in sent if recent.find(one) is not None]
    assert found == sent[-ANSWERS_REMEMBERED:]
