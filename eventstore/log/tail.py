"""The tail of the log: reports which streams have new records, without missing any.

Each event has the id of the transaction that stored it. All transactions below `pg_snapshot_xmin`
have ended, so no further event can appear below that id, and events above it are not read yet.
Reading all events after the last seen position would lose events, because transactions do not
commit in the order of their ids. The price is that an open write transaction anywhere on the server
delays the tail until it ends.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

import asyncpg

from eventstore.limits import Limits
from eventstore.postgres.retry import Backoff, is_lost

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection

_OLDEST_RUNNING = "SELECT pg_snapshot_xmin(pg_current_snapshot())"
_NEXT = """
SELECT transaction_id, stream_id, version FROM events
WHERE transaction_id > $1 AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY transaction_id FETCH FIRST $2 ROWS WITH TIES
"""


class TailBatch(NamedTuple):
    """The streams with new records, each with its newest version in the batch.

    `position` is the id of the last transaction in the batch. Batches end between transactions.
    """

    changes: dict[UUID, int]
    position: int


async def follow(
    connect: Callable[[], Awaitable[Connection]], limits: Limits, after: int | None
) -> AsyncGenerator[TailBatch, None]:
    """Yield batches without end. See `EventStore.follow`."""
    reader = _Reader(connect)
    try:
        position = await _find_start(reader) if after is None else after
        yield TailBatch({}, position)
        while True:
            rows = await reader.fetch(_NEXT, position, limits.page_rows_max)
            if rows:
                position = rows[-1]["transaction_id"]
                yield TailBatch(_newest_versions(rows), position)
            # A busy log always has new events, and frequent reads cost more than they find. So the
            # pause is skipped only after a full page.
            if len(rows) < limits.page_rows_max:
                await asyncio.sleep(limits.tail_interval_seconds)
    finally:
        reader.close()


class _Reader:
    """A connection that is replaced when it fails. Each query is retried without end."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._connect = connect
        self._connection: Connection | None = None

    async def fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        backoff = Backoff(math.inf)
        while True:
            try:
                if self._connection is None or self._connection.is_closed():
                    self._connection = await self._connect()
                return await self._connection.fetch(query, *arguments)
            except Exception as error:
                if not is_lost(error) and not isinstance(error, asyncpg.PostgresError):
                    raise
                self.close()
            await backoff.wait()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
        self._connection = None


async def _find_start(reader: _Reader) -> int:
    """Return the id before the oldest transaction that is running now."""
    [row] = await reader.fetch(_OLDEST_RUNNING)
    oldest: int = row[0]
    return oldest - 1


def _newest_versions(rows: list[asyncpg.Record]) -> dict[UUID, int]:
    newest: dict[UUID, int] = {}
    for _, stream_id, version in rows:
        newest[stream_id] = max(version, newest.get(stream_id, 0))
    return newest
