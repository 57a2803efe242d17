"""Audits of stored matches: one here, or many in parallel in processes of their own.

An audit is pure computing, about a millisecond for a match, so many use every core.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple, Self
from uuid import UUID

from domain.audit import AuditReport, audit
from domain.audit.report import failed_audit
from domain.audit.seal import Sealed
from durak.v1.transcript_pb2 import (
    LEDGER_ENTRY_KIND_PAYOUT,
    LEDGER_ENTRY_KIND_REFUND,
    LEDGER_ENTRY_KIND_STAKE,
    LedgerEntry,
)
from eventstore.whole_matches import WholeMatch
from service.judging.ledger_entries import entries_of
from service.workers.parent_watch import SPAWN, exit_with_parent, parent_pipe


class MovedCoins(NamedTuple):
    """The coins of a match in the ledger: staked, refunded before the deal, paid at the end."""

    staked: int
    refunded: int
    paid: int


class Audited(NamedTuple):
    """A match, its audit report, and the coins that moved."""

    match_id: UUID
    report: AuditReport
    coins: MovedCoins


class Case(NamedTuple):
    """A match as stored, and its leaf in the signed tree, if it has one."""

    match: WholeMatch
    seals: Sequence[Sealed] = ()


def judge(match: WholeMatch, seals: Sequence[Sealed] = ()) -> Audited:
    """Audit a match as stored, with every coin and its leaf. Never raises on bad records."""
    match_id = match.match_id
    try:
        entries = entries_of(match.records, match.transfers)
        report = audit(match.records, match_id=match_id.bytes, ledger=entries, seals=seals)
    except Exception as error:  # noqa: BLE001 - one match must not end the audit of the others
        reason = f"{type(error).__name__}: {error}"
        return Audited(match_id, failed_audit(match_id.bytes, reason), MovedCoins(0, 0, 0))
    return Audited(match_id, report, _moved_coins(entries))


def _moved_coins(entries: Sequence[LedgerEntry]) -> MovedCoins:
    moved: Counter[int] = Counter()
    for entry in entries:
        if entry.player_id:
            moved[entry.kind] += abs(entry.coins)
    return MovedCoins(
        staked=moved[LEDGER_ENTRY_KIND_STAKE],
        refunded=moved[LEDGER_ENTRY_KIND_REFUND],
        paid=moved[LEDGER_ENTRY_KIND_PAYOUT],
    )


def _judge_all(cases: Sequence[Case]) -> list[Audited]:
    return [judge(*case) for case in cases]


class AuditPool:
    """Processes that audit. They start with the first page and end with the context block."""

    def __init__(self, processes: int) -> None:
        """Limit the processes; at most twice as many pages of matches are in memory."""
        self._processes = processes
        self._child_end, self._parent_end = parent_pipe()
        self._pool = ProcessPoolExecutor(processes, SPAWN, exit_with_parent, (self._child_end,))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
        self._parent_end.close()
        self._child_end.close()

    async def judge_pages(
        self, pages: AsyncIterator[list[Case]]
    ) -> AsyncGenerator[list[Audited], None]:
        """Audit pages of matches in parallel. Yields the results in the order of the pages."""
        loop = asyncio.get_running_loop()
        waiting: deque[asyncio.Future[list[Audited]]] = deque()
        try:
            async for page in pages:
                waiting.append(loop.run_in_executor(self._pool, _judge_all, page))
                if len(waiting) >= 2 * self._processes:
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        finally:
            for future in waiting:
                future.cancel()
