"""Disputes: who may open one, rule on it, and decide on its corrections.

A dispute is folded from its own stream of records, like a match. People judge the complaint and the
evidence; nothing here reads a card.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

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
    """The facts of a match that disputes depend on. A log that cannot be folded has them too."""

    head_version: int
    sitting: frozenset[str]
    """The players who have a seat."""
    ever_sat: frozenset[str]
    """The players who have or had a seat."""
    is_dealt: bool
    """True once no seat can be taken: the cards are dealt, or the table is closed."""
    ended_us: int | None
    stake_coins: int
    corrected_coins: int = 0
    """The coins that the corrections of other disputes about the match have moved."""

    @property
    def bank_coins(self) -> int:
        """Return the stakes of all seats."""
        return self.stake_coins * len(self.sitting)


def facts_of(records: Iterable[Record]) -> MatchFacts:
    """Return the facts of a match from its readable records, in order."""
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
                is_dealt, ended_us = True, _microseconds(record.event_time)
    sitting = frozenset(seats.values())
    return MatchFacts(head, sitting, frozenset(ever_sat), is_dealt, ended_us, stake)


def _microseconds(time: Timestamp) -> int:
    """Return a time in microseconds since the epoch; 0 for one before it, in a corrupt record."""
    return max(0, time.seconds * MICROSECONDS + time.nanos // 1000)


def _valid_microseconds(time: Timestamp) -> int:
    """Return a time in microseconds since the epoch. Raises CorruptLogError."""
    try:
        return time.ToMicroseconds()
    except ValueError as error:
        raise CorruptLogError("an invalid time") from error


@dataclass(slots=True)
class Dispute:
    """The state of one dispute; version 0 before it is opened."""

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
    """By request id, the record that the request made."""

    def apply(self, record: DisputeRecord) -> None:
        """Fold the next record. Raises CorruptLogError if it cannot be the next one."""
        kind = record.event.WhichOneof("kind")
        time_us = _valid_microseconds(record.event_time)
        is_first = self.version == 0
        if record.version != self.version + 1 or time_us < self.time_us:
            raise CorruptLogError(f"version {record.version} follows version {self.version}")
        is_foreign = not is_first and record.dispute_id != self.dispute_id
        if is_first != (kind == "opened") or is_foreign:
            raise CorruptLogError(f"{kind} at version {record.version} of a dispute")
        self.dispute_id, self.version, self.time_us = record.dispute_id, record.version, time_us
        self.requests[record.request_id] = record
        match kind:
            case "opened":
                self._open(record, time_us)
            case "ruled":
                self._rule(record)
            case "correction_decided":
                self._decide_correction(record.event.correction_decided)
            case _:
                raise CorruptLogError("an event of an unknown kind")

    def _open(self, record: DisputeRecord, time_us: int) -> None:
        complaint = record.event.opened
        try:
            UUID(complaint.match_id)
        except ValueError as error:
            raise CorruptLogError("a complaint about no match") from error
        self.opened_us, self.opened_by = time_us, record.actor_id
        self.complaint = complaint
        self.status = DISPUTE_STATUS_OPEN

    def _rule(self, record: DisputeRecord) -> None:
        if self.status != DISPUTE_STATUS_OPEN:
            raise CorruptLogError("a ruling on a dispute that is not open")
        self.ruled, self.ruled_by = record.event.ruled, record.actor_id
        has_corrections = bool(self.ruled.corrections)
        self.status = (
            DISPUTE_STATUS_CORRECTION_PENDING if has_corrections else _final_status(self.ruled)
        )

    def _decide_correction(self, decided: CorrectionDecided) -> None:
        if self.status != DISPUTE_STATUS_CORRECTION_PENDING or self.ruled is None:
            raise CorruptLogError("a decision while no correction is pending")
        if decided.decision == CORRECTION_DECISION_APPROVED:
            self.status = _final_status(self.ruled)
        else:
            self.status, self.ruled, self.ruled_by = DISPUTE_STATUS_OPEN, None, ""

    def corrections(self) -> dict[str, int]:
        """Return the coins by player that the ruling moves: positive are given, negative taken."""
        corrections = () if self.ruled is None else self.ruled.corrections
        return {correction.player_id: correction.coins for correction in corrections}


def _final_status(ruled: DisputeRuled) -> DisputeStatus.ValueType:
    return DISPUTE_STATUS_UPHELD if ruled.ruling == RULING_UPHELD else DISPUTE_STATUS_REJECTED


def fold_dispute(records: Iterable[DisputeRecord]) -> Dispute:
    """Return a dispute from its records. Raises CorruptLogError."""
    dispute = Dispute()
    for record in records:
        dispute.apply(record)
    return dispute


# --- commands ------------------------------------------------------------------------------------


class OpenDispute(NamedTuple):
    """A player complains about a match, at most `window_seconds` after its end."""

    opened: DisputeOpened
    now_us: int
    window_seconds: int

    def event(self) -> DisputeEvent:
        """Return the event that the command makes if it is not refused."""
        return DisputeEvent(opened=self.opened)


class Rule(NamedTuple):
    """An auditor rules on a dispute. The ruling can propose corrections of coins."""

    ruled: DisputeRuled

    def event(self) -> DisputeEvent:
        """Return the event that the command makes if it is not refused."""
        return DisputeEvent(ruled=self.ruled)


class DecideCorrection(NamedTuple):
    """An operator approves or declines the corrections of a ruling."""

    decided: CorrectionDecided

    def event(self) -> DisputeEvent:
        """Return the event that the command makes if it is not refused."""
        return DisputeEvent(correction_decided=self.decided)


Command = OpenDispute | Rule | DecideCorrection


def decide(
    dispute: Dispute, match: MatchFacts, actor_id: str, command: Command
) -> DisputeEvent | Refusal:
    """Return the event that a command makes, or why it is refused. Changes nothing.

    Args:
        dispute: the dispute as it is now.
        match: the facts of the match that it is about.
        actor_id: the player, auditor or operator who gives the command.
        command: the command.
    """
    refusal = _refusal(dispute, match, actor_id, command)
    return command.event() if refusal is None else refusal


def _refusal(
    dispute: Dispute, match: MatchFacts, actor_id: str, command: Command
) -> Refusal | None:
    match command:
        case OpenDispute():
            return _refuse_opening(dispute, match, actor_id, command)
        case Rule():
            return _refuse_ruling(dispute, match, actor_id, command.ruled)
        case DecideCorrection():
            return _refuse_decision(dispute, match, actor_id, command.decided)


def _refuse_opening(
    dispute: Dispute, match: MatchFacts, player_id: str, command: OpenDispute
) -> Refusal | None:
    opened = command.opened
    if dispute.version:
        return Refusal(reasons.ERROR_REASON_REQUEST_ID_REUSED)
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
        until_us = match.ended_us + command.window_seconds * MICROSECONDS
        if command.now_us > until_us:
            until = datetime.fromtimestamp(until_us // MICROSECONDS, UTC).isoformat()
            return Refusal(reasons.ERROR_REASON_DISPUTE_TOO_LATE, metadata={"until": until})
    return None


def _refuse_ruling(
    dispute: Dispute, match: MatchFacts, auditor_id: str, ruled: DisputeRuled
) -> Refusal | None:
    if auditor_id in match.ever_sat:
        return Refusal(reasons.ERROR_REASON_OWN_MATCH)
    if match.ended_us is None:  # or a player learns of cheats (R11.2) and hands before the end
        return Refusal(reasons.ERROR_REASON_MATCH_NOT_ENDED)
    if dispute.status != DISPUTE_STATUS_OPEN:
        return Refusal(reasons.ERROR_REASON_DISPUTE_NOT_OPEN)
    if ruled.corrections:
        if not match.stake_coins:
            return Refusal(reasons.ERROR_REASON_NO_STAKE)
        faults = _correction_faults(ruled, match)
        if faults:
            return Refusal(reasons.ERROR_REASON_CORRECTION_UNBALANCED, fields=faults)
    return _refuse_over_bank(ruled, match)


def moved_coins(ruled: DisputeRuled) -> int:
    """Return the coins that a ruling moves: the sum of its positive corrections."""
    return sum(max(0, correction.coins) for correction in ruled.corrections)


def _refuse_over_bank(ruled: DisputeRuled, match: MatchFacts) -> Refusal | None:
    """Refuse corrections that would move more than the bank, over all disputes of a match."""
    left = max(0, match.bank_coins - match.corrected_coins)
    if moved_coins(ruled) <= left:
        return None
    metadata = {"bank_coins": str(match.bank_coins), "left_coins": str(left)}
    return Refusal(reasons.ERROR_REASON_CORRECTION_OVER_BANK, clause="R12.3", metadata=metadata)


def _correction_faults(ruled: DisputeRuled, match: MatchFacts) -> tuple[FieldFault, ...]:
    faults = []
    corrections = ruled.corrections
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


def _refuse_decision(
    dispute: Dispute, match: MatchFacts, operator_id: str, decided: CorrectionDecided
) -> Refusal | None:
    """Refuse an operator who made the ruling or ever had a seat in the match."""
    if operator_id in match.ever_sat:
        return Refusal(reasons.ERROR_REASON_OWN_MATCH)
    if dispute.status != DISPUTE_STATUS_CORRECTION_PENDING:
        return Refusal(reasons.ERROR_REASON_CORRECTION_NOT_PENDING)
    if operator_id == dispute.ruled_by:
        return Refusal(reasons.ERROR_REASON_OWN_RULING)
    if decided.decision == CORRECTION_DECISION_APPROVED and dispute.ruled is not None:
        return _refuse_over_bank(dispute.ruled, match)
    return None
