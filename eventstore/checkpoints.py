"""The Merkle tree of ended matches and its signed heads, as numbers and bytes.

The caller defines the hashes of the nodes and what a signature covers. One process at a time
updates the tree, and each update is one transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import UUID

from eventstore.postgres.advisory_locks import AdvisoryLock
from eventstore.postgres.pool import Pool

if TYPE_CHECKING:
    import asyncpg

    from eventstore.postgres.connect import PooledConnection

Result = TypeVar("Result")
NodeKey = tuple[int, int]
"""Level and index of a node."""

_NODES = """
SELECT level, node_index, hash FROM tree_nodes JOIN
    unnest($1::smallint[], $2::bigint[]) AS wanted (level, node_index) USING (level, node_index)
"""
_LATEST = "SELECT tree_size, note, signed_at FROM checkpoints ORDER BY number DESC LIMIT 1"
_OF_SIZE = """
SELECT tree_size, note, signed_at FROM checkpoints
WHERE tree_size = $1 ORDER BY number DESC LIMIT 1
"""
_LEAF = "SELECT leaf_index, match_id, version, head_hash FROM tree_leaves WHERE match_id = $1"
_SIZE = "SELECT coalesce(max(leaf_index) + 1, 0) AS size FROM tree_leaves"
_WITHOUT_INDEX = """
SELECT m.match_id, s.version, s.head_hash, l.leaf_index
FROM matches m JOIN streams s ON s.stream_id = m.match_id
    LEFT JOIN tree_leaves l ON l.match_id = m.match_id
WHERE m.status = $1 AND m.leaf_index IS NULL ORDER BY m.match_id LIMIT $2
"""
_ADD_LEAVES = """
INSERT INTO tree_leaves (leaf_index, match_id, version, head_hash)
SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::integer[], $4::bytea[])
"""
_ADD_NODES = """
INSERT INTO tree_nodes (level, node_index, hash)
SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[])
"""
# A match of a rebuilt lobby lacks its index although it has a leaf.
_SET_INDEX = """
UPDATE matches m SET leaf_index = l.leaf_index FROM tree_leaves l
WHERE m.match_id = ANY ($1) AND l.match_id = m.match_id
"""
_ADD_HEAD = """
INSERT INTO checkpoints (number, tree_size, note)
SELECT coalesce(max(number), 0) + 1, $1, $2 FROM checkpoints
"""


class PendingLeaf(NamedTuple):
    """An ended match without a leaf: its last version and the hash of that version."""

    match_id: UUID
    version: int
    head_hash: bytes


class Leaf(NamedTuple):
    """A leaf of the tree."""

    leaf_index: int
    match_id: UUID
    version: int
    head_hash: bytes


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

    async def find_pending(self, status: int, limit: int) -> list[PendingLeaf]:
        """Return matches with this status in the lobby that have no leaf yet."""
        rows = await self._connection.fetch(_WITHOUT_INDEX, status, limit)
        self._found = [row["match_id"] for row in rows]
        return [PendingLeaf(*tuple(row)[:3]) for row in rows if row["leaf_index"] is None]

    async def add(
        self, leaves: Sequence[PendingLeaf], nodes: Sequence[tuple[int, int, bytes]]
    ) -> None:
        """Add the next leaves, and the nodes (level, index, hash) that they complete."""
        first = self.tree_size
        self.tree_size += len(leaves)
        columns = [list(column) for column in zip(*leaves, strict=True)] or [[], [], []]
        await self._connection.execute(_ADD_LEAVES, list(range(first, self.tree_size)), *columns)
        columns = [list(column) for column in zip(*nodes, strict=True)] or [[], [], []]
        await self._connection.execute(_ADD_NODES, *columns)
        await self._connection.execute(_SET_INDEX, self._found)

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

    async def read_leaf(self, match_id: UUID) -> Leaf | None:
        """Return the leaf of a match, or None."""
        row = await self._pool.fetch_first(_LEAF, match_id)
        return None if row is None else Leaf(*row)

    async def read_nodes(self, keys: Collection[NodeKey]) -> dict[NodeKey, bytes]:
        """Return the hashes of complete subtrees. Other keys are left out."""
        return _read_nodes(await self._pool.fetch(_NODES, *_split_keys(keys)))


def _read_head(row: asyncpg.Record | None) -> SignedHead | None:
    return None if row is None else SignedHead(*row)


def _split_keys(keys: Collection[NodeKey]) -> tuple[list[int], list[int]]:
    return [level for level, _ in keys], [index for _, index in keys]


def _read_nodes(rows: list[asyncpg.Record]) -> dict[NodeKey, bytes]:
    return {(row["level"], row["node_index"]): row["hash"] for row in rows}
