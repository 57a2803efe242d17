"""Disputes: who may open one, rule on it and decide on its corrections; a fold over its records.

What is complained of, and the evidence, is for people to judge. Nothing here reads a card.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

from domain.match.fold import CorruptLogError
from domain.match.refusal import FieldFault, Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.dispute_service_pb2 import (
    CORRECTION_DECISION_APPROVED,
    DISPUTE_STATUS_CORRECTION_PENDING,
    DISPUTE_STATUS_OPEN,
    DISPUTE_STATUS_REJECTED,
    DISPUTE_STATUS_UNSPECIFIED,
    DISPUTE_STATUS_UPHELD,
    RULING_UPHELD,
    Correction,
    CorrectionDecided,
    DisputeEvent,
    DisputeOpened,
    DisputeRecord,
    DisputeRuled,
    DisputeStatus,
)
from durak.v1.events_pb2 import Record

MICROSECONDS: Final = 1_000_000


class MatchFacts(NamedTuple):
    """What a dispute needs to know of its match; known also of a log that makes no match."""

    head_version: int
    sitting: frozenset[str]
    """The players who have a seat now."""
    ever_sat: frozenset[str]
    """And those who gave theirs up."""
    is_dealt: bool
    """Seats can no longer be taken: the cards are dealt, or the table was closed."""
    ended_us: int | None
    stake_coins: int


def facts_of(records: Iterable[Record]) -> MatchFacts:
    """The facts of a match, from its records in order; those that cannot be read are left out."""
    seats: dict[int, str] = {}
    ever_sat: set[str] = set()
    head, stake, is_dealt = 0, 0, False
    ended_us: int | None = None
    for record in records:
        event = record.event
        head = record.version
        match event.WhichOneof("kind"):
            case "table_opened":
                stake = event.table_opened.settings.stake_coins
            case "seat_taken" if event.seat_taken.player_id:
                seats[event.seat_taken.seat] = event.seat_taken.player_id
                ever_sat.add(event.seat_taken.player_id)
            case "seat_vacated":
                seats.pop(event.seat_vacated.seat, None)
            case "dealt":
                is_dealt = True
            case "finished":
                is_dealt, ended_us = True, record.event_time.ToMicroseconds()
    sitting = frozenset(seats.values())
    return MatchFacts(head, sitting, frozenset(ever_sat), is_dealt, ended_us, stake)


@dataclass(slots=True)
class Dispute:
    """The state of one dispute. `requests`: the record that each request id made."""

    dispute_id: bytes = b""
    version: int = 0
    time_us: int = 0
    opened_us: int = 0
    opened_by: str = ""
    complaint: DisputeOpened = field(default_factory=DisputeOpened)
    status: DisputeStatus.ValueType = DISPUTE_STATUS_UNSPECIFIED
    ruled: DisputeRuled | None = None
    ruled_by: str = ""
    requests: dict[bytes, DisputeRecord] = field(default_factory=dict)

    def apply(self, record: DisputeRecord) -> None:
        """Take in the next record. Raises CorruptLogError for one that cannot be the next."""
        kind = record.event.WhichOneof("kind")
        time_us = record.event_time.ToMicroseconds()
        is_first = self.version == 0
        if record.version != self.version + 1 or time_us < self.time_us:
            raise CorruptLogError(f"version {record.version} after {self.version}")
        if is_first != (kind == "opened") or (
            record.dispute_id != self.dispute_id and not is_first
        ):
            raise CorruptLogError(f"{kind} at version {record.version} of a dispute")
        self.dispute_id, self.version, self.time_us = record.dispute_id, record.version, time_us
        self.requests[record.request_id] = record
        match kind:
            case "opened":
                self.opened_us, self.opened_by = time_us, record.actor_id
                self.complaint = record.event.opened
                self.status = DISPUTE_STATUS_OPEN
            case "ruled":
                self._rule(record)
            case "correction_decided":
                self._decide_correction(record.event.correction_decided)
            case _:
                raise CorruptLogError("a kind of event that is not known")

    def _rule(self, record: DisputeRecord) -> None:
        if self.status != DISPUTE_STATUS_OPEN:
            raise CorruptLogError("a ruling on a dispute that is not open")
        self.ruled, self.ruled_by = record.event.ruled, record.actor_id
        self.status = (
            DISPUTE_STATUS_CORRECTION_PENDING if self.ruled.corrections else _outcome(self.ruled)
        )

    def _decide_correction(self, decided: CorrectionDecided) -> None:
        if self.status != DISPUTE_STATUS_CORRECTION_PENDING or self.ruled is None:
            raise CorruptLogError("a decision where no correction is pending")
        if decided.decision == CORRECTION_DECISION_APPROVED:
            self.status = _outcome(self.ruled)
        else:
            self.status, self.ruled, self.ruled_by = DISPUTE_STATUS_OPEN, None, ""


def _outcome(ruled: DisputeRuled) -> DisputeStatus.ValueType:
    return DISPUTE_STATUS_UPHELD if ruled.ruling == RULING_UPHELD else DISPUTE_STATUS_REJECTED


def fold_dispute(records: Iterable[DisputeRecord]) -> Dispute:
    """A dispute from its records. Raises CorruptLogError."""
    dispute = Dispute()
    for record in records:
        dispute.apply(record)
    return dispute


# --- what somebody wants to do; each gives the event, or why not ----------------------------------

Decision = DisputeEvent | Refusal


def open_dispute(
    match: MatchFacts, player_id: str, opened: DisputeOpened, now_us: int, window_seconds: int
) -> Decision:
    """A player complains of a match, at most `window_seconds` after its end."""
    if player_id not in match.sitting:
        return Refusal(reasons.ERROR_REASON_NOT_SEATED)
    if not match.is_dealt:
        return Refusal(reasons.ERROR_REASON_MATCH_NOT_DEALT)
    if opened.WhichOneof("about") == "payout":
        if not match.stake_coins:
            return Refusal(reasons.ERROR_REASON_NO_STAKE)
        if match.ended_us is None:
            return Refusal(reasons.ERROR_REASON_MATCH_NOT_ENDED)
    elif opened.version > match.head_version:
        head = str(match.head_version)
        return Refusal(reasons.ERROR_REASON_VERSION_BEYOND_HEAD, metadata={"head_version": head})
    if match.ended_us is not None:
        until_us = match.ended_us + window_seconds * MICROSECONDS
        if now_us > until_us:
            until = datetime.fromtimestamp(until_us // MICROSECONDS, UTC).isoformat()
            return Refusal(reasons.ERROR_REASON_DISPUTE_TOO_LATE, metadata={"until": until})
    return DisputeEvent(opened=opened)


def rule(dispute: Dispute, match: MatchFacts, auditor_id: str, ruled: DisputeRuled) -> Decision:
    """An auditor rules once the match has ended, and may propose how coins are put right."""
    if auditor_id in match.ever_sat:
        return Refusal(reasons.ERROR_REASON_OWN_MATCH)
    if match.ended_us is None:  # or a player would learn of cheats (R11.2) and hands before the end
        return Refusal(reasons.ERROR_REASON_MATCH_NOT_ENDED)
    if dispute.status != DISPUTE_STATUS_OPEN:
        return Refusal(reasons.ERROR_REASON_DISPUTE_NOT_OPEN)
    if ruled.corrections:
        if not match.stake_coins:
            return Refusal(reasons.ERROR_REASON_NO_STAKE)
        faults = _faults(ruled, ruled.corrections, match)
        if faults:
            return Refusal(reasons.ERROR_REASON_CORRECTION_UNBALANCED, fields=faults)
    return DisputeEvent(ruled=ruled)


def decide_correction(
    dispute: Dispute, match: MatchFacts, operator_id: str, decided: CorrectionDecided
) -> Decision:
    """Return the event for an operator's decision on the corrections of a ruling.

    The operator is neither the auditor who ruled nor anybody who ever sat at the match.
    """
    if operator_id in match.ever_sat:
        return Refusal(reasons.ERROR_REASON_OWN_MATCH)
    if dispute.status != DISPUTE_STATUS_CORRECTION_PENDING:
        return Refusal(reasons.ERROR_REASON_CORRECTION_NOT_PENDING)
    if operator_id == dispute.ruled_by:
        return Refusal(reasons.ERROR_REASON_OWN_RULING)
    return DisputeEvent(correction_decided=decided)


def _faults(
    ruled: DisputeRuled, corrections: Sequence[Correction], match: MatchFacts
) -> tuple[FieldFault, ...]:
    faults = []
    players = [correction.player_id for correction in corrections]
    if ruled.ruling != RULING_UPHELD:
        faults.append(FieldFault("corrections", "only where the complaint is upheld"))
    if sum(correction.coins for correction in corrections):
        faults.append(FieldFault("corrections", "must add up to 0"))
    if len(set(players)) != len(players):
        faults.append(FieldFault("corrections", "must name each player once"))
    for at, correction in enumerate(corrections):
        if correction.player_id not in match.sitting:
            faults.append(FieldFault(f"corrections[{at}].player_id", "must sit at the match"))
        if not correction.coins:
            faults.append(FieldFault(f"corrections[{at}].coins", "is required"))
    return tuple(faults)
