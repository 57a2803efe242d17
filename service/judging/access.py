"""Decides which matches an auditor may see open: no match at which they could still play.

The records up to the deal decide, since no seat is taken or given up after it. A running match is
open only where a dispute about it is open or the auditor has given a reason, and that is on record.
"""

from typing import Final
from uuid import UUID, uuid4

from domain.administration import access_end_us
from domain.dispute import facts_of
from durak.v1 import errors_pb2 as reasons
from durak.v1.administration_pb2 import MatchOpened
from durak.v1.dispute_service_pb2 import DISPUTE_STATUS_CORRECTION_PENDING, DISPUTE_STATUS_OPEN
from eventstore import EventStore, StoredRecord
from service.administration.log import Actor, AdministrationLog
from service.config import Config
from service.judging.records import readable_records
from service.rpc.call import Call
from service.rpc.errors import Refused, refuse
from service.times import Now

_UNDECIDED: Final = (DISPUTE_STATUS_OPEN, DISPUTE_STATUS_CORRECTION_PENDING)
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


async def is_running(store: EventStore, match_id: UUID) -> bool:
    """Return whether the last record of a match is not its end."""
    head = await store.read_head(match_id)
    last = [] if head is None else await store.read(match_id, head.version - 1, 1)
    return facts_of(readable_records(last)).ended_us is None


class OpenMatches:
    """The matches that auditors may see open now."""

    def __init__(self, store: EventStore, config: Config, now_us: Now) -> None:
        """Record accesses in the administrative log of this store."""
        self._store = store
        self._log = AdministrationLog(store, config.conflict_retries_max, now_us)
        self._access_seconds = config.match_access_seconds

    async def check(self, match_id: UUID, call: Call) -> None:
        """Refuse a match that the caller may not see open now.

        Raises Refused as `check_openable`, and ACCESS_NOT_RECORDED.
        """
        await check_openable(self._store, match_id, call.caller.subject)
        if not await is_running(self._store, match_id):
            return
        if await self._log.has_access(call.caller.subject, str(match_id)):
            return
        disputes = await self._store.disputes.list_disputes(
            statuses=_UNDECIDED, match_id=match_id, limit=1
        )
        if not disputes:
            raise refuse(reasons.ERROR_REASON_ACCESS_NOT_RECORDED, match_id=str(match_id))
        dispute_id = str(disputes[0].dispute_id)
        opened = self._opened(match_id, dispute_id)
        reason = f"dispute {dispute_id} is open"
        actor = Actor(call.caller.subject, uuid4().bytes, call.trace_id, reason)
        await self._log.open_match(actor, opened)

    async def open(self, match_id: UUID, request_id: bytes, reason: str, call: Call) -> int:
        """Record access to a match, and return its end in microseconds. Raises Refused."""
        await check_openable(self._store, match_id, call.caller.subject)
        actor = Actor(call.caller.subject, request_id, call.trace_id, reason)
        return access_end_us(await self._log.open_match(actor, self._opened(match_id)))

    def _opened(self, match_id: UUID, dispute_id: str = "") -> MatchOpened:
        return MatchOpened(
            match_id=str(match_id), access_seconds=self._access_seconds, dispute_id=dispute_id
        )


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
