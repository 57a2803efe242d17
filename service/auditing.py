"""Audits of many matches, side by side in processes of their own.

The auditor is plain computing, about a millisecond for a match, so it gets every core. Processes
are spawned and not forked: gRPC does not survive a fork.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple, Self
from uuid import UUID

from domain.audit import AuditReport, audit
from eventstore import WholeMatch
from service.ledger_entries import entries_of


class Audited(NamedTuple):
    """A match and what the audit says of it."""

    match_id: UUID
    report: AuditReport


def judge(match: WholeMatch) -> Audited:
    """Audit a match as the store has it, every coin included. Never raises on bad records."""
    entries = entries_of(match.records, match.transfers)
    report = audit(match.records, match_id=match.match_id.bytes, ledger=entries)
    return Audited(match.match_id, report)


def _judge_all(matches: Sequence[WholeMatch]) -> list[Audited]:
    return [judge(match) for match in matches]


class Auditors:
    """Processes that audit; they start with the first work and end with the block."""

    def __init__(self, processes: int) -> None:
        """At most so many processes, and twice as many pages of matches in memory."""
        self._processes = processes
        self._pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def judge_pages(
        self, pages: AsyncIterator[list[WholeMatch]]
    ) -> AsyncIterator[list[Audited]]:
        """Audit page by page; the results come in the same order."""
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
