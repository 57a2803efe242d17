"""The ledger entries that a match must have, one by one and in order (R12).

A transfer is two entries: the player's, then that of the match's escrow, which add up to 0. Both
carry the version and the time of the event that moves the coins. The id of a transfer follows from
the last version of its command and its place among the transfers of that command.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from domain.audit.findings import Kind, Notebook
from domain.audit.records import Entry, Log
from domain.audit.score import Score
from durak.v1.transcript_pb2 import (
    LEDGER_ENTRY_KIND_PAYOUT,
    LEDGER_ENTRY_KIND_REFUND,
    LEDGER_ENTRY_KIND_STAKE,
    LedgerEntry,
)

CLAUSE: Final = "R12.8"
_TRANSFER_LABEL: Final = b"durak.v1.transfer"
_MICROSECONDS: Final = 1_000_000
_NAMES: Final[Mapping[int, str]] = MappingProxyType(
    {
        LEDGER_ENTRY_KIND_STAKE: "stake",
        LEDGER_ENTRY_KIND_REFUND: "refund",
        LEDGER_ENTRY_KIND_PAYOUT: "payout",
    }
)


class Due(NamedTuple):
    """A movement of a player's coins that an event demands."""

    kind: int
    """`LedgerEntryKind` by number."""
    version: int
    player_id: str
    coins: int
    """Added to the player's balance; negative for a stake."""
    command_version: int
    """The last version of the command."""
    ordinal: int
    """The place of the transfer in its command."""
    time_us: int


class _Line(NamedTuple):
    """A ledger entry as plain values."""

    version: int
    transfer_id: bytes
    kind: int
    match_id: bytes
    player_id: str
    coins: int
    seconds: int
    nanos: int

    def __str__(self) -> str:
        name = _NAMES.get(self.kind, f"kind {self.kind}")
        whose = self.player_id or "the escrow"
        return (
            f"{name} of {self.coins} coins for {whose} at version {self.version}, "
            f"{self.seconds} s {self.nanos} ns, transfer {self.transfer_id.hex()}, "
            f"match {self.match_id.hex()}"
        )


def due_transfers(entries: Sequence[Entry], stake: int, score: Score | None) -> list[Due]:
    """Return the transfers that the events demand, in the order of the ledger.

    ``score`` is the result by the rules, None while the match runs.
    """
    if not stake:
        return []
    dues: list[Due] = []
    ends = _command_ends(entries)
    ordinals: Counter[int] = Counter()
    seats: dict[int, str] = {}
    """By seat, in the order in which they were taken."""

    def add(entry: Entry, kind: int, player_id: str, coins: int, ordinal: int = 0) -> None:
        last = ends[entry.version]
        place = ordinals[last] + ordinal
        time_us = entry.command.time_us
        dues.append(Due(kind, entry.version, player_id, coins, last, place, time_us))

    for entry in entries:
        version, kind, body, _ = entry
        if kind == "seat_taken" and body.player_id:
            seats[body.seat] = body.player_id
            add(entry, LEDGER_ENTRY_KIND_STAKE, body.player_id, -stake)
            ordinals[ends[version]] += 1
        elif kind == "seat_vacated" and body.seat in seats:
            add(entry, LEDGER_ENTRY_KIND_REFUND, seats.pop(body.seat), stake)
            ordinals[ends[version]] += 1
        elif kind == "finished" and score is not None:
            for ordinal, seat in _paid(seats, stake, score):
                add(entry, LEDGER_ENTRY_KIND_PAYOUT, seats[seat], score.shares[seat], ordinal)
    return dues


def _paid(seats: Mapping[int, str], stake: int, score: Score) -> Iterator[tuple[int, int]]:
    """Yield (ordinal, seat) of the payouts at the end of a match.

    If every seat gets its own stake, the stakes come back in the order in which they were made.
    Otherwise all stakes first go to the bank, a transfer each without an entry, and the bank pays
    the shares by seat.
    """
    shares = {seat: score.shares.get(seat, 0) for seat in seats}
    if all(share == stake for share in shares.values()):
        yield from enumerate(seats)
    else:
        yield from enumerate((seat for seat in sorted(seats) if shares[seat]), start=len(seats))


def _command_ends(entries: Sequence[Entry]) -> dict[int, int]:
    """Return, by version, the last version of the command that made it."""
    ends: dict[int, int] = {}
    after: Entry | None = None
    for entry in reversed(entries):
        goes_on = (
            after is not None
            and after.version == entry.version + 1
            and bool(entry.command.request_id)
            and after.command == entry.command
        )
        ends[entry.version] = ends[entry.version + 1] if goes_on else entry.version
        after = entry
    return ends


def judge_entries(
    log: Log, dues: Sequence[Due], ledger: Sequence[LedgerEntry], notes: Notebook
) -> None:
    """Judge that the ledger has exactly the entries of the transfers due, in their order."""
    expected = [line for due in dues for line in _lines(due, log.match_id)]
    found = [_line(entry) for entry in ledger]
    if found == expected:
        return
    left = Counter(expected)
    for number, line in enumerate(found, start=1):
        if left[line]:
            left[line] -= 1
        else:
            notes.version = line.version
            notes.fault(Kind.LEDGER, CLAUSE, "only entries that events demand", _name(number, line))
    missing = [line for line in expected if left[line]]
    for line in missing:
        notes.version = line.version
        notes.fault(Kind.LEDGER, CLAUSE, line, "no such entry")
    if not missing and len(found) == len(expected):
        _report_order(expected, found, notes)


def _report_order(expected: Sequence[_Line], found: Sequence[_Line], notes: Notebook) -> None:
    """Report the first entry that is not in its place."""
    pairs = enumerate(zip(expected, found, strict=True), start=1)
    number, due, line = next((at, one, two) for at, (one, two) in pairs if one != two)
    notes.version = line.version
    notes.fault(Kind.LEDGER, CLAUSE, _name(number, due), _name(number, line))


def _name(number: int, line: _Line) -> str:
    return f"entry {number}: {line}"


def _lines(due: Due, match_id: bytes) -> Iterator[_Line]:
    place = due.command_version.to_bytes(4, "big") + due.ordinal.to_bytes(4, "big")
    transfer_id = hashlib.sha256(_TRANSFER_LABEL + match_id + place).digest()[:16]
    seconds, rest_us = divmod(due.time_us, _MICROSECONDS)
    for player_id, coins in ((due.player_id, due.coins), ("", -due.coins)):
        yield _Line(
            due.version, transfer_id, due.kind, match_id, player_id, coins, seconds, rest_us * 1000
        )


def _line(entry: LedgerEntry) -> _Line:
    time = entry.event_time
    return _Line(
        entry.version,
        entry.transfer_id,
        entry.kind,
        entry.match_id,
        entry.player_id,
        entry.coins,
        time.seconds,
        time.nanos,
    )
