"""The ledger of a match as the audit and transcripts have it.

The store keeps one row for each transfer, under the last version of the command that moved the
coins. An audit judges entries: two for each transfer, under the event that moved them and its time.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from google.protobuf.message import DecodeError

from durak.v1.events_pb2 import Record
from durak.v1.transcript_pb2 import (
    LEDGER_ENTRY_KIND_PAYOUT,
    LEDGER_ENTRY_KIND_REFUND,
    LEDGER_ENTRY_KIND_STAKE,
    LedgerEntry,
    LedgerEntryKind,
)
from eventstore import StoredRecord
from eventstore.ledger.transfers import Transfer, TransferKind

_IN_ESCROW: Final = frozenset({TransferKind.POST})
"""From a player's stake to the bank of the same match: the two are one escrow here."""


def entries_of(stored: Sequence[StoredRecord], transfers: Sequence[Transfer]) -> list[LedgerEntry]:
    """The entries of a match. A transfer that fits no event keeps its version, with time 0."""
    records = {one.version: record for one in stored if (record := _read(one.record)) is not None}
    entries: list[LedgerEntry] = []
    for transfer in transfers:
        if transfer.kind in _IN_ESCROW:
            continue
        version = _event_of(transfer, records)
        record = records.get(version)
        coins = -transfer.coins if transfer.kind is TransferKind.STAKE else transfer.coins
        entries += [
            LedgerEntry(
                transfer_id=transfer_id(transfer),
                kind=_kind(transfer, record),
                match_id=transfer.source_id.bytes,
                version=version,
                player_id=player_id,
                coins=change,
                event_time=None if record is None else record.event_time,
            )
            for player_id, change in ((transfer.player, coins), ("", -coins))
        ]
    return entries


def transfer_id(transfer: Transfer) -> bytes:
    """16 bytes of SHA-256("durak.v1.transfer" ‖ source id ‖ version ‖ ordinal), 4 bytes each."""
    place = transfer.version.to_bytes(4) + transfer.ordinal.to_bytes(4)
    return sha256(b"durak.v1.transfer" + transfer.source_id.bytes + place).digest()[:16]


def _kind(transfer: Transfer, record: Record | None) -> LedgerEntryKind.ValueType:
    if transfer.kind is TransferKind.STAKE:
        return LEDGER_ENTRY_KIND_STAKE
    vacated = record is not None and record.event.HasField("seat_vacated")
    return LEDGER_ENTRY_KIND_REFUND if vacated else LEDGER_ENTRY_KIND_PAYOUT


def _event_of(transfer: Transfer, records: dict[int, Record]) -> int:
    """The version of the event: for a stake the `seat_taken` of the same command, if it has one.

    The last seat taken deals the cards in the same command, so the stake stands under `dealt`.
    """
    last = records.get(transfer.version)
    if transfer.kind is not TransferKind.STAKE or last is None:
        return transfer.version
    version, record = transfer.version, records.get(transfer.version)
    while record is not None and record.request_id == last.request_id:
        if record.event.seat_taken.player_id == transfer.player:
            return version
        version -= 1
        record = records.get(version)
    return transfer.version


def _read(data: bytes) -> Record | None:
    try:
        return Record.FromString(data)
    except DecodeError:
        return None  # the audit says so
