"""The audit of one match, from its stored records alone."""

from collections.abc import Iterable
from typing import Final

from domain.audit.coins import LedgerEntry, judge_coins
from domain.audit.findings import AuditReport, Facts, Finding, Notebook, Severity
from domain.audit.records import Log, Stored, read
from domain.audit.referee import Referee

FORKS_MAX: Final = 8


def audit(
    stored: Iterable[Stored],
    *,
    match_id: bytes | None = None,
    ledger: Iterable[LedgerEntry] | None = None,
) -> AuditReport:
    """Judge everything about a match that its records, and its ledger entries, can prove.

    It never raises on bad input: what cannot be read is a finding. It goes on after a fault as well
    as it can; where the rules and the log part, `Facts.followed_log` names the versions from which
    on the log was followed.

    Args:
        stored: (version, record bytes, hash) from version 1 on, in the order in which they stand.
        match_id: 16 bytes, as the store calls the match; None takes the first record's word.
        ledger: all entries of the match; None where coins are not to be judged.
    """
    notes = Notebook()
    log = read(stored, match_id, notes)
    referee = _best_reading(log)
    findings = notes.findings + referee.notes.findings
    state = referee.state
    score = None if state is None else state.score
    stake = 0 if state is None else state.table.stake
    if ledger is not None:
        findings += judge_coins(log, stake, score, ledger)
    findings.sort(key=_by_version)
    return AuditReport(
        ok=all(finding.severity is Severity.NOTE for finding in findings),
        findings=tuple(findings),
        cheats=referee.cheats(),
        verdicts=tuple(referee.verdicts),
        facts=_facts(log, referee),
        coins_checked=ledger is not None,
    )


def _by_version(finding: Finding) -> int:
    return finding.version


def _best_reading(log: Log) -> Referee:
    """The reading of the log that leaves the least unexplained.

    A log may tell one lie or live by it: where it says something else than the rules, what follows
    fits the one or the other.
    """
    best = _heard(log, frozenset())
    tried: set[int] = set()
    for _ in range(FORKS_MAX):
        fork = next((version for version in best.forks if version not in tried), None)
        if fork is None:
            break
        tried.add(fork)
        other = _heard(log, frozenset(best.follow) | {fork})
        if len(other.notes.findings) < len(best.notes.findings):
            best = other
    return best


def _heard(log: Log, follow: frozenset[int]) -> Referee:
    referee = Referee(log, follow)
    for entry in log.entries:
        referee.hear(entry)
    referee.close()
    return referee


def _facts(log: Log, referee: Referee) -> Facts:
    state = referee.state
    times = [entry.command.time_us for entry in log.entries]
    score = None if state is None else state.score
    seats = range(0 if state is None else state.table.size)
    sitting = {} if state is None else state.table.seats
    return Facts(
        match_id=log.match_id,
        head_version=log.head_version,
        head_hash=log.head_hash,
        started_us=times[0] if times else 0,
        ended_us=times[-1] if times else 0,
        is_ended=state is not None and state.is_ended,
        outcome=0 if score is None else score.outcome,
        players=tuple(sitting[seat].player_id if seat in sitting else "" for seat in seats),
        stake_coins=0 if state is None else state.table.stake,
        shares=tuple(0 if score is None else score.shares.get(seat, 0) for seat in seats),
        bouts=0 if state is None else state.bouts,
        followed_log=tuple(sorted(referee.follow)),
    )
