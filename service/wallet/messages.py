"""Transfers of coins as messages of the contract."""

from types import MappingProxyType
from typing import Final

from durak.v1 import wallet_service_pb2 as api
from eventstore.ledger.transfers import Transfer, TransferKind

_KINDS: Final = MappingProxyType(
    {
        TransferKind.STAKE: api.TRANSFER_KIND_STAKE,
        TransferKind.REFUND: api.TRANSFER_KIND_REFUND,
        TransferKind.POST: api.TRANSFER_KIND_POST,
        TransferKind.PAYOUT: api.TRANSFER_KIND_PAYOUT,
        TransferKind.CORRECTION_IN: api.TRANSFER_KIND_CORRECTION_IN,
        TransferKind.CORRECTION_OUT: api.TRANSFER_KIND_CORRECTION_OUT,
    }
)
_CORRECTIONS: Final = frozenset({TransferKind.CORRECTION_IN, TransferKind.CORRECTION_OUT})


def transfer_message(transfer: Transfer) -> api.Transfer:
    """Return a transfer as a message of the contract."""
    issued = transfer.kind is TransferKind.ISSUE
    corrects = transfer.kind in _CORRECTIONS
    granted = api.TRANSFER_KIND_GRANT if transfer.actor else api.TRANSFER_KIND_OPENING
    message = api.Transfer(
        number=transfer.number,
        kind=granted if issued else _KINDS[transfer.kind],
        coins=transfer.coins,
        available_after_coins=transfer.available_after,
        match_id="" if issued or corrects else str(transfer.source_id),
        version=None if issued else transfer.version,
        dispute_id=str(transfer.source_id) if corrects else "",
    )
    message.create_time.FromDatetime(transfer.recorded_at)
    return message
