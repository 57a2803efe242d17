"""What an audit says, line by line."""

from collections.abc import Iterable

from domain.cards import name
from durak.v1 import audit_service_pb2 as api
from durak.v1.transcript_pb2 import LedgerEntry, LedgerEntryKind


def report_lines(report: api.AuditReport) -> list[str]:
    """The verdict over a match, its findings, illegal plays and challenges."""
    verdict = "no fault" if report.ok else "FAULTS"
    state = "ended" if report.ended else "running"
    return [
        f"{report.match_id}: {verdict}; {state}, {report.head_version} records",
        *(f"  {finding_line(finding)}" for finding in report.findings),
        *(f"  {illegal_play_line(play)}" for play in report.illegal_plays),
        *(f"  {challenge_line(verdict)}" for verdict in report.verdicts),
    ]


def finding_line(finding: api.Finding) -> str:
    """A finding as `domain.audit.Finding` writes itself."""
    severity = api.FindingSeverity.Name(finding.severity).removeprefix("FINDING_SEVERITY_").lower()
    seat = f", seat {finding.seat}" if finding.HasField("seat") else ""
    return (
        f"{severity} {finding.kind} ({finding.clause}) at version {finding.version}{seat}: "
        f"expected {finding.expected}, found {finding.found}"
    )


def illegal_play_line(play: api.IllegalPlay) -> str:
    """An illegal play of a tricky table (R11.1)."""
    caught = f"caught at version {play.caught_by}" if play.caught_by else "not caught"
    return (
        f"illegal play, allowed at this table: version {play.version}, seat {play.seat}: "
        f"{name(play.card)} ({play.clause}), {caught}"
    )


def challenge_line(verdict: api.ChallengeVerdict) -> str:
    """A challenge, judged anew (R11.4)."""
    broken = f"it broke {verdict.clause}" if verdict.upheld else "it was legal"
    return (
        f"challenge at version {verdict.version}, seat {verdict.accuser} against seat "
        f"{verdict.accused}: the play at version {verdict.play_version}; {broken}"
    )


def coin_lines(entries: Iterable[LedgerEntry]) -> list[str]:
    """The players' sides of ledger entries: version, what for, who, how many coins."""
    return [
        f"version {entry.version:>4}  {_entry_kind(entry):6}  {entry.player_id}  {entry.coins:+d}"
        for entry in entries
        if entry.player_id
    ]


def _entry_kind(entry: LedgerEntry) -> str:
    if entry.kind not in LedgerEntryKind.values():
        return str(entry.kind)
    return LedgerEntryKind.Name(entry.kind).removeprefix("LEDGER_ENTRY_KIND_").lower()
