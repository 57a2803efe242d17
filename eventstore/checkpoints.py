"""The Merkle tree of streams and its signed heads, as numbers and bytes.

The caller defines the hashes of the nodes and what a signature covers. One process at a time
updates the tree, and each update is one transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import UUID

from eventstore.administration import ADMINISTRATION_ID
from eventstore.postgres.advisory_locks import AdvisoryLock, lock_lobby
from eventstore.postgres.pool import Pool

if TYPE_CHECKING:
    import asyncpg

    from eventstore.postgres.connect import PooledConnection

Result = TypeVar("Result")
NodeKey = tuple[int, int]
"""Level and index of a node."""

LOST_MAX = 100

_NODES = """
SELECT level, node_index, hash FROM tree_nodes JOIN
    unnest($1::smallint[], $2::bigint[]) AS wanted (level, node_index) USING (level, node_index)
"""
_LATEST = "SELECT tree_size, note, signed_at FROM checkpoints ORDER BY number DESC LIMIT 1"
_OF_SIZE = """
SELECT tree_size, note, signed_at FROM checkpoints
WHERE tree_size = $1 ORDER BY number DESC LIMIT 1
"""
_LEAVES = """
SELECT leaf_index, kind, stream_id, version, head_hash FROM tree_leaves
WHERE kind = $1 AND stream_id = ANY ($2) ORDER BY leaf_index
"""
_NEWEST_LEAF = """
SELECT leaf_index, kind, stream_id, version, head_hash FROM tree_leaves
WHERE kind = $1 AND stream_id = $2 AND leaf_index < $3 ORDER BY leaf_index DESC LIMIT 1
"""
_LOST_MATCHES = """
SELECT l.stream_id FROM tree_leaves l WHERE l.kind = $1
    AND NOT EXISTS (SELECT FROM streams s WHERE s.stream_id = l.stream_id)
ORDER BY l.leaf_index LIMIT $2
"""
_SIZE = "SELECT coalesce(max(leaf_index) + 1, 0) AS size FROM tree_leaves"
_ENDED_MATCHES = """
SELECT m.match_id, s.version, s.head_hash, l.leaf_index
FROM matches m JOIN streams s ON s.stream_id = m.match_id
    LEFT JOIN tree_leaves l ON l.kind = $3 AND l.stream_id = m.match_id
