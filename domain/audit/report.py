"""The audit of one match: from its stored records, and its ledger entries, to a report."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from domain.audit.coins import judge_coins
from domain.audit.findings import Cheat, Finding, Kind, Notebook, Severity, Verdict
from domain.audit.records import Log, Stored, read_records
from domain.audit.referee import Reading, read_log
from domain.audit.seal import Sealed, judge_seals
from durak.v1.transcript_pb2 import LedgerEntry

FORKS_MAX: Final = 8


class Facts(NamedTuple):
    """The match as the audit reads it, with or without faults."""

    match_id: bytes
    head_version: int
    head_hash: bytes
    """Recomputed from the first record on."""
    started_us: int
    ended_us: int
    is_ended: bool
    outcome: int
    """`Outcome` by the rules; 0 while the match runs."""
    players: tuple[str, ...]
    """By seat; empty for a bot or a free seat."""
    stake_coins: int
    shares: tuple[int, ...]
    """By seat, by the rules; all 0 while the match runs."""
    bouts: int
    followed_log: tuple[int, ...]
    """Versions from which the audit goes on from the log, against the rules."""


class AuditReport(NamedTuple):
    """The outcome of an audit."""

    ok: bool
    """True if there is no fault. Notes do not count."""
    findings: tuple[Finding, ...]
    """By version."""
    cheats: tuple[Cheat, ...]
    verdicts: tuple[Verdict, ...]
    facts: Facts
    coins_checked: bool
    """True if ledger entries were given, so that every coin is judged."""


def audit(
    stored: Iterable[Stored],
    *,
    match_id: bytes | None = None,
    ledger: Iterable[LedgerEntry] | None = None,
    seals: Iterable[Sealed] = (),
) -> AuditReport:
    """Judge everything that the records of a match, and its ledger entries, can prove.

    Never raises on bad input: a record that cannot be read is a finding. The audit goes on after a
    fault as well as it can. Where the log contradicts the rules it can go on from either;
    `Facts.followed_log` names the versions where it goes on from the log.

    Args:
        stored: (version, record bytes, hash) from version 1 on, in stored order.
        match_id: 16 bytes, the stream's id in the store; None takes that of the first record.
        ledger: all entries of the match; None leaves coins unjudged.
        seals: the leaf of the match in the signed tree, if it has one.
    """
    notes = Notebook()
    log = read_records(stored, match_id, notes)
    reading = _best_reading(log)
    findings = notes.findings + reading.findings
    state = reading.state
    if ledger is not None:
        stake = 0 if state is None else state.table.stake
        findings += judge_coins(log, stake, None if state is None else state.score, ledger)
    findings += judge_seals(log, seals)
    findings.sort(key=_by_version)
    return AuditReport(
        ok=all(finding.severity is Severity.NOTE for finding in findings),
        findings=tuple(findings),
        cheats=reading.cheats,
        verdicts=reading.verdicts,
        facts=_facts(log, reading),
        coins_checked=ledger is not None,
    )


def failed_audit(match_id: bytes, reason: str) -> AuditReport:
    """Return the report of a match on which the audit itself failed: one fault."""
    notes = Notebook()
    notes.fault(Kind.UNREADABLE, "audit", "records that can be judged", reason)
    reading = Reading(frozenset(), [])
    facts = _facts(Log(match_id, [], 0, b""), reading)
    return AuditReport(
        ok=False,
        findings=tuple(notes.findings),
        cheats=(),
        verdicts=(),
        facts=facts,
        coins_checked=False,
    )


def _by_version(finding: Finding) -> int:
    return finding.version


def _best_reading(log: Log) -> Reading:
    """Return the reading of the log with the fewest findings.

    After a lie a log may go on from the rules or from the lie. So each version where the log
    contradicts the rules is read both ways, up to `FORKS_MAX` versions.
    """
    best = read_log(log)
    tried: set[int] = set()
    for _ in range(FORKS_MAX):
        fork = next((version for version in best.forks if version not in tried), None)
        if fork is None:
            break
        tried.add(fork)
        other = read_log(log, best.follow | {fork})
        if len(other.findings) < len(best.findings):
            best = other
    return best


def _facts(log: Log, reading: Reading) -> Facts:
    state = reading.state
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
        followed_log=tuple(sorted(reading.follow)),
    )
