"""VerifyPayouts: audits the matches of a time span, then the whole ledger, and streams progress."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Final

from durak.v1 import audit_service_pb2 as api
from eventstore import EventStore
from service.audit.cases import read_cases
from service.audit.ledger_check import ledger_state
from service.checkpoints.seals import Seals
from service.judging.access import check_openable, is_running
from service.judging.judge import Audited, AuditPool, Case, MovedCoins
from service.judging.messages import report_message
from service.rpc.errors import Refused

_MICROSECOND: Final = timedelta(microseconds=1)


async def verify_payouts(
    store: EventStore,
    processes: int,
    since: datetime,
    before: datetime,
    seals: Seals,
    caller_id: str | None = None,
) -> AsyncGenerator[api.VerifyPayoutsResponse, None]:
    """Audit the matches opened in a time span, and then the whole ledger (R12.8).

    Only a few pages of matches are in memory at a time. Matches that are opened during the call are
    left out: where they are opened faster than judged, it would never end.

    Args:
        store: the store with the matches.
        processes: how many processes audit.
        since: the start of the span, included.
        before: the end of the span, excluded.
        seals: the leaves to compare the matches with.
        caller_id: the auditor; of matches that run or that they may not see open, only the id is
            sent. None for a caller who may see everything.

    Yields:
        Progress, each match with faults, and the summary at the end.
    """
    newest = await store.whole_matches.read_last_opened(since, before)
    before = since if newest is None else newest + _MICROSECOND
    total = await store.whole_matches.count_opened(since, before)
    progress = api.VerifyProgress(matches_total=total)
    summary = api.PayoutsSummary()
    yield api.VerifyPayoutsResponse(progress=progress)
    async with (
        AuditPool(processes) as pool,
        aclosing(pool.judge_pages(_pages(store, seals, since, before))) as pages,
    ):
        async for page in pages:
            for audited in page:
                _add_coins(summary, audited.coins)
                if not audited.report.ok:
                    summary.matches_with_faults += 1
                    faulty = await _faulty_report(store, audited, caller_id)
                    yield api.VerifyPayoutsResponse(faulty=faulty)
            summary.matches_judged += len(page)
            progress.matches_judged = summary.matches_judged
            yield api.VerifyPayoutsResponse(progress=progress)
    summary.ledger.CopyFrom(await ledger_state(store, seals))
    yield api.VerifyPayoutsResponse(summary=summary)


async def _pages(
    store: EventStore, seals: Seals, since: datetime, before: datetime
) -> AsyncIterator[list[Case]]:
    async for ids in store.whole_matches.iterate_ids_opened(since, before):
        yield await read_cases(store, seals, ids)


async def _faulty_report(
    store: EventStore, audited: Audited, caller_id: str | None
) -> api.AuditReport:
    if caller_id is not None:
        try:
            await check_openable(store, audited.match_id, caller_id)
        except Refused:
            return api.AuditReport(match_id=str(audited.match_id))
        if await is_running(store, audited.match_id):
            return api.AuditReport(match_id=str(audited.match_id))
    return report_message(audited.match_id, audited.report)


def _add_coins(summary: api.PayoutsSummary, coins: MovedCoins) -> None:
    summary.staked_coins += coins.staked
    summary.refunded_coins += coins.refunded
    summary.paid_coins += coins.paid
