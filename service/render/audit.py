"""The results of an audit, line by line. Audits speak English only."""

from collections.abc import Iterable

from domain.cards import card_name
from durak.v1 import audit_service_pb2 as api
from durak.v1.transcript_pb2 import LedgerEntry, LedgerEntryKind
from service.render.texts import printable


def report_lines(report: api.AuditReport) -> list[str]:
    """Return the verdict on a match, its findings, illegal plays and challenges."""
    verdict = "no faults" if report.ok else "FAULTS"
    state = "ended" if report.ended else "running"
    return [
        f"{report.match_id}: {verdict}; {state}, {report.head_version} records",
        *(f"  {finding_line(finding)}" for finding in report.findings),
        *(f"  {illegal_play_line(play)}" for play in report.illegal_plays),
        *(f"  {challenge_line(verdict)}" for verdict in report.verdicts),
    ]


def fault_lines(report: api.AuditReport) -> list[str]:
    """Return the faults of a match, one on a line with the match id. Notes are left out.

    The service reports no findings for a match that runs or that the caller played in, only that it
    has faults.
    """
    faults = [one for one in report.findings if one.severity == api.FINDING_SEVERITY_FAULT]
    lines = [f"{report.match_id}: {finding_line(fault)}" for fault in faults]
    hidden = "FAULTS in a match that runs (open it with a reason) or that you played in"
    return lines or [f"{report.match_id}: {hidden}: ask another auditor for them"]


def ledger_lines(ledger: api.LedgerState) -> list[str]:
    """Return each way in which the ledger breaks R12.8."""
    lines = []
    if ledger.issued_coins != ledger.available_coins + ledger.escrow_coins:
        held = f"{ledger.available_coins} available and {ledger.escrow_coins} in escrow"
        lines.append(f"fault (R12.8): {ledger.issued_coins} coins issued, {held}")
    lines += [
        f"fault (R12.8): the balance of {printable(player)} is not the sum of its transfers"
        for player in ledger.wrong_accounts
    ]
    lines += [
        f"fault (R12.8): match {match_id} did not pay out the coins that were posted to it"
        for match_id in ledger.wrong_matches
    ]
    lines += [
        f"fault (R12.8): dispute {dispute_id} moved other coins than an approved ruling corrects"
        for dispute_id in ledger.wrong_corrections
    ]
    lines += [
        f"fault (design: checkpoints): dispute {dispute_id} has other records than those that were "
        "signed, or no valid ones"
        for dispute_id in ledger.wrong_disputes
    ]
    lines += [
        f"fault (design: checkpoints): record {version} of the administrative log is missing, not "
        "valid, or not the one that was signed"
        for version in ledger.wrong_administrative_versions
    ]
    lines += [
        f"fault (R12.9): grant {grant_id} is not the same in the ledger and the administrative log"
        for grant_id in ledger.wrong_grants
    ]
    return lines


def operator_lines(ledger: api.LedgerState) -> list[str]:
    """Return the coins that each operator issued."""
    return [
        f"{printable(one.operator_id)} granted {one.coins} coins in {one.grants} grants, and "
        f"{one.approved_coins} in {one.approved_grants} that another operator proposed"
        for one in ledger.operator_grants
    ]


def finding_line(finding: api.Finding) -> str:
    """Return a finding in the format of `str(domain.audit.Finding)`."""
    severity = api.FindingSeverity.Name(finding.severity).removeprefix("FINDING_SEVERITY_").lower()
    kind = api.FindingKind.Name(finding.kind).removeprefix("FINDING_KIND_").lower()
    seat = f", seat {finding.seat}" if finding.HasField("seat") else ""
    return (
        f"{severity} {kind} ({finding.clause}) at version {finding.version}{seat}: "
        f"expected {finding.expected}, found {finding.found}"
    )


def illegal_play_line(play: api.IllegalPlay) -> str:
    """Return an illegal play at a tricky table (R11.1)."""
    caught = (
        f"caught at version {play.challenge_version}" if play.challenge_version else "not caught"
    )
    return (
        f"illegal play, allowed at this table: version {play.version}, seat {play.seat}: "
        f"{card_name(play.card)} ({play.clause}), {caught}"
    )


def challenge_line(verdict: api.ChallengeVerdict) -> str:
    """Return a challenge as the audit judges it (R11.4)."""
    broken = f"it broke {verdict.clause}" if verdict.upheld else "it was legal"
    return (
        f"challenge at version {verdict.version}, seat {verdict.accuser} against seat "
        f"{verdict.accused}: the play at version {verdict.play_version}; {broken}"
    )


def coin_lines(entries: Iterable[LedgerEntry]) -> list[str]:
    """Return the entries of player accounts: version, kind, player, coins with a sign."""
    return [
        f"version {entry.version:>4}  {entry_kind(entry):6}  "
        f"{printable(entry.player_id)}  {entry.coins:+d}"
        for entry in entries
        if entry.player_id
    ]


def entry_kind(entry: LedgerEntry) -> str:
    """Return the kind of a ledger entry as a word; a number if the kind is unknown."""
    if entry.kind not in LedgerEntryKind.values():
        return str(entry.kind)
    return LedgerEntryKind.Name(entry.kind).removeprefix("LEDGER_ENTRY_KIND_").lower()
