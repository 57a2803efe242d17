"""Judges every coin of a match against its events (R12).

A transfer is two ledger entries: one of a player and one of the match's escrow, which add up to 0.
Both carry the version and the time of the event that moves the coins.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp

from domain.audit.findings import Finding, Kind, Notebook
from domain.audit.records import Entry, Log
from domain.audit.score import Score
from durak.v1.transcript_pb2 import (
    LEDGER_ENTRY_KIND_PAYOUT,
    LEDGER_ENTRY_KIND_REFUND,
    LEDGER_ENTRY_KIND_STAKE,
    LedgerEntry,
)

_CLAUSE: Final = "R12.8"
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
    """Judge all ledger entries of a match: none may be missing or left over.

    ``score`` is the result by the rules, None while the match runs.
    """
    notes = Notebook()
    entries = list(ledger)
    _judge_entries(log, entries, notes)
    _judge_transfers(entries, notes)
    expected = _expected_moves(log.entries, stake, score)
    moved: Counter[Move] = Counter()
    for entry in entries:
        if entry.player_id:
            moved[Move(entry.kind, entry.version, entry.player_id)] += entry.coins
    for move in sorted(expected.keys() | moved.keys()):
        coins = expected.get(move, 0)
        if coins != moved.get(move, 0):
            notes.version = move.version
            kind, clause = _MOVES.get(move.kind, (Kind.LEDGER, _CLAUSE))
            found = f"{moved.get(move, 0)} coins"
            notes.fault(kind, clause, f"{coins} coins for {move.player_id}", found)
    _judge_escrow(log, entries, sum(expected.values()), notes)
    return notes.findings


def _expected_moves(entries: Sequence[Entry], stake: int, score: Score | None) -> dict[Move, int]:
    """Return the coins that each event must add to a player's balance."""
    moves: dict[Move, int] = {}
    seats: dict[int, str] = {}
    for entry in entries if stake else ():
        version, kind, body, _ = entry
        if kind == "seat_taken" and body.player_id:
            seats[body.seat] = body.player_id
            moves[Move(LEDGER_ENTRY_KIND_STAKE, version, body.player_id)] = -stake
        elif kind == "seat_vacated" and body.seat in seats:
            moves[Move(LEDGER_ENTRY_KIND_REFUND, version, seats.pop(body.seat))] = stake
        elif kind == "finished" and score is not None:
            for seat, player_id in seats.items():
                if score.shares.get(seat):
                    payout = Move(LEDGER_ENTRY_KIND_PAYOUT, version, player_id)
                    moves[payout] = score.shares[seat]
    return moves


def _judge_entries(log: Log, entries: Iterable[LedgerEntry], notes: Notebook) -> None:
    times = {entry.version: entry.command.time_us for entry in log.entries}
    for entry in entries:
        notes.version = entry.version
        if entry.match_id != log.match_id:
            notes.fault(Kind.LEDGER, "R12.2", log.match_id.hex(), entry.match_id.hex())
        if entry.coins == 0:
            notes.fault(Kind.LEDGER, _CLAUSE, "coins", "0")
        time_us = _microseconds(entry.event_time, notes)
        expected_us = times.get(entry.version)
        if time_us != expected_us:
            at = f"the time of version {entry.version}, {expected_us} µs"
            notes.fault(Kind.LEDGER, "R12.2", at, f"{time_us} µs")


def _microseconds(time: Timestamp, notes: Notebook) -> int:
    """Return a time in microseconds since the epoch; judge that it is a whole number of them."""
    if not 0 <= time.nanos < 1_000_000_000 or time.nanos % 1000:
        notes.fault(Kind.LEDGER, "transcript format", "microseconds", f"{time.nanos} ns")
    return time.seconds * 1_000_000 + time.nanos // 1000


def _judge_transfers(entries: Iterable[LedgerEntry], notes: Notebook) -> None:
    """Judge that the entries of each transfer are a pair that adds up to 0."""
    transfers: dict[bytes, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        transfers[entry.transfer_id].append(entry)
    for transfer_id, legs in transfers.items():
        notes.version = legs[0].version
        name = transfer_id.hex()
        if len(transfer_id) != 16:
            notes.fault(Kind.LEDGER, _CLAUSE, "an id of 16 bytes", name)
        events = {(leg.kind, leg.version) for leg in legs}
        sides = sorted(bool(leg.player_id) for leg in legs)
        if sides != [False, True] or len(events) != 1 or sum(leg.coins for leg in legs) != 0:
            pair = "one entry of a player and one of the escrow that add up to 0"
            notes.fault(Kind.LEDGER, _CLAUSE, pair, f"transfer {name}: {len(legs)} entries")


def _judge_escrow(
    log: Log, entries: Iterable[LedgerEntry], moved_to_players: int, notes: Notebook
) -> None:
    """R12.8: the escrow holds what the players put in and did not get back."""
    held = sum(entry.coins for entry in entries if not entry.player_id)
    notes.version = log.head_version
    if held != -moved_to_players:
        notes.fault(Kind.ESCROW, _CLAUSE, f"{-moved_to_players} coins", f"{held} coins")
