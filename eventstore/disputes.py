"""Disputes as numbers and bytes: a stream of records for each, and the list of them.

With the record that makes a ruling stand, the coins that it corrects move, in one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

import asyncpg

from eventstore.errors import TooManyDisputes, VersionConflict
from eventstore.ledger.ledger import correct
from eventstore.model import Limits, PageKey, StoredRecord
from eventstore.postgres.connect import patiently

if TYPE_CHECKING:
    from eventstore.postgres.connect import Pool, Pooled

_APPEND = """
INSERT INTO dispute_events (dispute_id, version, record, hash) SELECT $1::uuid, $2, $3, $4
WHERE $2 = 1 OR EXISTS (
    SELECT FROM dispute_events WHERE dispute_id = $1 AND version = $2 - 1 AND hash = $5
) ON CONFLICT DO NOTHING
"""
_PUT = """
INSERT INTO disputes (dispute_id, match_id, opened_by, status, opened_at, version, summary)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (dispute_id)
DO UPDATE SET status = excluded.status, version = excluded.version, summary = excluded.summary
"""
_READ = "SELECT version, record, hash FROM dispute_events WHERE dispute_id = $1 ORDER BY version"
_HEAD = "SELECT coalesce(max(version), 0) FROM dispute_events WHERE dispute_id = $1"
_LIST = """
SELECT dispute_id, match_id, opened_by, status, opened_at, version, summary FROM disputes
WHERE (opened_at, dispute_id) < ($1, $2)
    AND ($3::smallint[] IS NULL OR status = ANY ($3))
    AND ($4::uuid IS NULL OR match_id = $4)
    AND ($5::text IS NULL OR opened_by = $5)
ORDER BY opened_at DESC, dispute_id DESC LIMIT $6
"""
_LOCK_ROOM = "SELECT pg_advisory_xact_lock(hashtextextended($1::uuid || ' ' || $2::text, 0))"
_UNDECIDED = """
SELECT count(*) FROM disputes
WHERE match_id = $1 AND opened_by = $2 AND status = ANY ($3::smallint[])
"""
_NEWEST = PageKey(datetime(9999, 12, 31, tzinfo=UTC), UUID(int=2**128 - 1))


class ListedDispute(NamedTuple):
    """One row of a list of disputes. `status` is the caller's own numbering."""

    dispute_id: UUID
    match_id: UUID
    opened_by: str
    status: int
    opened_at: datetime
    version: int
    summary: bytes


class DisputeRoom(NamedTuple):
    """At most `limit` disputes of one player about one match may be in `statuses` at once."""

    statuses: Collection[int]
    limit: int


def first_dispute_hash(dispute_id: UUID) -> bytes:
    """Hash(0) of a dispute's chain: SHA-256("durak.v1.dispute" ‖ dispute id)."""
    return sha256(b"durak.v1.dispute" + dispute_id.bytes).digest()


class Disputes:
    """Reached as `EventStore.disputes`."""

    def __init__(self, reads: Pool, writes: Pool, limits: Limits) -> None:
        self._reads = reads
        self._writes = writes
        self._limits = limits

    async def append(
        self,
        row: ListedDispute,
        stored: StoredRecord,
        previous_hash: bytes,
        corrections: Mapping[str, int],
        actor: str = "",
        room: DisputeRoom | None = None,
    ) -> None:
        """Add the next record of a dispute, its row of the list, and the coins that it moves.

        `corrections` are coins by player, and add up to 0. `room` is for a dispute that is opened.
        Raises VersionConflict where the dispute is not at the version before, TooManyDisputes,
        InsufficientCoins, LedgerMismatch or StoreUnavailable. A conflict may also be with the
        caller's own record, where the connection broke after it.
        """
        dispute_id = row.dispute_id

        async def attempt() -> None:
            async with self._writes.acquire() as connection, connection.transaction():
                added = await connection.execute(_APPEND, dispute_id, *stored, previous_hash)
                if added != "INSERT 0 1":
                    actual = await connection.fetchval(_HEAD, dispute_id)
                    raise VersionConflict(dispute_id, stored.version - 1, actual)
                if room is not None:
                    await _check_room(connection, row, room)
                await connection.execute(_PUT, *row)
                if corrections:
                    await correct(connection, dispute_id, stored.version, corrections, actor)

        await patiently(self._limits.patience_s, attempt)

    async def read(self, dispute_id: UUID) -> list[StoredRecord]:
        """The records of a dispute, in order; none when there is no such dispute."""
        return [StoredRecord(*row) for row in await self._fetch(_READ, dispute_id)]

    async def list(
        self,
        *,
        statuses: Collection[int] | None = None,
        match_id: UUID | None = None,
        opened_by: str | None = None,
        after: PageKey | None = None,
        limit: int,
    ) -> Sequence[ListedDispute]:
        """A page of disputes, newest first; `after` is the last row of the page before."""
        filters = (None if statuses is None else sorted(statuses), match_id, opened_by)
        rows = await self._fetch(_LIST, *(after or _NEWEST), *filters, limit)
        return [ListedDispute(*row) for row in rows]

    async def _fetch(self, query: str, *arguments: object) -> Sequence[asyncpg.Record]:
        return await patiently(
            self._limits.patience_s, lambda: self._reads.fetch(query, *arguments)
        )


async def _check_room(connection: Pooled, row: ListedDispute, room: DisputeRoom) -> None:
    """One after the other for a player and match, or all at once would find room."""
    await connection.execute(_LOCK_ROOM, row.match_id, row.opened_by)
    undecided = await connection.fetchval(
        _UNDECIDED, row.match_id, row.opened_by, sorted(room.statuses)
    )
    if undecided >= room.limit:
        raise TooManyDisputes(f"{undecided} disputes of this player are undecided")
