"""Disputes: given a stream, when a command comes, then an event or a refusal."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from domain.dispute import (
    DecideCorrection,
    Dispute,
    MatchFacts,
    OpenDispute,
    Rule,
    decide,
    facts_of,
    fold_dispute,
)
from domain.match.fold import CorruptLogError
from domain.match.refusal import Refusal
from domain.match.view import timestamp
from durak.v1 import dispute_service_pb2 as api
from durak.v1.errors_pb2 import ErrorReason
from tests.domain.audit.audit_matches import random_match

ID = bytes(range(16))
MATCH_ID = "01234567-89ab-4cde-8f01-23456789abcd"
ENDED_US = 1_000_000_000
WEEK_S = 604_800
MATCH = MatchFacts(
    head_version=40,
    sitting=frozenset({"anna", "boris"}),
    ever_sat=frozenset({"anna", "boris", "left"}),
    is_dealt=True,
    ended_us=ENDED_US,
    stake_coins=100,
)
COMPLAINT = api.DisputeOpened(match_id=MATCH_ID, version=7, reason="that was no trump")
PAYOUT = api.DisputeOpened(match_id=MATCH_ID, payout=api.PayoutComplaint(), reason="too few")
RIGHT = api.DisputeRuled(
    ruling=api.RULING_UPHELD,
    reason="the share was wrong",
    corrections=[
        api.Correction(player_id="anna", coins=10),
        api.Correction(player_id="boris", coins=-10),
    ],
)
WRONG = api.DisputeRuled(ruling=api.RULING_REJECTED, reason="it was a trump")
YES = api.CorrectionDecided(decision=api.CORRECTION_DECISION_APPROVED, reason="checked")
NO = api.CorrectionDecided(decision=api.CORRECTION_DECISION_DECLINED, reason="look again")


def stream(*events: tuple[str, api.DisputeEvent]) -> list[api.DisputeRecord]:
    return [
        api.DisputeRecord(
            dispute_id=ID,
            version=version,
            event_time=timestamp(ENDED_US + version),
            actor_id=actor_id,
            request_id=bytes([version]) * 16,
            event=event,
        )
        for version, (actor_id, event) in enumerate(events, start=1)
    ]


OPENED = ("anna", api.DisputeEvent(opened=COMPLAINT))
RULED = ("olga", api.DisputeEvent(ruled=RIGHT))
DISMISSED = ("olga", api.DisputeEvent(ruled=WRONG))
APPROVED = ("otto", api.DisputeEvent(correction_decided=YES))
DECLINED = ("otto", api.DisputeEvent(correction_decided=NO))


def given(*events: tuple[str, api.DisputeEvent]) -> Dispute:
    return fold_dispute(stream(*events))


Decided = api.DisputeEvent | Refusal


def open_dispute(
    match: MatchFacts, player_id: str, opened: api.DisputeOpened, now_us: int, window_seconds: int
) -> Decided:
    return decide(Dispute(), match, player_id, OpenDispute(opened, now_us, window_seconds))


def rule(dispute: Dispute, match: MatchFacts, auditor_id: str, ruled: api.DisputeRuled) -> Decided:
    return decide(dispute, match, auditor_id, Rule(ruled))


def decide_correction(
    dispute: Dispute, match: MatchFacts, operator_id: str, decided: api.CorrectionDecided
) -> Decided:
    return decide(dispute, match, operator_id, DecideCorrection(decided))


def reason(decided: object) -> str:
    assert isinstance(decided, Refusal), decided
    return ErrorReason.Name(decided.reason).removeprefix("ERROR_REASON_")


# --- opening --------------------------------------------------------------------------------------


def test_a_player_opens_a_dispute_until_the_window_closes() -> None:
    until_us = ENDED_US + WEEK_S * 1_000_000
    decided = open_dispute(MATCH, "anna", COMPLAINT, until_us, WEEK_S)
    assert decided == api.DisputeEvent(opened=COMPLAINT)
    late = open_dispute(MATCH, "anna", COMPLAINT, until_us + 1, WEEK_S)
    assert isinstance(late, Refusal)
    assert reason(late) == "DISPUTE_TOO_LATE"
    assert late.metadata == {"until": "1970-01-08T00:16:40+00:00"}


def test_a_running_match_can_be_disputed_but_not_its_payout() -> None:
    running = MATCH._replace(ended_us=None)
    assert not isinstance(open_dispute(running, "anna", COMPLAINT, 2**60, WEEK_S), Refusal)
    assert reason(open_dispute(running, "anna", PAYOUT, 0, WEEK_S)) == "MATCH_NOT_ENDED"


def test_an_opening_is_refused_with_its_reason() -> None:
    beyond = api.DisputeOpened(version=41)
    for match, player_id, opened, expected in (
        (MATCH, "clara", COMPLAINT, "NOT_SEATED"),
        (MATCH, "left", COMPLAINT, "NOT_SEATED"),
        (MATCH._replace(is_dealt=False), "anna", COMPLAINT, "MATCH_NOT_DEALT"),
        (MATCH, "anna", beyond, "VERSION_BEYOND_HEAD"),
        (MATCH._replace(stake_coins=0), "anna", PAYOUT, "NO_STAKE"),
    ):
        assert reason(open_dispute(match, player_id, opened, ENDED_US, WEEK_S)) == expected


def test_a_dispute_is_opened_once() -> None:
    again = decide(given(OPENED), MATCH, "anna", OpenDispute(COMPLAINT, ENDED_US, WEEK_S))
    assert reason(again) == "REQUEST_ID_REUSED"


# --- ruling ---------------------------------------------------------------------------------------


def test_a_ruling_without_corrections_is_final() -> None:
    assert rule(given(OPENED), MATCH, "olga", WRONG) == DISMISSED[1]
    assert given(OPENED, DISMISSED).status == api.DISPUTE_STATUS_REJECTED
    upheld = api.DisputeRuled(ruling=api.RULING_UPHELD, reason="a fault, and no coins were lost")
    dispute = given(OPENED, ("olga", api.DisputeEvent(ruled=upheld)))
    assert dispute.status == api.DISPUTE_STATUS_UPHELD
    assert (dispute.ruled, dispute.ruled_by) == (upheld, "olga")


def test_R11_2_a_running_match_has_no_ruling() -> None:
    running = MATCH._replace(ended_us=None)
    for ruled in (WRONG, RIGHT):
        assert reason(rule(given(OPENED), running, "olga", ruled)) == "MATCH_NOT_ENDED"


def test_a_ruling_with_corrections_waits_for_an_operator() -> None:
    assert rule(given(OPENED), MATCH, "olga", RIGHT) == RULED[1]
    waiting = given(OPENED, RULED)
    assert waiting.status == api.DISPUTE_STATUS_CORRECTION_PENDING
    assert decide_correction(waiting, MATCH, "otto", YES) == APPROVED[1]
    assert given(OPENED, RULED, APPROVED).status == api.DISPUTE_STATUS_UPHELD


def test_declined_corrections_reopen_the_dispute() -> None:
    again = given(OPENED, RULED, DECLINED)
    assert again.status == api.DISPUTE_STATUS_OPEN
    assert (again.ruled, again.ruled_by) == (None, "")
    assert rule(again, MATCH, "olga", WRONG) == DISMISSED[1]
    assert again.version == 3


def test_a_decision_about_an_own_match_or_an_own_ruling_is_refused() -> None:
    for player in ("anna", "left"):
        assert reason(rule(given(OPENED), MATCH, player, WRONG)) == "OWN_MATCH"
        assert reason(decide_correction(given(OPENED, RULED), MATCH, player, YES)) == "OWN_MATCH"
    for decision in (YES, NO):
        assert (
            reason(decide_correction(given(OPENED, RULED), MATCH, "olga", decision)) == "OWN_RULING"
        )


def test_a_decision_is_made_once() -> None:
    for decided in (given(OPENED, DISMISSED), given(OPENED, RULED, APPROVED)):
        assert reason(rule(decided, MATCH, "oleg", WRONG)) == "DISPUTE_NOT_OPEN"
        assert reason(decide_correction(decided, MATCH, "otto", YES)) == "CORRECTION_NOT_PENDING"
    assert reason(rule(given(OPENED, RULED), MATCH, "oleg", WRONG)) == "DISPUTE_NOT_OPEN"
    assert reason(decide_correction(given(OPENED), MATCH, "otto", YES)) == "CORRECTION_NOT_PENDING"


@pytest.mark.parametrize(
    ("ruling", "coins", "fields"),
    [
        (api.RULING_UPHELD, {"anna": 10, "boris": -9}, ["corrections"]),
        (api.RULING_REJECTED, {"anna": 10, "boris": -10}, ["corrections"]),
        (api.RULING_UPHELD, {"anna": 10, "clara": -10}, ["corrections[1].player_id"]),
        (api.RULING_UPHELD, {"anna": 10, "left": -10}, ["corrections[1].player_id"]),
        (api.RULING_UPHELD, {"anna": 0}, ["corrections[0].coins"]),
    ],
)
def test_corrections_are_between_the_players_and_add_up_to_zero(
    ruling: api.Ruling.ValueType, coins: dict[str, int], fields: list[str]
) -> None:
    corrections = [api.Correction(player_id=name, coins=number) for name, number in coins.items()]
    ruled = api.DisputeRuled(ruling=ruling, reason="so", corrections=corrections)
    decided = rule(given(OPENED), MATCH, "olga", ruled)
    assert reason(decided) == "CORRECTION_UNBALANCED"
    assert isinstance(decided, Refusal)
    assert [fault.path for fault in decided.fields] == fields


def test_a_player_has_one_correction_and_a_free_table_none() -> None:
    twice = api.DisputeRuled(
        ruling=api.RULING_UPHELD,
        corrections=[
            api.Correction(player_id="anna", coins=5),
            api.Correction(player_id="anna", coins=-5),
        ],
    )
    assert reason(rule(given(OPENED), MATCH, "olga", twice)) == "CORRECTION_UNBALANCED"
    assert reason(rule(given(OPENED), MATCH._replace(stake_coins=0), "olga", RIGHT)) == "NO_STAKE"


# --- folding --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "events",
    [
        [RULED],
        [OPENED, OPENED],
        [OPENED, APPROVED],
        [OPENED, DISMISSED, RULED],
        [OPENED, RULED, RULED],
        [OPENED, RULED, APPROVED, DECLINED],
        [OPENED, ("olga", api.DisputeEvent())],
        [("anna", api.DisputeEvent(opened=api.DisputeOpened(match_id="m", version=7)))],
    ],
)
def test_a_stream_that_no_decision_makes_is_corrupt(
    events: list[tuple[str, api.DisputeEvent]],
) -> None:
    with pytest.raises(CorruptLogError):
        given(*events)


def test_records_of_another_dispute_or_out_of_order_are_corrupt() -> None:
    records = stream(OPENED, RULED)
    records[1].dispute_id = bytes(16)
    with pytest.raises(CorruptLogError):
        fold_dispute(records)
    with pytest.raises(CorruptLogError):
        fold_dispute(reversed(stream(OPENED, RULED)))
    for time in (timestamp(1), Timestamp(seconds=2**60), Timestamp(nanos=-1)):
        records = stream(OPENED, RULED)
        records[1].event_time.CopyFrom(time)
        with pytest.raises(CorruptLogError):
            fold_dispute(records)


def test_the_facts_of_a_match_are_those_of_its_fold() -> None:
    for seed in range(30):
        played = random_match(seed)
        facts = facts_of(played.records)
        seats = [seat for seat in played.match.table.seats if seat is not None and not seat.is_bot]
        assert facts.sitting == {seat.player_id for seat in seats}
        assert facts.sitting <= facts.ever_sat
        assert facts.head_version == played.match.version
        assert facts.is_dealt
        assert facts.ended_us == played.match.time_us
        assert facts.stake_coins == played.match.table.settings.stake_coins
        unknown = facts_of(played.records[:1])
        assert not unknown.is_dealt
        assert unknown.ended_us is None
