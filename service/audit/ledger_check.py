"""The ledger as a whole at one moment (R12.8), as the contract has it."""

from typing import Final
from uuid import UUID

from durak.v1 import audit_service_pb2 as api
from durak.v1.dispute_service_pb2 import DISPUTE_STATUS_UPHELD
from eventstore import EventStore, PageKey
from eventstore.ledger.transfers import TransferKind
from service.disputes.streams import read_dispute
from service.rpc.errors import Refused

WRONG_MAX: Final = 100
_PAGE: Final = 500
_LEAST_RECORDS: Final = 3
"""Of a dispute in which coins moved: opened, ruled, approved."""
_SIGNS: Final = {TransferKind.CORRECTION_IN: 1, TransferKind.CORRECTION_OUT: -1}


async def ledger_state(store: EventStore) -> api.LedgerState:
    """Add up all coins, and hold the corrections of disputes against their rulings."""
    check = await store.ledger.check()
    unfounded = [one for one in await _unfounded(store) if one not in check.wrong_matches]
    return api.LedgerState(
        ok=check.holds and not unfounded,
        issued_coins=check.issued,
        available_coins=check.available,
        escrow_coins=check.escrow,
        wrong_accounts=check.wrong_accounts,
        wrong_matches=map(str, (*check.wrong_matches, *unfounded)),
    )


async def _unfounded(store: EventStore) -> list[UUID]:
    """Disputes whose corrections are not those of an approved ruling; some at most."""
    disputes = set(await store.ledger.list_corrected_disputes())
    place: PageKey | None = None
    while rows := await store.disputes.list_disputes(after=place, limit=_PAGE):
        disputes |= {row.dispute_id for row in rows if row.version >= _LEAST_RECORDS}
        place = PageKey(rows[-1].opened_at, rows[-1].dispute_id)
    found: list[UUID] = []
    for dispute_id in sorted(disputes):
        # Once more where they differ: the approval may have come between the two.
        if not await _agree(store, dispute_id) and not await _agree(store, dispute_id):
            found.append(dispute_id)
            if len(found) == WRONG_MAX:
                break
    return found


async def _agree(store: EventStore, dispute_id: UUID) -> bool:
    moved = await _moved(store, dispute_id)
    return moved == await _ruled(store, dispute_id)


async def _moved(store: EventStore, dispute_id: UUID) -> dict[str, int]:
    """What the ledger has of a dispute, by player."""
    coins: dict[str, int] = {}
    for transfer in await store.ledger.list_transfers_of(dispute_id):
        signed = _SIGNS.get(transfer.kind, 0) * transfer.coins
        coins[transfer.player] = coins.get(transfer.player, 0) + signed
    return coins


async def _ruled(store: EventStore, dispute_id: UUID) -> dict[str, int] | None:
    """What the ruling says that stands, by player; None where the stream makes no dispute."""
    try:
        dispute = (await read_dispute(store, dispute_id)).dispute
    except Refused:
        return None
    if dispute.status != DISPUTE_STATUS_UPHELD or dispute.ruled is None:
        return {}
    return {one.player_id: one.coins for one in dispute.ruled.corrections}
