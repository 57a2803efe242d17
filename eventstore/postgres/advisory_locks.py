"""The advisory locks that processes share in one database."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection


class AdvisoryLock(IntEnum):
    """An advisory lock of the service, by its key in Postgres."""

    MIGRATION = 0x6475_7261_6B
    """Held while migrations run. The key spells "durak"."""
    TREE_UPDATE = MIGRATION + 1
    """Held while ended matches are added to the Merkle tree."""
    STANDINGS_UPDATE = MIGRATION + 2
    """Held while ended matches are counted in the standings."""
    LOBBY_UPDATE = MIGRATION + 3
    """Held while background work changes rows of `matches`. See `lock_lobby`."""


async def lock_lobby(connection: PooledConnection) -> None:
    """Lock `matches` against other background work, until the end of the transaction.

    Each such transaction takes this lock before its first change of the table, so no two of them
    wait for each other's rows. The checkpointer, the scorekeeper and the rebuild take it after the
    lock of their own update, never before it. Appends do not take it. They cannot be in a deadlock
    with the checkpointer and the scorekeeper, which change only matches that have ended, nor with
    the rebuild, since both lock the rows in the order of match ids.
    """
    await connection.execute("SELECT pg_advisory_xact_lock($1)", AdvisoryLock.LOBBY_UPDATE)