WHERE m.status = $1 AND m.leaf_index IS NULL ORDER BY m.match_id LIMIT $2
"""
_GROWN_DISPUTES = """
SELECT dispute_id, version, hash FROM disputes JOIN dispute_events USING (dispute_id, version)
WHERE leaf_version < version ORDER BY dispute_id LIMIT $1
"""
_GROWN_ADMINISTRATION = """
SELECT version, hash FROM administrative_events
WHERE version > (
    SELECT coalesce(max(version), 0) FROM tree_leaves WHERE kind = $1 AND stream_id = $2
) ORDER BY version DESC LIMIT 1
"""
_ADD_LEAVES = """
INSERT INTO tree_leaves (leaf_index, kind, stream_id, version, head_hash)
SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::uuid[], $4::integer[], $5::bytea[])
"""
_ADD_NODES = """
INSERT INTO tree_nodes (level, node_index, hash)
SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[])
"""
# A match of a rebuilt lobby lacks its index although it has a leaf.
_SET_INDEX = """
UPDATE matches m SET leaf_index = l.leaf_index FROM tree_leaves l
WHERE m.match_id = ANY ($1) AND l.kind = $2 AND l.stream_id = m.match_id
"""
_SET_LEAF_VERSION = """
UPDATE disputes d SET leaf_version = l.version
FROM unnest($1::uuid[], $2::integer[]) AS l (dispute_id, version)
WHERE d.dispute_id = l.dispute_id
"""
_ADD_HEAD = """
INSERT INTO checkpoints (number, tree_size, note)
SELECT coalesce(max(number), 0) + 1, $1, $2 FROM checkpoints
"""


class LeafKind(IntEnum):
    """The kinds of streams that have leaves. The numbers are stored."""

    MATCH = 1
    """One leaf, once the match has ended."""
    DISPUTE = 2
    """A leaf for each version that was the newest when the tree grew."""
    ADMINISTRATION = 3
    """The administrative log, with leaves as those of a dispute."""


class StreamHead(NamedTuple):
    """The last version of a stream, and the hash of that version: all that a leaf contains."""

    kind: LeafKind
    stream_id: UUID
    version: int
    head_hash: bytes


class Leaf(NamedTuple):
    """A leaf of the tree."""

    leaf_index: int
    head: StreamHead


class SignedHead(NamedTuple):
    """A signed head of the tree: the number of leaves, the signed note, and the time."""

    tree_size: int
    note: str
    signed_at: datetime


class TreeUpdate:
    """The tree inside the transaction of one update."""

    def __init__(self, connection: PooledConnection, tree_size: int) -> None:
        self.tree_size = tree_size
        self._connection = connection
        self._found: list[UUID] = []

    async def find_ended_matches(self, status: int, limit: int) -> list[StreamHead]:
        """Return matches with this status in the lobby that have no leaf yet."""
        rows = await self._connection.fetch(_ENDED_MATCHES, status, limit, LeafKind.MATCH)
        self._found = [row["match_id"] for row in rows]
        return [
            StreamHead(LeafKind.MATCH, *tuple(row)[:3]) for row in rows if row["leaf_index"] is None
        ]

    async def find_grown_disputes(self, limit: int) -> list[StreamHead]:
        """Return disputes that have grown since their newest leaf, or have none yet."""
        rows = await self._connection.fetch(_GROWN_DISPUTES, limit)
        return [StreamHead(LeafKind.DISPUTE, *row) for row in rows]

    async def find_grown_administration(self) -> list[StreamHead]:
        """Return the head of the administrative log if it has grown since its newest leaf."""
        kind = LeafKind.ADMINISTRATION
        rows = await self._connection.fetch(_GROWN_ADMINISTRATION, kind, ADMINISTRATION_ID)
        return [StreamHead(kind, ADMINISTRATION_ID, *row) for row in rows]

    async def add(
        self, heads: Sequence[StreamHead], nodes: Sequence[tuple[int, int, bytes]]
    ) -> None:
        """Add the next leaves, and the nodes (level, index, hash) that they complete."""
        first = self.tree_size
        self.tree_size += len(heads)
        columns = [list(column) for column in zip(*heads, strict=True)] or [[], [], [], []]
        await self._connection.execute(_ADD_LEAVES, list(range(first, self.tree_size)), *columns)
        columns = [list(column) for column in zip(*nodes, strict=True)] or [[], [], []]
        await self._connection.execute(_ADD_NODES, *columns)
        await lock_lobby(self._connection)
        await self._connection.execute(_SET_INDEX, self._found, LeafKind.MATCH)
        grown = [head for head in heads if head.kind is LeafKind.DISPUTE]
        ids, versions = [head.stream_id for head in grown], [head.version for head in grown]
        await self._connection.execute(_SET_LEAF_VERSION, ids, versions)

    async def read_latest_head(self) -> SignedHead | None:
        """Return the newest signed head, or None."""
        return _read_head(await self._connection.fetchrow(_LATEST))

    async def read_nodes(self, keys: Collection[NodeKey]) -> dict[NodeKey, bytes]:
        """Return the hashes of complete subtrees. Other keys are left out."""
        return _read_nodes(await self._connection.fetch(_NODES, *_split_keys(keys)))

    async def add_head(self, note: str) -> None:
        """Store a signed head of the tree in its present size."""
        await self._connection.execute(_ADD_HEAD, self.tree_size, note)


class Checkpoints:
    """Reads and updates the tree. Use it as `EventStore.checkpoints`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def update(self, work: Callable[[TreeUpdate], Awaitable[Result]]) -> Result | None:
        """Run one update in a transaction. Return None if another process is updating.

        An exception of `work` rolls the update back. Raises StoreUnavailable; then the update may
        have been committed.
        """

        async def run(connection: PooledConnection) -> Result:
            return await work(TreeUpdate(connection, await connection.fetchval(_SIZE)))

        return await self._pool.transact_exclusively(AdvisoryLock.TREE_UPDATE, run)

    async def read_size(self) -> int:
        """Return the number of leaves."""
        [row] = await self._pool.fetch(_SIZE)
        return int(row["size"])

    async def read_latest_head(self) -> SignedHead | None:
        """Return the newest signed head, or None."""
        return _read_head(await self._pool.fetch_first(_LATEST))

    async def read_head(self, tree_size: int) -> SignedHead | None:
        """Return the newest signed head of a tree size, or None."""
        return _read_head(await self._pool.fetch_first(_OF_SIZE, tree_size))

    async def read_leaf(self, kind: LeafKind, stream_id: UUID, tree_size: int) -> Leaf | None:
        """Return the newest leaf of a stream in the tree of this size, or None."""
        row = await self._pool.fetch_first(_NEWEST_LEAF, kind, stream_id, tree_size)
        return None if row is None else _read_leaf(row)

    async def read_leaves(self, kind: LeafKind, stream_ids: Sequence[UUID]) -> list[Leaf]:
        """Return the leaves of these streams, in the order of the tree."""
        rows = await self._pool.fetch(_LEAVES, kind, stream_ids)
        return [_read_leaf(row) for row in rows]

    async def list_lost_matches(self) -> list[UUID]:
        """Return matches that have a leaf but no stream, up to a limit."""
        rows = await self._pool.fetch(_LOST_MATCHES, LeafKind.MATCH, LOST_MAX)
        return [row["stream_id"] for row in rows]

    async def read_nodes(self, keys: Collection[NodeKey]) -> dict[NodeKey, bytes]:
        """Return the hashes of complete subtrees. Other keys are left out."""
        return _read_nodes(await self._pool.fetch(_NODES, *_split_keys(keys)))


def _read_leaf(row: asyncpg.Record) -> Leaf:
    leaf_index, kind, *head = row
    return Leaf(leaf_index, StreamHead(LeafKind(kind), *head))


def _read_head(row: asyncpg.Record | None) -> SignedHead | None:
    return None if row is None else SignedHead(*row)


def _split_keys(keys: Collection[NodeKey]) -> tuple[list[int], list[int]]:
    return [level for level, _ in keys], [index for _, index in keys]


def _read_nodes(rows: list[asyncpg.Record]) -> dict[NodeKey, bytes]:
    return {(row["level"], row["node_index"]): row["hash"] for row in rows}
