"""Audit reports, open tables and stored records as messages of the contract."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final
from uuid import UUID

from domain.audit import AuditReport, Cheat, Finding, Severity, Verdict
from domain.cards import cards_in
from domain.match.fold import CorruptLogError, Match, fold
from domain.match.moves import legal_moves
from domain.match.view import table_view
from durak.v1 import audit_service_pb2 as api
from durak.v1 import errors_pb2 as reasons
from eventstore import StoredRecord, first_hash
from service.judging.records import readable_record
from service.rpc.errors import refuse
from service.stored_records import read_records

_SEVERITIES: Final = MappingProxyType(
    {
        Severity.FAULT: api.FINDING_SEVERITY_FAULT,
        Severity.NOTE: api.FINDING_SEVERITY_NOTE,
    }
)


def report_message(match_id: UUID, report: AuditReport) -> api.AuditReport:
    """Return the audit report of a match."""
    facts = report.facts
    return api.AuditReport(
        match_id=str(match_id),
        ok=report.ok,
        findings=map(finding_message, report.findings),
        illegal_plays=map(_illegal_play, report.cheats),
        verdicts=map(_verdict, report.verdicts),
        head_version=facts.head_version,
        head_hash=facts.head_hash,
        ended=facts.is_ended,
        outcome=facts.outcome,  # type: ignore[arg-type] # by number
        share_coins=facts.shares if facts.is_ended else (),
    )


def finding_message(finding: Finding) -> api.Finding:
    """Return one finding of an audit."""
    return api.Finding(
        kind=api.FindingKind.Value(f"FINDING_KIND_{finding.kind.name}"),
        severity=_SEVERITIES[finding.severity],
        clause=finding.clause,
        version=finding.version or None,
        seat=finding.seat,
        expected=finding.expected,
        found=finding.found,
    )


def _illegal_play(cheat: Cheat) -> api.IllegalPlay:
    return api.IllegalPlay(
        version=cheat.version,
        seat=cheat.seat,
        card=cheat.card,  # type: ignore[arg-type] # by number
        clause=cheat.clause,
        challenge_version=cheat.caught_by or None,
    )


def _verdict(verdict: Verdict) -> api.ChallengeVerdict:
    return api.ChallengeVerdict(
        version=verdict.version,
        accuser=verdict.accuser,
        play_version=verdict.play_version,
        accused=verdict.accused,
        clause=verdict.clause,
        upheld=verdict.upheld,
    )


def open_state(match: Match) -> api.OpenState:
    """Return the table with all cards open. For auditors only; others get `table_view`."""
    return api.OpenState(
        view=table_view(match, None),
        seats=[
            api.OpenSeat(seat=seat, hand=cards_in(hand), moves=legal_moves(match, seat))
            for seat, hand in enumerate(match.hands)
        ],
        stock=reversed(match.stock),
        discarded=cards_in(match.discard),
        illegal_play_versions=sorted(match.cheats),
    )


def folded_state(match_id: UUID, records: Sequence[StoredRecord]) -> api.OpenState:
    """Return the open table after the first records of a match. Raises Refused LOG_CORRUPT."""
    try:
        folded = fold(read_records(records, first_hash(match_id)))
    except CorruptLogError as error:
        raise refuse(reasons.ERROR_REASON_LOG_CORRUPT, match_id=str(match_id)) from error
    state = open_state(folded)
    state.view.server_time.GetCurrentTime()
    return state


def record_message(stored: StoredRecord) -> api.StoredRecord:
    """Return a stored record with its hash; the parsed record only if it can be read."""
    return api.StoredRecord(
        version=stored.version,
        stored=stored.record,
        hash=stored.hash,
        record=readable_record(stored),
    )
