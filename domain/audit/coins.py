"""Judges every coin of a match against its events (R12)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from domain.audit.findings import Finding, Kind, Notebook
from domain.audit.ledger import CLAUSE, due_transfers, judge_entries
from domain.audit.records import Log
from domain.audit.score import Score
from durak.v1.transcript_pb2 import (
    LEDGER_ENTRY_KIND_PAYOUT,
    LEDGER_ENTRY_KIND_REFUND,
    LEDGER_ENTRY_KIND_STAKE,
    LedgerEntry,
)

_MOVES: Final[Mapping[int, tuple[Kind, str]]] = MappingProxyType(
    {
        LEDGER_ENTRY_KIND_STAKE: (Kind.STAKE, "R12.2"),
        LEDGER_ENTRY_KIND_REFUND: (Kind.REFUND, "R12.5"),
        LEDGER_ENTRY_KIND_PAYOUT: (Kind.PAYOUT, "R12.3"),
    }
)
"""By kind of entry, the kind of finding and the clause."""


class Move(NamedTuple):
    """Identifies a movement of a player's coins."""

    kind: int
    """`LedgerEntryKind` by number."""
    version: int
    player_id: str


def judge_coins(
    log: Log, stake: int, score: Score | None, ledger: Iterable[LedgerEntry]
) -> list[Finding]:
    """Judge all ledger entries of a match: none may be missing, left over or out of place.

    ``score`` is the result by the rules, None while the match runs.
    """
    notes = Notebook()
    entries = list(ledger)
    dues = due_transfers(log.entries, stake, score)
    judge_entries(log, dues, entries, notes)
    expected: Counter[Move] = Counter()
    for due in dues:
        expected[Move(due.kind, due.version, due.player_id)] += due.coins
    moved: Counter[Move] = Counter()
    for entry in entries:
        if entry.player_id and entry.kind in _MOVES:  # others are not due at all
            moved[Move(entry.kind, entry.version, entry.player_id)] += entry.coins
    for move in sorted(expected.keys() | moved.keys()):
        if expected[move] != moved[move]:
            notes.version = move.version
            kind, clause = _MOVES[move.kind]
            coins = f"{expected[move]} coins for {move.player_id}"
            notes.fault(kind, clause, coins, f"{moved[move]} coins")
    _judge_escrow(log, entries, sum(due.coins for due in dues), notes)
    return notes.findings


def _judge_escrow(
    log: Log, entries: Iterable[LedgerEntry], moved_to_players: int, notes: Notebook
) -> None:
    """R12.8: the escrow holds what the players put in and did not get back."""
    held = sum(entry.coins for entry in entries if not entry.player_id)
    notes.version = log.head_version
    if held != -moved_to_players:
        notes.fault(Kind.ESCROW, CLAUSE, f"{-moved_to_players} coins", f"{held} coins")
