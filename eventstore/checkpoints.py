"""The tree of ended matches and its signed heads, as numbers and bytes.

What the hashes mean, and what a signature covers, the caller knows. The tree grows in turns: one
process at a time, all of a turn or nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import UUID

from eventstore.model import Limits
from eventstore.postgres.connect import patiently
from eventstore.postgres.migrate import LOCK_KEY

if TYPE_CHECKING:
    import asyncpg

    from eventstore.postgres.connect import Pool, Pooled

Result = TypeVar("Result")
NodeKey = tuple[int, int]
"""Level and index."""

TURN_KEY = LOCK_KEY + 1

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
_SIZE = "SELECT coalesce(max(leaf_index) + 1, 0) FROM tree_leaves"
_WAITING = """
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
# Also where the match has its leaf already: the lobby can be rebuilt.
_MARK = """
UPDATE matches m SET leaf_index = l.leaf_index FROM tree_leaves l
WHERE m.match_id = ANY ($1) AND l.match_id = m.match_id
"""
_SIGN = """
INSERT INTO checkpoints (number, tree_size, note)
SELECT coalesce(max(number), 0) + 1, $1, $2 FROM checkpoints
"""


class EndedMatch(NamedTuple):
    """A match that waits for its leaf: its last version, and the hash of that."""

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
    """A signed head of the tree: the number of leaves, the note as it was signed, and when."""

    tree_size: int
    note: str
    signed_at: datetime


class Turn:
    """The tree during a turn: what there is, and what to add to it."""

    def __init__(self, connection: Pooled, tree_size: int) -> None:
        self.tree_size = tree_size
        self._connection = connection
        self._waiting: list[UUID] = []

    async def waiting(self, status: int, limit: int) -> list[EndedMatch]:
        """Matches of this status of the lobby that have no leaf yet."""
        rows = await self._connection.fetch(_WAITING, status, limit)
        self._waiting = [row["match_id"] for row in rows]
        return [EndedMatch(*tuple(row)[:3]) for row in rows if row["leaf_index"] is None]

    async def add(
        self, ended: Sequence[EndedMatch], nodes: Sequence[tuple[int, int, bytes]]
    ) -> None:
        """Give these matches the next leaves; the nodes are (level, index, hash)."""
        first = self.tree_size
        self.tree_size += len(ended)
        columns = [list(column) for column in zip(*ended, strict=True)] or [[], [], []]
        await self._connection.execute(_ADD_LEAVES, list(range(first, self.tree_size)), *columns)
        parts = [list(column) for column in zip(*nodes, strict=True)] or [[], [], []]
        await self._connection.execute(_ADD_NODES, *parts)
        await self._connection.execute(_MARK, self._waiting)

    async def latest(self) -> SignedHead | None:
        """The newest signed head."""
        return _head(await self._connection.fetchrow(_LATEST))

    async def nodes(self, keys: Collection[NodeKey]) -> dict[NodeKey, bytes]:
        """The hashes of complete subtrees; none for those that are not complete."""
        return _nodes(await self._connection.fetch(_NODES, *_columns(keys)))

    async def sign(self, note: str) -> None:
        """Keep a signed head of the tree as it is now."""
        await self._connection.execute(_SIGN, self.tree_size, note)


class Checkpoints:
    """Reads the tree, and lets it grow. Reached as `EventStore.checkpoints`."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool = pool
        self._limits = limits

    async def take_turn(self, work: Callable[[Turn], Awaitable[Result]]) -> Result | None:
        """Do the work of a turn in one transaction; None where another process has its turn.

        What the work raises undoes it. Raises StoreUnavailable, and then nothing is known.
        """

        async def attempt() -> Result | None:
            async with self._pool.acquire() as connection, connection.transaction():
                if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", TURN_KEY):
                    return None
                return await work(Turn(connection, await connection.fetchval(_SIZE)))

        return await patiently(0.0, attempt)

    async def size(self) -> int:
        """The number of leaves."""
        row = await self._fetchrow(_SIZE)
        return 0 if row is None else int(row[0])

    async def latest(self) -> SignedHead | None:
        """The newest signed head."""
        return _head(await self._fetchrow(_LATEST))

    async def of_size(self, tree_size: int) -> SignedHead | None:
        """The newest signed head of a tree of that size, if there is one."""
        return _head(await self._fetchrow(_OF_SIZE, tree_size))

    async def leaf_of(self, match_id: UUID) -> Leaf | None:
        """The leaf of a match, if it has one."""
        row = await self._fetchrow(_LEAF, match_id)
        return None if row is None else Leaf(*row)

    async def nodes(self, keys: Collection[NodeKey]) -> dict[NodeKey, bytes]:
        """The hashes of complete subtrees; none for those that are not complete."""
        columns = _columns(keys)
        return _nodes(
            await patiently(self._limits.patience_s, lambda: self._pool.fetch(_NODES, *columns))
        )

    async def _fetchrow(self, query: str, *arguments: object) -> asyncpg.Record | None:
        return await patiently(
            self._limits.patience_s, lambda: self._pool.fetchrow(query, *arguments)
        )


def _head(row: asyncpg.Record | None) -> SignedHead | None:
    return None if row is None else SignedHead(*row)


def _columns(keys: Collection[NodeKey]) -> tuple[list[int], list[int]]:
    return [level for level, _ in keys], [index for _, index in keys]


def _nodes(rows: list[asyncpg.Record]) -> dict[NodeKey, bytes]:
    return {(row["level"], row["node_index"]): row["hash"] for row in rows}
