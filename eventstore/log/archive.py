"""Matches whole, many at a time: their records and their transfers, for audits."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from eventstore.ledger.books import Transfer, TransferKind
from eventstore.model import Limits, StoredRecord
from eventstore.postgres.connect import patiently

if TYPE_CHECKING:
    import asyncpg

    from eventstore.postgres.connect import Pool

PAGE_MATCHES = 50

_IDS = "SELECT stream_id FROM streams WHERE stream_id > $1 ORDER BY stream_id LIMIT $2"
_OPENED = """
SELECT match_id, opened_at FROM matches
WHERE (opened_at, match_id) > ($1, $2) AND opened_at < $3 ORDER BY opened_at, match_id LIMIT $4
"""
_COUNT_OPENED = "SELECT count(*) FROM matches WHERE opened_at >= $1 AND opened_at < $2"
_NEWEST = "SELECT max(opened_at) FROM matches WHERE opened_at >= $1 AND opened_at < $2"
_RECORDS = """
SELECT stream_id, version, record, hash FROM events
WHERE stream_id = ANY ($1) ORDER BY stream_id, version
"""
_TRANSFERS = """
SELECT source_id, version, ordinal, kind, player, number, coins, available_after, actor, recorded_at
FROM transfers WHERE source_id = ANY ($1) ORDER BY source_id, version, ordinal
"""


class WholeMatch(NamedTuple):
    """All that the store has of one match. No records: there is no such match."""

    match_id: UUID
    records: list[StoredRecord]
    transfers: list[Transfer]


class Archive:
    """Reads matches whole. Reached as `EventStore.archive`."""

    def __init__(self, reads: Pool, limits: Limits) -> None:
        self._reads = reads
        self._limits = limits

    async def read(self, match_ids: Sequence[UUID]) -> list[WholeMatch]:
        """These matches, in the order asked for; records and transfers as of one moment."""

        async def attempt() -> tuple[list[asyncpg.Record], list[asyncpg.Record]]:
            async with (
                self._reads.acquire() as connection,
                connection.transaction(isolation="repeatable_read", readonly=True),
            ):
                records = await connection.fetch(_RECORDS, match_ids)
                return records, await connection.fetch(_TRANSFERS, match_ids)

        rows, moved = await patiently(self._limits.patience_s, attempt)
        records = {
            match_id: [StoredRecord(*tuple(row)[1:]) for row in group]
            for match_id, group in groupby(rows, key=_first)
        }
        transfers = {
            match_id: [Transfer(*row)._replace(kind=TransferKind(row["kind"])) for row in group]
            for match_id, group in groupby(moved, key=_first)
        }
        return [
            WholeMatch(match_id, records.get(match_id, []), transfers.get(match_id, []))
            for match_id in match_ids
        ]

    async def all_ids(self) -> AsyncGenerator[list[UUID], None]:
        """The ids of all streams, some at a time, in their order."""
        last = UUID(int=0)
        while rows := await self._fetch(_IDS, last, PAGE_MATCHES):
            yield [row["stream_id"] for row in rows]
            last = rows[-1]["stream_id"]

    async def ids_opened(
        self, since: datetime, before: datetime
    ) -> AsyncGenerator[list[UUID], None]:
        """The ids of the matches opened in a span of time, some at a time, the oldest first."""
        place = (since.astimezone(UTC), UUID(int=0))
        while rows := await self._fetch(_OPENED, *place, before, PAGE_MATCHES):
            yield [row["match_id"] for row in rows]
            place = (rows[-1]["opened_at"], rows[-1]["match_id"])

    async def count_opened(self, since: datetime, before: datetime) -> int:
        """How many matches were opened in a span of time."""
        [row] = await self._fetch(_COUNT_OPENED, since, before)
        return int(row["count"])

    async def newest_opened(self, since: datetime, before: datetime) -> datetime | None:
        """When the newest match of a span of time was opened; None where there is none."""
        [row] = await self._fetch(_NEWEST, since, before)
        newest: datetime | None = row[0]
        return newest

    async def _fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        return await patiently(
            self._limits.patience_s, lambda: self._reads.fetch(query, *arguments)
        )


def _first(row: asyncpg.Record) -> UUID:
    match_id: UUID = row[0]
    return match_id
