"""The evidence of a dispute: the table before and after, the event judged anew, and the coins."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from domain.audit import AuditReport, Finding, Kind, Severity
from durak.v1 import dispute_service_pb2 as api
from durak.v1.audit_service_pb2 import OpenState
from durak.v1.events_pb2 import TOOK_REASON_DECLARED, Record
from eventstore import StoredRecord
from eventstore.whole_matches import WholeMatch
from service.judging.judge import judge
from service.judging.ledger_entries import entries_of
from service.judging.messages import (
    finding_message,
    read_record,
    record_message,
    report_message,
    state_at,
)
from service.rpc.errors import Refused

_CLAUSES: Final = MappingProxyType(
    {
        "table_opened": ("R2.1", "R2.2"),
        "seat_taken": ("R3.0", "R12.2"),
        "seat_vacated": ("R3.0", "R12.2"),
        "dealt": ("R3.1", "R3.2", "R3.3", "R3.4"),
        "defended": ("R1.3", "R4.2"),
        "transferred": ("R6.1", "R6.2"),
        "passed": ("R5.3",),
        "take_declared": ("R7.2",),
        "discarded": ("R7.1",),
        "drew": ("R8.1", "R8.2"),
        "went_out": ("R9.1", "R9.2"),
        "challenged": ("R11.3", "R11.4"),
        "timed_out": ("R10.1", "R10.2"),
        "left": ("R10.3", "R10.4", "R10.8"),
        "finished": ("R9.3", "R9.4", "R9.5", "R9.6"),
    }
)
"""By kind of event, the clauses that it goes by; those of attacked and took depend on more."""
_LEAD: Final = ("R4.1",)
_THROW_IN: Final = ("R4.3", "R5.1", "R5.2")
_PAYOUT: Final = ("R12.3", "R12.4", "R12.5", "R12.6")
_ABOUT_COINS: Final = frozenset(
    (
        Kind.OUTCOME,
        Kind.PLACE,
        Kind.SHARE,
        Kind.STAKE,
        Kind.REFUND,
        Kind.PAYOUT,
        Kind.ESCROW,
        Kind.LEDGER,
    )
)


def evidence(match: WholeMatch, complaint: api.DisputeOpened) -> api.DisputeEvidence:
    """All that an auditor needs. States that a corrupt log does not give are left out."""
    is_payout = complaint.WhichOneof("about") == "payout"
    version = match.records[-1].version if is_payout else complaint.version
    report = judge(match).report
    found = api.DisputeEvidence(
        records=map(record_message, _command_of(match.records, version)),
        report=report_message(match.match_id, report),
        ledger=entries_of(match.records, match.transfers),
    )
    before, after = _state(match, version - 1), _state(match, version)
    if before is not None:
        found.before.CopyFrom(before)
    if after is not None:
        found.after.CopyFrom(after)
    verdict = (
        _verdict(_on_coins(report), _PAYOUT)
        if is_payout
        else _verdict_at(report, version, match.records[version - 1], before)
    )
    found.verdict.CopyFrom(verdict)
    return found


def _verdict_at(
    report: AuditReport, version: int, stored: StoredRecord, before: OpenState | None
) -> api.EventVerdict:
    record = read_record(stored)
    usual = () if record is None else _usual_clauses(record, before)
    verdict = _verdict([one for one in report.findings if one.version == version], usual)
    for cheat in report.cheats:
        if cheat.version == version:
            verdict.illegal_play = True
            del verdict.clauses[:]
            verdict.clauses.extend((cheat.clause, "R11.1"))
    return verdict


def _verdict(findings: Sequence[Finding], usual: Sequence[str]) -> api.EventVerdict:
    broken = [one.clause for one in findings if one.severity is Severity.FAULT]
    return api.EventVerdict(
        ok=not broken,
        clauses=dict.fromkeys(broken) if broken else usual,
        findings=map(finding_message, findings),
    )


def _on_coins(report: AuditReport) -> list[Finding]:
    return [one for one in report.findings if one.kind in _ABOUT_COINS]


def _usual_clauses(record: Record, before: OpenState | None) -> Sequence[str]:
    kind = record.event.WhichOneof("kind") or ""
    if kind == "attacked":
        return _THROW_IN if before is not None and before.view.table else _LEAD
    if kind == "took":
        return ("R7.2",) if record.event.took.reason == TOOK_REASON_DECLARED else ("R11.4",)
    return _CLAUSES.get(kind, ())


def _state(match: WholeMatch, version: int) -> OpenState | None:
    if not version:
        return None
    try:
        return state_at(match, version)
    except Refused:
        return None


def _command_of(stored: Sequence[StoredRecord], version: int) -> Sequence[StoredRecord]:
    """The records around a version that the same command made."""
    command = _command(stored[version - 1])
    first = last = version - 1
    while first > 0 and _command(stored[first - 1]) == command:
        first -= 1
    while last + 1 < len(stored) and _command(stored[last + 1]) == command:
        last += 1
    return stored[first : last + 1]


def _command(stored: StoredRecord) -> object:
    record = read_record(stored)
    if record is None:
        return stored.version  # alone
    time_us = record.event_time.ToMicroseconds()
    return record.actor_kind, record.actor_id, record.request_id, time_us
