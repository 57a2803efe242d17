"""The administrative log: one stream with a record for each act of an insider, as bytes.

The coins that an act moves are moved in the transaction that stores its record.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from eventstore.errors import VersionConflict
from eventstore.ledger.ledger import Grant, issue_grant
from eventstore.model import StoredRecord
from eventstore.postgres.pool import Pool

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection

FIRST_ADMINISTRATION_HASH: Final = sha256(b"durak.v1.administration").digest()
"""hash(0) of the chain."""

ADMINISTRATION_ID: Final = UUID(bytes=FIRST_ADMINISTRATION_HASH[:16])
"""The id of the stream, in its leaves and in errors. There is only one."""
_VERSION_MAX: Final = 2**31 - 1
_APPEND = """
INSERT INTO administrative_events
    (version, record, hash, kind, actor, subject, request_id, recorded_at)
SELECT $1::integer, $2, $3, $4, $5, $6, $7, $8
WHERE $1 = 1 OR EXISTS (
    SELECT FROM administrative_events WHERE version = $1 - 1 AND hash = $9
) ON CONFLICT DO NOTHING
"""
_LAST = """
SELECT version, record, hash FROM administrative_events ORDER BY version DESC LIMIT 1
"""
_VERSION = "SELECT coalesce(max(version), 0) FROM administrative_events"
_BY_REQUEST = """
SELECT version, record, hash FROM administrative_events WHERE actor = $1 AND request_id = $2
"""
_BY_ACTOR = """
SELECT version, record, hash FROM administrative_events
WHERE actor = $1 AND kind = $2 AND recorded_at > $3 ORDER BY version
"""
_BY_SUBJECT = """
SELECT version, record, hash FROM administrative_events
WHERE subject = $1 AND kind = ANY ($2::smallint[]) ORDER BY version
"""
_LIST = """
SELECT version, record, hash FROM administrative_events
WHERE version < $1 AND ($2::text IS NULL OR actor = $2) AND ($3::smallint IS NULL OR kind = $3)
ORDER BY version DESC LIMIT $4
"""
_READ = """
SELECT version, record, hash FROM administrative_events
WHERE version > $1 ORDER BY version LIMIT $2
"""
_OF_KIND = """
SELECT version, record, hash FROM administrative_events
WHERE kind = $1 AND version > $2 ORDER BY version LIMIT $3
"""
_READ_ACTS = """
SELECT version, record, hash, kind, actor, subject, request_id, recorded_at
FROM administrative_events WHERE version > $1 ORDER BY version LIMIT $2
"""


class Act(NamedTuple):
    """The next record of the log and its keys. The caller defines the numbers of `kind`."""

    version: int
    record: bytes
    hash: bytes
    kind: int
    actor: str
    subject: str
    request_id: UUID
    recorded_at: datetime


class AdministrativeAppend(NamedTuple):
    """An act to store, and the hash of the version before it."""

    act: Act
    previous_hash: bytes


class Administration:
    """Appends to the administrative log and reads it. Use it as `EventStore.administration`."""

    def __init__(self, reads: Pool, writes: Pool) -> None:
        self._reads = reads
        self._writes = writes

    async def append(self, append: AdministrativeAppend, grant: Grant | None = None) -> None:
        """Store the next record, and issue the coins of a grant in the same transaction.

        Raises:
            VersionConflict: the log is not at the version before, or the actor has used the request
                id. The record can be the caller's own, if the connection was lost after its commit.
            LedgerMismatch: the id of the grant was used for another one.
            StoreUnavailable: the database is unavailable.
        """

        async def transact(connection: PooledConnection) -> None:
            await append_act(connection, append)
            if grant is not None:
                await issue_grant(connection, grant)

        await self._writes.transact(transact)

    async def read_last(self) -> StoredRecord | None:
        """Return the last record, or None if the log is empty."""
        row = await self._reads.fetch_first(_LAST)
        return None if row is None else StoredRecord(*row)

    async def find(self, actor: str, request_id: UUID) -> StoredRecord | None:
        """Return the record of a request of an actor, if there is one."""
        row = await self._reads.fetch_first(_BY_REQUEST, actor, request_id)
        return None if row is None else StoredRecord(*row)

    async def read_of_actor(self, actor: str, kind: int, after: datetime) -> list[StoredRecord]:
        """Return the acts of a kind that an actor did after a time, in order."""
        return [
            StoredRecord(*row) for row in await self._reads.fetch(_BY_ACTOR, actor, kind, after)
        ]

    async def read_of_subject(self, subject: str, kinds: Collection[int]) -> list[StoredRecord]:
        """Return the acts of these kinds about a subject, in order."""
        rows = await self._reads.fetch(_BY_SUBJECT, subject, sorted(kinds))
        return [StoredRecord(*row) for row in rows]

    async def read_of_kind(self, kind: int, after_version: int, limit: int) -> list[StoredRecord]:
        """Return the acts of a kind after a version, in order."""
        rows = await self._reads.fetch(_OF_KIND, kind, after_version, limit)
        return [StoredRecord(*row) for row in rows]

    async def list_acts(
        self,
        *,
        actor: str | None = None,
        kind: int | None = None,
        before: int | None = None,
        limit: int,
    ) -> list[StoredRecord]:
        """Return a page of acts with a version below `before`, newest first."""
        number = _VERSION_MAX if before is None else before
        rows = await self._reads.fetch(_LIST, number, actor, kind, limit)
        return [StoredRecord(*row) for row in rows]

    async def read(self, after_version: int = 0, limit: int | None = None) -> list[StoredRecord]:
        """Return the records after a version, in order."""
        rows = await self._reads.fetch(_READ, after_version, limit)
        return [StoredRecord(*row) for row in rows]

    async def read_acts(self, after_version: int, limit: int) -> list[Act]:
        """Return the records after a version with their keys, in order."""
        return [Act(*row) for row in await self._reads.fetch(_READ_ACTS, after_version, limit)]


async def append_act(connection: PooledConnection, append: AdministrativeAppend) -> None:
    """Store an act inside a transaction of the caller. Raises VersionConflict."""
    act, previous_hash = append
    if await connection.execute(_APPEND, *act, previous_hash) != "INSERT 0 1":
        actual = await connection.fetchval(_VERSION)
        raise VersionConflict(ADMINISTRATION_ID, act.version - 1, actual)
