"""Reads of whole matches, many at a time: their records and their transfers, for audits."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from eventstore.ledger.transfers import TRANSFER_COLUMNS, Transfer, read_transfer
from eventstore.model import StoredRecord
from eventstore.postgres.pool import Pool

if TYPE_CHECKING:
    import asyncpg

    from eventstore.postgres.connect import PooledConnection

PAGE_MATCHES = 50

_IDS = "SELECT stream_id FROM streams WHERE stream_id > $1 ORDER BY stream_id LIMIT $2"
_IDS_OPENED = """
SELECT match_id, opened_at FROM matches
WHERE (opened_at, match_id) > ($1, $2) AND opened_at < $3 ORDER BY opened_at, match_id LIMIT $4
"""
_COUNT_OPENED = "SELECT count(*) FROM matches WHERE opened_at >= $1 AND opened_at < $2"
_LAST_OPENED = "SELECT max(opened_at) FROM matches WHERE opened_at >= $1 AND opened_at < $2"
_RECORDS = """
SELECT stream_id, version, record, hash FROM events
WHERE stream_id = ANY ($1) ORDER BY stream_id, version
"""
_TRANSFERS = f"""
SELECT {TRANSFER_COLUMNS} FROM transfers
WHERE source_id = ANY ($1) ORDER BY source_id, version, ordinal
"""  # noqa: S608 - a constant


class WholeMatch(NamedTuple):
    """All that the store has of one match. Without records the match does not exist."""

    match_id: UUID
    records: list[StoredRecord]
    transfers: list[Transfer]


class WholeMatches:
    """Reads whole matches. Use it as `EventStore.whole_matches`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(self, match_ids: Sequence[UUID]) -> list[WholeMatch]:
        """Return these matches in the given order. Records and transfers are of one moment."""

        async def read_rows(
            connection: PooledConnection,
        ) -> tuple[list[asyncpg.Record], list[asyncpg.Record]]:
            records = await connection.fetch(_RECORDS, match_ids)
            return records, await connection.fetch(_TRANSFERS, match_ids)

        record_rows, transfer_rows = await self._pool.read_snapshot(read_rows)
        records = {
            match_id: [StoredRecord(*tuple(row)[1:]) for row in rows]
            for match_id, rows in groupby(record_rows, key=itemgetter("stream_id"))
        }
        transfers = {
            match_id: [read_transfer(row) for row in rows]
            for match_id, rows in groupby(transfer_rows, key=itemgetter("source_id"))
        }
        return [
            WholeMatch(match_id, records.get(match_id, []), transfers.get(match_id, []))
            for match_id in match_ids
        ]

    async def iterate_ids(self) -> AsyncGenerator[list[UUID], None]:
        """Yield pages of the ids of all matches, in order."""
        last = UUID(int=0)
        while rows := await self._pool.fetch(_IDS, last, PAGE_MATCHES):
            yield [row["stream_id"] for row in rows]
            last = rows[-1]["stream_id"]

    async def iterate_ids_opened(
        self, since: datetime, before: datetime
    ) -> AsyncGenerator[list[UUID], None]:
        """Yield pages of the ids of the matches opened in a time span, the oldest first."""
        last = (since.astimezone(UTC), UUID(int=0))
        while rows := await self._pool.fetch(_IDS_OPENED, *last, before, PAGE_MATCHES):
            yield [row["match_id"] for row in rows]
            last = (rows[-1]["opened_at"], rows[-1]["match_id"])

    async def count_opened(self, since: datetime, before: datetime) -> int:
        """Return the number of matches opened in a time span."""
        [row] = await self._pool.fetch(_COUNT_OPENED, since, before)
        return int(row["count"])

    async def read_last_opened(self, since: datetime, before: datetime) -> datetime | None:
        """Return when the last match of a time span was opened, or None."""
        [row] = await self._pool.fetch(_LAST_OPENED, since, before)
        last: datetime | None = row["max"]
        return last
