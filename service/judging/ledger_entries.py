"""The ledger of a match as entries, the form in which audits and transcripts hold it.

The store keeps one row for each transfer, under the last version of the command that moved the
coins. An entry is one side of a transfer, under the version and time of the event that moved them.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

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
from service.judging.records import readable_record

_WITHIN_ESCROW: Final = frozenset({TransferKind.POST})
"""From the stakes of a match to its bank. Entries show both as one escrow."""


def entries_of(stored: Sequence[StoredRecord], transfers: Sequence[Transfer]) -> list[LedgerEntry]:
    """Return the entries of a match.

    A transfer that belongs to no readable record keeps its version and has no time.
    """
    records = {
        one.version: record for one in stored if (record := readable_record(one)) is not None
    }
    entries: list[LedgerEntry] = []
    for transfer in transfers:
        if transfer.kind in _WITHIN_ESCROW:
            continue
        version = _event_version(transfer, records)
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
    """Return 16 bytes of SHA-256("durak.v1.transfer" ‖ source id ‖ version ‖ ordinal).

    Version and ordinal have 4 bytes each.
    """
    place = transfer.version.to_bytes(4) + transfer.ordinal.to_bytes(4)
    return sha256(b"durak.v1.transfer" + transfer.source_id.bytes + place).digest()[:16]


def _kind(transfer: Transfer, record: Record | None) -> LedgerEntryKind.ValueType:
    if transfer.kind is TransferKind.STAKE:
        return LEDGER_ENTRY_KIND_STAKE
    vacates = record is not None and record.event.HasField("seat_vacated")
    return LEDGER_ENTRY_KIND_REFUND if vacates else LEDGER_ENTRY_KIND_PAYOUT


def _event_version(transfer: Transfer, records: Mapping[int, Record]) -> int:
    """Return the version of the event that moved the coins.

    For a stake that is the player's `seat_taken` in the same command: the command that takes the
    last seat also deals, so its stake is stored under `dealt`.
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
