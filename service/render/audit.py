"""What an audit says, line by line."""

from collections.abc import Iterable

from domain.cards import card_name
from durak.v1 import audit_service_pb2 as api
from durak.v1.transcript_pb2 import LedgerEntry, LedgerEntryKind
from service.render.texts import printable


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


def fault_lines(report: api.AuditReport) -> list[str]:
    """The faults of a match, each on a line that names it; notes are left out.

    Of a match of the caller's own the service tells the id alone.
    """
    faults = [one for one in report.findings if one.severity == api.FINDING_SEVERITY_FAULT]
    lines = [f"{report.match_id}: {finding_line(fault)}" for fault in faults]
    return lines or [
        f"{report.match_id}: FAULTS, at a match of your own: another auditor sees them"
    ]


def ledger_lines(ledger: api.LedgerState) -> list[str]:
    """What does not hold of R12.8, a line each."""
    lines = []
    if ledger.issued_coins != ledger.available_coins + ledger.escrow_coins:
        held = f"{ledger.available_coins} available and {ledger.escrow_coins} in escrow"
        lines.append(f"fault (R12.8): {ledger.issued_coins} coins issued, {held}")
    lines += [
        f"fault (R12.8): the balance of {printable(player)} is not the sum of its transfers"
        for player in ledger.wrong_accounts
    ]
    lines += [
        f"fault (R12.8): {match_id} paid out what was not posted, or corrected what no ruling says"
        for match_id in ledger.wrong_matches
    ]
    return lines


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
    caught = (
        f"caught at version {play.challenge_version}" if play.challenge_version else "not caught"
    )
    return (
        f"illegal play, allowed at this table: version {play.version}, seat {play.seat}: "
        f"{card_name(play.card)} ({play.clause}), {caught}"
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
        f"version {entry.version:>4}  {_entry_kind(entry):6}  "
        f"{printable(entry.player_id)}  {entry.coins:+d}"
        for entry in entries
        if entry.player_id
    ]


def _entry_kind(entry: LedgerEntry) -> str:
    if entry.kind not in LedgerEntryKind.values():
        return str(entry.kind)
    return LedgerEntryKind.Name(entry.kind).removeprefix("LEDGER_ENTRY_KIND_").lower()
