"""Checks the whole ledger (R12.8): its sums, and what people allowed: corrections and grants."""

from collections import Counter
from collections.abc import Collection
from typing import Final
from uuid import UUID

from durak.v1 import audit_service_pb2 as api
from durak.v1.dispute_service_pb2 import DISPUTE_STATUS_UPHELD
from eventstore import EventStore, PageKey
from eventstore.ledger.transfers import TransferKind
from service.audit.administration_check import check_administration, list_wrong_grants
from service.audit.disputes_check import list_changed_disputes
from service.checkpoints.seals import Seals
from service.disputes.streams import read_dispute
from service.rpc.errors import Refused

UNFOUNDED_MAX: Final = 100
_PAGE_DISPUTES: Final = 500
_RECORDS_MIN: Final = 3
"""The records of a dispute with corrections: opened, ruled, approved."""
_SIGNS: Final = {TransferKind.CORRECTION_IN: 1, TransferKind.CORRECTION_OUT: -1}


async def ledger_state(store: EventStore, seals: Seals) -> api.LedgerState:
    """Return the sums of the ledger, and the accounts, matches and disputes that do not fit."""
    check = await store.ledger.check()
    changed = await list_changed_disputes(store, seals)
    corrected = set(await store.ledger.list_corrected_disputes())
    unfounded = set(await _list_unfounded(store, corrected))
    acts = await check_administration(store, seals)  # after the transfers that its records allow
    unfounded |= corrected - acts.approved_disputes
    wrong_grants = await list_wrong_grants(store, acts)
    wrong_versions = acts.wrong_versions()
    is_ok = check.holds and not (unfounded or changed or wrong_grants or wrong_versions)
    return api.LedgerState(
        ok=is_ok,
        issued_coins=check.issued,
        available_coins=check.available,
        escrow_coins=check.escrow,
        wrong_accounts=check.wrong_accounts,
        wrong_matches=[str(one) for one in check.wrong_matches if one not in corrected],
        wrong_disputes=map(str, changed),
        wrong_corrections=map(str, sorted(unfounded)[:UNFOUNDED_MAX]),
        wrong_administrative_versions=wrong_versions,
        wrong_grants=map(str, wrong_grants),
        operator_grants=[sums for _, sums in sorted(acts.operators.items())],
    )


async def _list_unfounded(store: EventStore, corrected: Collection[UUID]) -> list[UUID]:
    """Return disputes whose corrections are not those of an approved ruling, up to a limit."""
    disputes = set(corrected)
    place: PageKey | None = None
    while rows := await store.disputes.list_disputes(after=place, limit=_PAGE_DISPUTES):
        disputes |= {row.dispute_id for row in rows if row.version >= _RECORDS_MIN}
        place = PageKey(rows[-1].opened_at, rows[-1].dispute_id)
    found: list[UUID] = []
    for dispute_id in sorted(disputes):
        # A second look where they differ: the approval can come between the two reads.
        if not await _agrees(store, dispute_id) and not await _agrees(store, dispute_id):
            found.append(dispute_id)
            if len(found) == UNFOUNDED_MAX:
                break
    return found


async def _agrees(store: EventStore, dispute_id: UUID) -> bool:
    moved = await _read_moved(store, dispute_id)
    return moved == await _read_ruled(store, dispute_id)


async def _read_moved(store: EventStore, dispute_id: UUID) -> dict[str, int]:
    """Return the coins that a dispute moved in the ledger, by player."""
    coins: Counter[str] = Counter()
    for transfer in await store.ledger.list_transfers_of(dispute_id):
        coins[transfer.player] += _SIGNS.get(transfer.kind, 0) * transfer.coins
    return dict(coins)


async def _read_ruled(store: EventStore, dispute_id: UUID) -> dict[str, int] | None:
    """Return the coins of the approved ruling, by player; None if the stream is corrupt."""
    try:
        dispute = (await read_dispute(store, dispute_id)).dispute
    except Refused:
        return None
    return dispute.corrections() if dispute.status == DISPUTE_STATUS_UPHELD else {}
