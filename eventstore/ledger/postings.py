"""Reads and writes of the ledger inside a transaction of the caller.

Accounts are locked in the order of their players' names, so transactions cannot deadlock. Pending
stakes need no lock: a command that changes them holds the stream of their match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from eventstore.ledger.books import Account, Books, Stake
from eventstore.ledger.transfers import TransferKind

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection
    from eventstore.postgres.pool import Pool

# Only the transfer that ends a stake has a stake_version.
_PENDING_STAKES = """
SELECT s.source_id, s.version, s.ordinal, s.player, s.coins FROM transfers s
WHERE s.source_id = ANY ($1::uuid[]) AND s.kind = $2 AND NOT EXISTS (
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
SELECT *, $5 FROM unnest($6::uuid[], $7::integer[], $8::smallint[], $9::smallint[], $10::text[],
    $11::bigint[], $12::bigint[], $13::bigint[], $14::integer[], $15::smallint[])
"""


class Posting(NamedTuple):
    """The entries of one command, with their source and its version."""

    books: Books
    source_id: UUID
    version: int


async def read_stakes_of(
    connection: PooledConnection | Pool, match_ids: Sequence[UUID]
) -> dict[UUID, list[Stake]]:
    """Return the stakes of each match that no refund or post has ended, in their order."""
    rows = await connection.fetch(_PENDING_STAKES, match_ids, TransferKind.STAKE)
    found: dict[UUID, list[Stake]] = {}
    for match_id, *stake in rows:
        found.setdefault(match_id, []).append(Stake(*stake))
    return found


async def lock_accounts(connection: PooledConnection, players: Sequence[str]) -> dict[str, Account]:
    """Lock the existing accounts of the players until the transaction ends, and return them."""
    rows = await connection.fetch(_LOCK_ACCOUNTS, players)
    return {row["player"]: Account(*tuple(row)[1:]) for row in rows}


async def write_postings(
    connection: PooledConnection, postings: Sequence[Posting], actor: str = ""
) -> None:
    """Write the entries of all postings and the new balances of their accounts.

    No player is in two of them.
    """
    accounts = [each for posting in postings for each in posting.books.accounts.items()]
    sources = [
        (posting.source_id, posting.version, ordinal)
        for posting in postings
        for ordinal in range(len(posting.books.entries))
    ]
    entries = [entry for posting in postings for entry in posting.books.entries]
    await connection.execute(
        _WRITE,
        [player for player, _ in accounts],
        [account.available for _, account in accounts],
        [account.escrow for _, account in accounts],
        [account.transfers for _, account in accounts],
        actor,
        *([source[column] for source in sources] for column in range(3)),
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
    await write_postings(connection, [Posting(books, dispute_id, version)], actor)
