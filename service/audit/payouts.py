"""The payouts of many matches, judged in processes: progress, faults as found, a summary."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Final

from durak.v1 import audit_service_pb2 as api
from eventstore import EventStore
from eventstore.whole_matches import WholeMatch
from service.audit.ledger_check import ledger_state
from service.judging.access import check_openable
from service.judging.judge import Audited, Auditors, Coins
from service.judging.messages import report_message
from service.rpc.errors import Refused

_RIGHT_AFTER: Final = timedelta(microseconds=1)


async def verify_payouts(
    store: EventStore,
    processes: int,
    since: datetime,
    before: datetime,
    caller_id: str | None = None,
) -> AsyncGenerator[api.VerifyPayoutsResponse, None]:
    """Judge the matches opened in a span of time, and then the ledger as a whole (R12.8).

    However many they are, only some pages of them are in memory; what is opened meanwhile is left
    out, or it would never end where matches are opened faster than they are judged. Of matches that
    the caller may not open the id alone is told; without a caller all is.
    """
    newest = await store.whole_matches.read_last_opened(since, before)
    before = since if newest is None else newest + _RIGHT_AFTER
    total = await store.whole_matches.count_opened(since, before)
    progress = api.VerifyProgress(matches_total=total)
    summary = api.PayoutsSummary()
    yield api.VerifyPayoutsResponse(progress=progress)
    async with (
        Auditors(processes) as auditors,
        aclosing(auditors.judge_pages(_pages(store, since, before))) as pages,
    ):
        async for page in pages:
            for audited in page:
                _add_up(summary, audited.coins)
                if not audited.report.ok:
                    summary.matches_with_faults += 1
                    faulty = await _faulty(store, audited, caller_id)
                    yield api.VerifyPayoutsResponse(faulty=faulty)
            summary.matches_judged += len(page)
            progress.matches_judged = summary.matches_judged
            yield api.VerifyPayoutsResponse(progress=progress)
    summary.ledger.CopyFrom(await ledger_state(store))
    yield api.VerifyPayoutsResponse(summary=summary)


async def _pages(
    store: EventStore, since: datetime, before: datetime
) -> AsyncIterator[list[WholeMatch]]:
    async for ids in store.whole_matches.iterate_ids_opened(since, before):
        yield await store.whole_matches.read(ids)


async def _faulty(store: EventStore, audited: Audited, caller_id: str | None) -> api.AuditReport:
    if caller_id is not None:
        [match] = await store.whole_matches.read([audited.match_id])
        try:
            check_openable(match, caller_id)
        except Refused:
            return api.AuditReport(match_id=str(audited.match_id))
    return report_message(audited.match_id, audited.report)


def _add_up(summary: api.PayoutsSummary, coins: Coins) -> None:
    summary.staked_coins += coins.staked
    summary.refunded_coins += coins.refunded
    summary.paid_coins += coins.paid
