"""Checks the streams of disputes: their records, and their leaves in the signed tree."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from domain.audit.seal import Sealed
from eventstore import EventStore
from eventstore.checkpoints import LeafKind
from service.checkpoints.seals import Seals
from service.disputes.streams import read_dispute
from service.rpc.errors import Refused

CHANGED_MAX: Final = 100
_PAGE_DISPUTES: Final = 500


async def list_changed_disputes(store: EventStore, seals: Seals) -> list[UUID]:
    """Return disputes that are no valid streams, or not those that were signed, up to a limit."""
    found: list[UUID] = []
    last = UUID(int=0)
    while ids := await store.disputes.list_ids(last, _PAGE_DISPUTES):
        sealed = await seals.read(LeafKind.DISPUTE, ids)
        for dispute_id in ids:
            if not await _is_intact(store, dispute_id, sealed.get(dispute_id, ())):
                found.append(dispute_id)
                if len(found) == CHANGED_MAX:
                    return found
        last = ids[-1]
    return found


async def _is_intact(store: EventStore, dispute_id: UUID, seals: Sequence[Sealed]) -> bool:
    try:
        log = await read_dispute(store, dispute_id)
    except Refused:
        return False
    return log.is_intact(dispute_id, seals)
