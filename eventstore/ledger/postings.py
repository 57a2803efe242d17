"""Reads and writes of the ledger inside a transaction of the caller.

Accounts are locked in the order of their players' names, so transactions cannot deadlock. Pending
stakes need no lock: a command that changes them holds the stream of their match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from eventstore.ledger.books import Account, Books, Stake
from eventstore.ledger.transfers import TransferKind

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection
    from eventstore.postgres.pool import Pool

# Only the transfer that ends a stake has a stake_version.
_PENDING_STAKES = """
SELECT s.version, s.ordinal, s.player, s.coins FROM transfers s
WHERE s.source_id = $1 AND s.kind = $2 AND NOT EXISTS (
    SELECT FROM transfers e
    WHERE e.source_id = s.source_id AND e.stake_version = s.version
        AND e.stake_ordinal = s.ordinal
) ORDER BY s.version, s.ordinal
"""

_LOCK_ACCOUNTS = """
SELECT player, available_coins, escrow_coins, transfers FROM accounts
WHERE player = ANY ($1::text[]) ORDER BY player FOR UPDATE
"""

_WRITE = """
WITH written AS (
    UPDATE accounts a
    SET available_coins = i.available, escrow_coins = i.escrow, transfers = i.transfers
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
        AS i (player, available, escrow, transfers)
    WHERE a.player = i.player
)
INSERT INTO transfers (source_id, version, ordinal, kind, player, number, coins, available_after,
    stake_version, stake_ordinal, actor)
SELECT $5, $6, i.ordinal - 1, i.kind, i.player, i.number, i.coins, i.available_after,
    i.stake_version, i.stake_ordinal, $7
FROM unnest($8::smallint[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[],
    $13::integer[], $14::smallint[]) WITH ORDINALITY
    AS i (kind, player, number, coins, available_after, stake_version, stake_ordinal, ordinal)
"""


async def read_pending_stakes(connection: PooledConnection | Pool, match_id: UUID) -> list[Stake]:
    """Return the stakes of a match that no refund or post has ended, in their order."""
    rows = await connection.fetch(_PENDING_STAKES, match_id, TransferKind.STAKE)
    return [Stake(*row) for row in rows]


async def lock_accounts(connection: PooledConnection, players: Sequence[str]) -> dict[str, Account]:
    """Lock the existing accounts of the players until the transaction ends, and return them."""
    rows = await connection.fetch(_LOCK_ACCOUNTS, players)
    return {row["player"]: Account(*tuple(row)[1:]) for row in rows}


async def write_books(
    connection: PooledConnection, books: Books, source_id: UUID, version: int, actor: str = ""
) -> None:
    """Write the entries of the books and the new balances of their accounts."""
    accounts, entries = books.accounts, books.entries
    await connection.execute(
        _WRITE,
        list(accounts),
        [account.available for account in accounts.values()],
        [account.escrow for account in accounts.values()],
        [account.transfers for account in accounts.values()],
        source_id,
        version,
        actor,
        [entry.kind for entry in entries],
        [entry.player for entry in entries],
        [entry.number for entry in entries],
        [entry.coins for entry in entries],
        [entry.available_after for entry in entries],
        [entry.stake.version if entry.stake else None for entry in entries],
        [entry.stake.ordinal if entry.stake else None for entry in entries],
    )


async def post_corrections(
    connection: PooledConnection,
    dispute_id: UUID,
    version: int,
    corrections: Mapping[str, int],
    actor: str,
) -> None:
    """Move coins between players by a ruling. Raises InsufficientCoins or LedgerMismatch."""
    books = Books(await lock_accounts(connection, sorted(corrections)), [])
    books.correct(corrections)
    await write_books(connection, books, dispute_id, version, actor)
