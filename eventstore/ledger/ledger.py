"""The ledger of coins: accounts, grants, and lists of transfers (R12).

The ledger is double-entry. Transfers are never changed, and balances are stored beside them. New
coins come only from `open_account`, and from grants with their record in the administrative log.
Coins of a match move with the event that causes it: see `coin_append`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from eventstore.errors import LedgerMismatch
from eventstore.ledger.books import Books
from eventstore.ledger.check import LedgerCheck, check_ledger
from eventstore.ledger.opening import opening_grant_id
from eventstore.ledger.postings import Posting, lock_accounts, read_stakes_of, write_postings
from eventstore.ledger.transfers import (
    COINS_MAX,
    TRANSFER_COLUMNS,
    Balance,
    Transfer,
    TransferKind,
    read_transfer,
)
from eventstore.postgres.pool import Pool

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection

_CREATE_ACCOUNT = """
INSERT INTO accounts (player, available_coins, escrow_coins, transfers) VALUES ($1, 0, 0, 0)
ON CONFLICT (player) DO NOTHING
"""
_BALANCE = "SELECT available_coins, escrow_coins FROM accounts WHERE player = $1"
_GRANT = "SELECT player, coins, actor FROM transfers WHERE source_id = $1 AND version = 0"
_OF_SOURCE = f"""
SELECT {TRANSFER_COLUMNS} FROM transfers WHERE source_id = $1 ORDER BY version, ordinal
"""  # noqa: S608 - a constant
_OF_PLAYER = f"""
SELECT {TRANSFER_COLUMNS} FROM transfers
WHERE player = $1 AND number < $2 ORDER BY number DESC LIMIT $3
"""  # noqa: S608 - a constant
_AFTER = f"""
SELECT {TRANSFER_COLUMNS} FROM transfers
WHERE player = $1 AND number > $2 ORDER BY number LIMIT $3
"""  # noqa: S608 - a constant
_CORRECTED = "SELECT DISTINCT source_id FROM transfers WHERE kind = ANY ($1::smallint[])"
_ISSUES = f"""
SELECT {TRANSFER_COLUMNS} FROM transfers
WHERE kind = $1 AND source_id > $2 ORDER BY source_id, version, ordinal LIMIT $3
"""  # noqa: S608 - a constant
_NUMBER_MAX = 2**63 - 1


class Grant(NamedTuple):
    """Coins to issue to a player. `actor` is the operator; nobody for an opening balance."""

    grant_id: UUID
    player: str
    coins: int
    actor: str = ""


class Ledger:
    """Balances and transfers. Use it as `EventStore.ledger`."""

    def __init__(self, reads: Pool, writes: Pool) -> None:
        self._reads = reads
        self._writes = writes

    async def open_account(self, player: str, opening_coins: int) -> Balance:
        """Create the account of a player, unless it exists, and return its balance."""
        found = await self._find_balance(player)
        if found is None:
            opening = Grant(opening_grant_id(player), player, opening_coins)
            await self._writes.transact(lambda connection: issue_opening(connection, opening))
            found = await self._find_balance(player)
        return found or Balance(0, 0)

    async def read_balance(self, player: str) -> Balance:
        """Return the balance of a player, zero if the player has no account."""
        return await self._find_balance(player) or Balance(0, 0)

    async def list_transfers(
        self, player: str, *, before: int | None = None, limit: int
    ) -> list[Transfer]:
        """Return a page of a player's transfers with a number below `before`, newest first."""
        number = _NUMBER_MAX if before is None else before
        rows = await self._reads.fetch(_OF_PLAYER, player, number, limit)
        return [read_transfer(row) for row in rows]

    async def read_transfers(self, player: str, after: int, limit: int) -> list[Transfer]:
        """Return a player's transfers after a number, in order."""
        return [read_transfer(row) for row in await self._reads.fetch(_AFTER, player, after, limit)]

    async def list_transfers_of(self, source_id: UUID) -> list[Transfer]:
        """Return all transfers of a match, a grant or a dispute, in their order."""
        return [read_transfer(row) for row in await self._reads.fetch(_OF_SOURCE, source_id)]

    async def read_pending_stakes(self, match_id: UUID) -> dict[str, int]:
        """Return the escrow of a match by player. It is empty once the match has ended (R12.8)."""
        stakes = await read_stakes_of(self._reads, [match_id])
        return {stake.player: stake.coins for stake in stakes.get(match_id, [])}

    async def list_corrected_disputes(self) -> list[UUID]:
        """Return the ids of all disputes that have moved coins."""
        kinds = [TransferKind.CORRECTION_IN, TransferKind.CORRECTION_OUT]
        return [row["source_id"] for row in await self._reads.fetch(_CORRECTED, kinds)]

    async def list_issues(self, after: UUID, limit: int) -> list[Transfer]:
        """Return the opening balances and grants with a source after an id, in its order.

        Every source issues coins once, so a page never splits one.
        """
        rows = await self._reads.fetch(_ISSUES, TransferKind.ISSUE, after, limit)
        return [read_transfer(row) for row in rows]

    async def check(self) -> LedgerCheck:
        """Compute all sums from the transfers at one moment (R12.8). Reads the whole ledger."""
        return await self._reads.read_snapshot(check_ledger)

    async def _find_balance(self, player: str) -> Balance | None:
        row = await self._reads.fetch_first(_BALANCE, player)
        return None if row is None else Balance(*row)


async def issue_opening(connection: PooledConnection, opening: Grant) -> None:
    """Create an account with its opening balance, inside a transaction of the caller."""
    if await connection.execute(_CREATE_ACCOUNT, opening.player) == "INSERT 0 1":
        await _issue(connection, opening)  # else another process has opened the account


async def issue_grant(connection: PooledConnection, grant: Grant) -> None:
    """Issue the coins of a grant, once for each id, inside a transaction of the caller.

    Raises LedgerMismatch if the id was used for another grant.
    """
    if not 0 < grant.coins <= COINS_MAX:
        raise ValueError(f"a grant has 1 to {COINS_MAX} coins: {grant.coins}")
    await connection.execute(_CREATE_ACCOUNT, grant.player)
    await _issue(connection, grant)


async def _issue(connection: PooledConnection, grant: Grant) -> None:
    books = Books(await lock_accounts(connection, [grant.player]), [])
    for row in await connection.fetch(_GRANT, grant.grant_id):
        if tuple(row) != grant[1:]:
            raise LedgerMismatch(f"the id {grant.grant_id} was used for another grant")
        return
    if grant.coins:
        books.issue(grant.player, grant.coins)
        await write_postings(connection, [Posting(books, grant.grant_id, 0)], grant.actor)
