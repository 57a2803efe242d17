"""The tail: one poll loop per replica that learns which streams were appended to, and misses none.

Events carry the id of the transaction that stored them. All transactions below `pg_snapshot_xmin`
have ended, so below that line nothing can appear any more, and above it nothing is read yet.
(Reading "everything after the last position seen" loses events whose transactions commit out of
order.) The price: an open write transaction anywhere on the server holds the tail back until it
ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg

from eventstore.model import Limits, TailBatch
from eventstore.postgres.connect import FIRST_PAUSE_S, LONGEST_PAUSE_S, LOST, TRANSIENT

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection

_OLDEST_RUNNING = "SELECT pg_snapshot_xmin(pg_current_snapshot())"
_NEXT = """
SELECT transaction_id, stream_id, version FROM events
WHERE transaction_id > $1 AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY transaction_id FETCH FIRST $2 ROWS WITH TIES
"""


async def follow(
    connect: Callable[[], Awaitable[Connection]], limits: Limits, after: int | None
) -> AsyncGenerator[TailBatch, None]:
    """See `EventStore.follow`."""
    connection: Connection | None = None
    position = after
    pause_s = FIRST_PAUSE_S
    told_start = False
    try:
        while True:
            try:
                if connection is None or connection.is_closed():
                    connection = await connect()
                if position is None:
                    position = await connection.fetchval(_OLDEST_RUNNING) - 1
                rows = (
                    await connection.fetch(_NEXT, position, limits.page_rows) if told_start else []
                )
            except (*LOST, *TRANSIENT, asyncpg.InterfaceError, asyncpg.PostgresError):
                # Whatever it was, nothing is lost by asking again from the same position.
                if connection is not None:
                    connection.terminate()
                connection = None
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
                continue
            pause_s = FIRST_PAUSE_S
            if rows:
                position = rows[-1]["transaction_id"]
                yield TailBatch(_newest(rows), position)
            elif not told_start:
                told_start = True
                yield TailBatch({}, position)
                continue
            # In a busy log there is always something new, and looking costs more than it finds: the
            # pause is left out only where a page was not enough.
            if len(rows) < limits.page_rows:
                await asyncio.sleep(limits.tail_interval_s)
    finally:
        if connection is not None:
            connection.terminate()


def _newest(rows: list[asyncpg.Record]) -> dict[UUID, int]:
    newest: dict[UUID, int] = {}
    for _, stream_id, version in rows:
        newest[stream_id] = max(version, newest.get(stream_id, 0))
    return newest
