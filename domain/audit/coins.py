"""Every coin of a match, against its events (R12).

A transfer is two entries: a player's and the escrow's of the match, which add up to nothing. Both
carry the version and the time of the event that moves the coins.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from domain.audit.findings import Finding, Kind, Notebook
from domain.audit.records import Entry, Log
from domain.audit.score import Score

_CLAUSE = "R12.8"
_Moves = dict[tuple[int, int, str], int]  # (kind, version, player) -> coins


class EntryKind(IntEnum):
    """Why coins moved; the numbers are those of `LedgerEntryKind` in the contract."""

    STAKE = 1
    """A player sat down (R12.2). Belongs to a `seat_taken`."""
    REFUND = 2
    """A seat was given up before the deal. Belongs to a `seat_vacated`."""
    PAYOUT = 3
    """The match ended: the seat's share (R12.3 to R12.6). Belongs to `finished`."""


class LedgerEntry(NamedTuple):
    """What one transfer did to one account."""

    transfer_id: bytes
    kind: int
    match_id: bytes
    version: int
    """The event that moved the coins."""
    player_id: str
    """Whose balance; empty for the escrow of the match."""
    coins: int
    """Added to the balance; below 0 what was taken off."""
    time_us: int


def judge_coins(
    log: Log, stake: int, score: Score | None, ledger: Iterable[LedgerEntry]
) -> list[Finding]:
    """Judge all ledger entries of a match; none may be missing or left over.

    ``score`` is what the match must come to, None while it runs.
    """
    notes = Notebook()
    entries = list(ledger)
    _judge_transfers(log, entries, notes)
    due = _due(log.entries, stake, score)
    moved: Counter[tuple[int, int, str]] = Counter()
    for entry in entries:
        if entry.player_id:
            moved[entry.kind, entry.version, entry.player_id] += entry.coins
    for key in sorted(due.keys() | moved.keys()):
        kind, version, player_id = key
        if due.get(key, 0) != moved.get(key, 0):
            notes.version = version
            whose = f"{due.get(key, 0)} coins for {player_id}"
            what, clause = _names(kind)
            notes.fault(what, clause, whose, f"{moved.get(key, 0)} coins")
    _judge_escrow(log, entries, sum(due.values()), notes)
    return notes.findings


def _due(entries: Sequence[Entry], stake: int, score: Score | None) -> _Moves:
    """What has to be moved."""
    due: _Moves = {}
    seats: dict[int, str] = {}
    for entry in entries if stake else ():
        body = entry.body
        if entry.kind == "seat_taken" and body.player_id:
            seats[body.seat] = body.player_id
            due[EntryKind.STAKE, entry.version, body.player_id] = -stake
        elif entry.kind == "seat_vacated" and body.seat in seats:
            due[EntryKind.REFUND, entry.version, seats.pop(body.seat)] = stake
        elif entry.kind == "finished" and score is not None:
            for seat, player_id in seats.items():
                if score.shares.get(seat):
                    due[EntryKind.PAYOUT, entry.version, player_id] = score.shares[seat]
    return due


def _judge_transfers(log: Log, entries: Sequence[LedgerEntry], notes: Notebook) -> None:
    times = {entry.version: entry.command.time_us for entry in log.entries}
    transfers: dict[bytes, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        transfers[entry.transfer_id].append(entry)
        notes.version = entry.version
        if entry.match_id != log.match_id:
            foreign = log.match_id.hex(), entry.match_id.hex()
            notes.fault(Kind.LEDGER, "R12.2", *foreign)
        if entry.coins == 0:
            notes.fault(Kind.LEDGER, _CLAUSE, "coins", "0")
        if entry.time_us != times.get(entry.version):
            at = f"the time of version {entry.version}, {times.get(entry.version)} µs"
            notes.fault(Kind.LEDGER, "R12.2", at, f"{entry.time_us} µs")
    for transfer_id, legs in transfers.items():
        notes.version = legs[0].version
        name = transfer_id.hex()
        if len(transfer_id) != 16:
            notes.fault(Kind.LEDGER, _CLAUSE, "an id of 16 bytes", name)
        kinds = {(leg.kind, leg.version) for leg in legs}
        players = [bool(leg.player_id) for leg in legs]
        if sorted(players) != [False, True] or len(kinds) != 1 or sum(e.coins for e in legs) != 0:
            pair = "one entry of a player and one of the escrow that add up to 0"
            notes.fault(Kind.LEDGER, _CLAUSE, pair, f"transfer {name}: {len(legs)} entries")


def _judge_escrow(
    log: Log, entries: Sequence[LedgerEntry], moved_to_players: int, notes: Notebook
) -> None:
    """R12.8: the escrow holds what the players put in and did not get back."""
    held = sum(entry.coins for entry in entries if not entry.player_id)
    notes.version = log.head_version
    if held != -moved_to_players:
        notes.fault(Kind.ESCROW, _CLAUSE, f"{-moved_to_players} coins", f"{held} coins")


def _names(kind: int) -> tuple[Kind, str]:
    names: dict[int, tuple[Kind, str]] = {
        EntryKind.STAKE: (Kind.STAKE, "R12.2"),
        EntryKind.REFUND: (Kind.REFUND, "R12.5"),
        EntryKind.PAYOUT: (Kind.PAYOUT, "R12.3"),
    }
    return names.get(kind, (Kind.LEDGER, _CLAUSE))
