"""Decides which matches an auditor may see open: no match at which they could still play.

The records up to the deal decide, since no seat is taken or given up after it.
"""

from typing import Final
from uuid import UUID

from domain.dispute import facts_of
from durak.v1 import errors_pb2 as reasons
from eventstore import EventStore, StoredRecord
from service.judging.records import readable_records
from service.rpc.errors import Refused, refuse

_PAGE_RECORDS: Final = 32
"""Enough for most tables: one record for the opening and one for each seat, then the deal."""


async def check_openable(store: EventStore, match_id: UUID, auditor_id: str) -> None:
    """Refuse a match at which the auditor has or had a seat, or seats can still be taken.

    Raises Refused MATCH_NOT_FOUND, OWN_MATCH or MATCH_NOT_DEALT.
    """
    opening = await read_opening(store, match_id)
    if not opening:
        raise match_not_found(match_id)
    facts = facts_of(readable_records(opening))
    if auditor_id in facts.ever_sat:
        raise refuse(reasons.ERROR_REASON_OWN_MATCH, match_id=str(match_id))
    if not facts.is_dealt:
        raise refuse(reasons.ERROR_REASON_MATCH_NOT_DEALT, match_id=str(match_id))


def match_not_found(match_id: UUID) -> Refused:
    """Return the refusal for a match that does not exist."""
    return refuse(reasons.ERROR_REASON_MATCH_NOT_FOUND, match_id=str(match_id))


async def read_opening(store: EventStore, match_id: UUID) -> list[StoredRecord]:
    """Return the records of a match up to the page with the deal or the cancelling."""
    opening: list[StoredRecord] = []
    after = 0
    while page := await store.read(match_id, after, _PAGE_RECORDS):
        opening += page
        after = page[-1].version
        if facts_of(readable_records(page)).is_dealt:
            break
    return opening
