"""Disputes as numbers and bytes: a stream of records for each dispute, and lists of disputes.

The record that makes a ruling final moves the corrected coins in the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from eventstore.administration import AdministrativeAppend, append_act
from eventstore.errors import TooManyDisputes, VersionConflict
from eventstore.ledger.postings import post_corrections
from eventstore.log.news import News, NewsKind, write_news
from eventstore.model import BEFORE_FIRST_PAGE, PageKey, StoredRecord
from eventstore.postgres.pool import Pool

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection

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
_VERSION = "SELECT coalesce(max(version), 0) FROM dispute_events WHERE dispute_id = $1"
_LIST = """
SELECT dispute_id, match_id, opened_by, status, opened_at, version, summary FROM disputes
WHERE (opened_at, dispute_id) < ($1, $2)
    AND ($3::smallint[] IS NULL OR status = ANY ($3))
    AND ($4::uuid IS NULL OR match_id = $4)
    AND ($5::text IS NULL OR opened_by = $5)
ORDER BY opened_at DESC, dispute_id DESC LIMIT $6
"""
_IDS = """
SELECT dispute_id FROM (
    SELECT dispute_id FROM dispute_events WHERE version = 1
    UNION SELECT stream_id FROM tree_leaves WHERE kind = 2
) AS known (dispute_id) WHERE dispute_id > $1 ORDER BY dispute_id LIMIT $2
"""
_SEATED = "SELECT player FROM match_players WHERE match_id = $1"
_LOCK_QUOTA = "SELECT pg_advisory_xact_lock(hashtextextended($1::uuid || ' ' || $2::text, 0))"
_COUNT = """
SELECT count(*) FROM disputes
WHERE match_id = $1 AND opened_by = $2 AND status = ANY ($3::smallint[])
"""


class ListedDispute(NamedTuple):
    """One row of a list of disputes. The caller defines the numbers of `status`."""

    dispute_id: UUID
    match_id: UUID
    opened_by: str
    status: int
    opened_at: datetime
    version: int
    summary: bytes


class DisputeQuota(NamedTuple):
    """A player may have at most `limit` disputes with these statuses about one match."""

    statuses: Collection[int]
    limit: int


def first_dispute_hash(dispute_id: UUID) -> bytes:
    """Return hash(0) of a dispute's chain: SHA-256("durak.v1.dispute" ‖ dispute id)."""
    return sha256(b"durak.v1.dispute" + dispute_id.bytes).digest()


class Disputes:
    """Appends to disputes and lists them. Use it as `EventStore.disputes`."""

    def __init__(self, reads: Pool, writes: Pool) -> None:
        self._reads = reads
        self._writes = writes

    async def append(
        self,
        row: ListedDispute,
        stored: StoredRecord,
        previous_hash: bytes,
        corrections: Mapping[str, int],
        actor: str = "",
        quota: DisputeQuota | None = None,
        administrative: AdministrativeAppend | None = None,
    ) -> None:
        """Store the next record of a dispute, its row of the list, and its corrections.

        The seated players of the match get news of it.

        Args:
            row: the row after the record.
            stored: the record, its version and its hash.
            previous_hash: the hash of the version before.
            corrections: coins by player, positive or negative. They sum to 0.
            actor: the operator who makes the ruling final.
            quota: the quota to check when the dispute is opened.
            administrative: the act in the administrative log that goes with corrections.

        Raises:
            VersionConflict: the dispute or the administrative log is not at the version before. The
                conflicting record can be the caller's own, if the connection was lost after its
                commit.
            TooManyDisputes: the quota is used up.
            InsufficientCoins, LedgerMismatch: the corrections cannot be made.
            StoreUnavailable: the database is unavailable.
        """
        dispute_id = row.dispute_id

        async def append(connection: PooledConnection) -> None:
            added = await connection.execute(_APPEND, dispute_id, *stored, previous_hash)
            if added != "INSERT 0 1":
                actual = await connection.fetchval(_VERSION, dispute_id)
                raise VersionConflict(dispute_id, stored.version - 1, actual)
            if quota is not None:
                await _check_quota(connection, row, quota)
            await connection.execute(_PUT, *row)
            if administrative is not None:
                await append_act(connection, administrative)
            if corrections:
                await post_corrections(connection, dispute_id, stored.version, corrections, actor)
            players = await connection.fetch(_SEATED, row.match_id)
            news = [
                News(NewsKind.DISPUTE, dispute_id, stored.version, one["player"]) for one in players
            ]
            await write_news(connection, news)

        await self._writes.transact(append)

    async def read(self, dispute_id: UUID) -> list[StoredRecord]:
        """Return the records of a dispute, in order. The list is empty if it does not exist."""
        return [StoredRecord(*row) for row in await self._reads.fetch(_READ, dispute_id)]

    async def list_ids(self, after: UUID, limit: int) -> list[UUID]:
        """Return a page of the ids of all disputes that have a first record or a leaf, in order."""
        return [row["dispute_id"] for row in await self._reads.fetch(_IDS, after, limit)]

    async def list_disputes(
        self,
        *,
        statuses: Collection[int] | None = None,
        match_id: UUID | None = None,
        opened_by: str | None = None,
        after: PageKey | None = None,
        limit: int | None,
    ) -> list[ListedDispute]:
        """Return a page of disputes, newest first. `after` is the last row of the page before.

        Without a limit the page has all rows.
        """
        filters = (None if statuses is None else sorted(statuses), match_id, opened_by)
        rows = await self._reads.fetch(_LIST, *(after or BEFORE_FIRST_PAGE), *filters, limit)
        return [ListedDispute(*row) for row in rows]


async def _check_quota(
    connection: PooledConnection, row: ListedDispute, quota: DisputeQuota
) -> None:
    """Check the quota under a lock, so that parallel transactions cannot all find room."""
    await connection.execute(_LOCK_QUOTA, row.match_id, row.opened_by)
    count = await connection.fetchval(_COUNT, row.match_id, row.opened_by, sorted(quota.statuses))
    if count >= quota.limit:
        raise TooManyDisputes(f"the player has {count} undecided disputes about the match")
