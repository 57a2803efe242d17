"""The evidence of a dispute: the table before and after, the event judged again, and the coins."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from domain.audit import AuditReport, Finding, Kind, Severity
from durak.v1 import dispute_service_pb2 as api
from durak.v1.audit_service_pb2 import OpenState
from durak.v1.events_pb2 import TOOK_REASON_DECLARED, Record
from eventstore import StoredRecord
from eventstore.whole_matches import WholeMatch
from service.judging.judge import Case, judge
from service.judging.ledger_entries import entries_of
from service.judging.messages import (
    finding_message,
    folded_state,
    record_message,
    report_message,
)
from service.judging.records import readable_record
from service.rpc.errors import Refused

_CLAUSES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "table_opened": ("R2.1", "R2.2"),
        "seat_taken": ("R3.0", "R12.2"),
        "seat_vacated": ("R3.0", "R12.2"),
        "seed_revealed": ("R3.6",),
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
"""By kind of event, the clauses that it follows; `attacked` and `took` depend on more."""
_LEAD: Final = ("R4.1",)
_THROW_IN: Final = ("R4.3", "R5.1", "R5.2")
_PAYOUT: Final = ("R12.3", "R12.4", "R12.5", "R12.6")
_COIN_KINDS: Final = frozenset(
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


def evidence(case: Case, complaint: api.DisputeOpened) -> api.DisputeEvidence:
    """Return everything that an auditor needs to rule.

    What a corrupt log does not give is left out: a state that cannot be folded, a missing record.
    """
    match = case.match
    is_payout = complaint.WhichOneof("about") == "payout"
    version = len(match.records) if is_payout else complaint.version
    report = judge(*case).report
    before, after = _state(match, version - 1), _state(match, version)
    verdict = (
        _verdict([one for one in report.findings if one.kind in _COIN_KINDS], _PAYOUT)
        if is_payout
        else _verdict_at(report, version, match.records[version - 1 : version], before)
    )
    return api.DisputeEvidence(
        before=before,
        records=map(record_message, _command_of(match.records, version)),
        after=after,
        verdict=verdict,
        report=report_message(match.match_id, report),
        ledger=entries_of(match.records, match.transfers),
    )


def _verdict_at(
    report: AuditReport, version: int, stored: Sequence[StoredRecord], before: OpenState | None
) -> api.EventVerdict:
    record = readable_record(stored[0]) if stored else None
    usual = () if record is None else _usual_clauses(record, before)
    verdict = _verdict([one for one in report.findings if one.version == version], usual)
    for cheat in report.cheats:
        if cheat.version == version:
            verdict.illegal_play = True
            verdict.clauses[:] = (cheat.clause, "R11.1")
    return verdict


def _verdict(findings: Sequence[Finding], usual: Sequence[str]) -> api.EventVerdict:
    """Return a verdict with the broken clauses, or the usual ones if nothing is broken."""
    broken = [one.clause for one in findings if one.severity is Severity.FAULT]
    return api.EventVerdict(
        ok=not broken,
        clauses=dict.fromkeys(broken) if broken else usual,
        findings=map(finding_message, findings),
    )


def _usual_clauses(record: Record, before: OpenState | None) -> Sequence[str]:
    kind = record.event.WhichOneof("kind") or ""
    if kind == "attacked":
        return _THROW_IN if before is not None and before.view.table else _LEAD
    if kind == "took":
        return ("R7.2",) if record.event.took.reason == TOOK_REASON_DECLARED else ("R11.4",)
    return _CLAUSES.get(kind, ())


def _state(match: WholeMatch, version: int) -> OpenState | None:
    """Return the table at a version, or None if it cannot be folded."""
    if not 0 < version <= len(match.records):
        return None
    try:
        return folded_state(match.match_id, match.records[:version])
    except Refused:
        return None


def _command_of(stored: Sequence[StoredRecord], version: int) -> Sequence[StoredRecord]:
    """Return the records of the command that made a version."""
    at = version - 1
    if at >= len(stored):
        return ()
    command = _command(stored[at])
    first = last = at
    while first > 0 and _command(stored[first - 1]) == command:
        first -= 1
    while last + 1 < len(stored) and _command(stored[last + 1]) == command:
        last += 1
    return stored[first : last + 1]


def _command(stored: StoredRecord) -> object:
    """Return what the records of one command have in common."""
    record = readable_record(stored)
    if record is None:
        return stored.version  # a group of its own
    time = record.event_time
    return record.actor_kind, record.actor_id, record.request_id, time.seconds, time.nanos
