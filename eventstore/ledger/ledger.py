"""The coin ledger: double entry, immutable transfers, balances kept beside them (R12).

Coins at a match move with the events that cause it, in one transaction (`EventStore.append` with
`coins`): the stream's guard comes first, then the accounts in the order of their names, so that
transactions never wait for each other in a circle. All changes at one match stand behind its guard,
so that its pending stakes need no lock of their own.

Coins come into the game by `open_account` and `grant` alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import UUID, uuid5

from eventstore.errors import LedgerMismatch, StoreError, StoreOverloaded
from eventstore.ledger.books import (
    MOST_COINS,
    Account,
    Balance,
    Books,
    CoinMove,
    Entry,
    Stake,
    Transfer,
    TransferKind,
    players_of,
)
from eventstore.log.append import Pending, explain, given_up, store
from eventstore.model import Append, Head, Limits
from eventstore.postgres.connect import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    TRANSIENT,
    is_lost,
    patiently,
)

if TYPE_CHECKING:
    from eventstore.postgres.connect import Pool, Pooled

Result = TypeVar("Result")

OPENING = UUID("6f70656e-696e-5067-8062-616c616e6365")
"""Namespace of the ids of opening balances, one per player."""

_STAKES = """
SELECT s.version, s.ordinal, s.player, s.coins FROM transfers s
WHERE s.source_id = $1 AND s.kind = 2 AND NOT EXISTS (
    SELECT FROM transfers e
    WHERE e.source_id = s.source_id AND e.stake_version = s.version
        AND e.stake_ordinal = s.ordinal AND e.kind IN (3, 4)
) ORDER BY s.version, s.ordinal
"""

_LOCK = """
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

_OPEN = """
INSERT INTO accounts (player, available_coins, escrow_coins, transfers) VALUES ($1, 0, 0, 0)
ON CONFLICT (player) DO NOTHING
"""

_ISSUED = """
SELECT player, coins, actor FROM transfers WHERE source_id = $1 AND version = 0
"""
_OF_MATCH = """
SELECT source_id, version, ordinal, kind, player, number, coins, available_after, actor, recorded_at
FROM transfers WHERE source_id = $1 ORDER BY version, ordinal
"""
_OF_PLAYER = """
SELECT source_id, version, ordinal, kind, player, number, coins, available_after, actor, recorded_at
FROM transfers WHERE player = $1 AND number < $2 ORDER BY number DESC LIMIT $3
"""

_TOTALS = """
SELECT
    (SELECT coalesce(sum(coins), 0) FROM transfers WHERE kind = 1)::bigint AS issued,
    (SELECT coalesce(sum(available_coins), 0) FROM accounts)::bigint AS available,
    (SELECT coalesce(sum(escrow_coins), 0) FROM accounts)::bigint AS escrow
"""
_WRONG_ACCOUNTS = """
SELECT player FROM accounts a FULL JOIN (
    SELECT player,
        sum(CASE WHEN kind IN (1, 3, 5, 6) THEN coins WHEN kind IN (2, 7) THEN -coins ELSE 0 END)
            AS available,
        sum(CASE WHEN kind = 2 THEN coins WHEN kind IN (3, 4) THEN -coins ELSE 0 END) AS escrow,
        count(*) AS transfers
    FROM transfers GROUP BY player
) t USING (player)
WHERE a.available_coins IS DISTINCT FROM coalesce(t.available, 0)
    OR a.escrow_coins IS DISTINCT FROM coalesce(t.escrow, 0)
    OR a.transfers IS DISTINCT FROM coalesce(t.transfers, 0)
ORDER BY player LIMIT 100
"""
_WRONG_MATCHES = """
SELECT source_id FROM transfers WHERE kind IN (4, 5, 6, 7) GROUP BY source_id
HAVING sum(CASE WHEN kind IN (4, 7) THEN coins ELSE -coins END) <> 0 ORDER BY source_id LIMIT 100
"""
_CORRECTED = "SELECT DISTINCT source_id FROM transfers WHERE kind IN (6, 7)"


class LedgerCheck(NamedTuple):
    """R12.8 at one moment. The lists name at most a hundred each."""

    issued: int
    available: int
    escrow: int
    wrong_accounts: list[str]
    """Players whose balances are not the fold of their transfers."""
    wrong_matches: list[UUID]
    """Matches whose bank did not pay out exactly what was posted to it, and disputes whose
    corrections do not add up to nothing."""

    @property
    def holds(self) -> bool:
        """Whether all coins ever issued are where they should be."""
        whole = self.issued == self.available + self.escrow
        return whole and not self.wrong_accounts and not self.wrong_matches


class Ledger:
    """Balances and transfers. Reached as `EventStore.ledger`."""

    def __init__(self, reads: Pool, writes: Pool, limits: Limits) -> None:
        self._reads = reads
        self._writes = writes
        self._limits = limits
        self._under_way = 0

    async def open_account(self, player: str, opening_coins: int) -> Balance:
        """Give a player who has no account one with an opening balance; the balance either way."""
        found = await self._balance(player)
        if found is None:
            await self._issue(uuid5(OPENING, player), player, opening_coins, "", opening=True)
            found = await self._balance(player)
        return found or Balance(0, 0)

    async def grant(self, grant_id: UUID, player: str, coins: int, actor: str) -> Balance:
        """Issue coins to a player, once per grant id however often it is tried; the balance then.

        `actor` is the operator. Raises LedgerMismatch if that id was another grant.
        """
        if not 0 < coins <= MOST_COINS:
            raise ValueError(f"a grant has 1 to {MOST_COINS} coins: {coins}")
        await self._issue(grant_id, player, coins, actor, opening=False)
        return await self.balance(player)

    async def balance(self, player: str) -> Balance:
        """What a player has; nothing, if they have no account."""
        return await self._balance(player) or Balance(0, 0)

    async def transfers(
        self, player: str, *, before: int | None = None, limit: int
    ) -> list[Transfer]:
        """A page of a player's transfers, newest first, those with a number below `before`."""
        return await self._transfers(_OF_PLAYER, player, before or 2**62, limit)

    async def transfers_of_match(self, match_id: UUID) -> list[Transfer]:
        """All transfers of a match, in the order in which they were made."""
        return await self._transfers(_OF_MATCH, match_id)

    async def pending_stakes(self, match_id: UUID) -> dict[str, int]:
        """The match's escrow by player; empty once it has ended (R12.8)."""
        rows = await self._patiently(lambda: self._reads.fetch(_STAKES, match_id))
        return {row["player"]: row["coins"] for row in rows}

    async def corrected(self) -> list[UUID]:
        """All disputes that have moved coins."""
        rows = await self._patiently(lambda: self._reads.fetch(_CORRECTED))
        return [row[0] for row in rows]

    async def check(self) -> LedgerCheck:
        """Add everything up anew, as of one moment (R12.8). Reads the whole ledger."""

        async def attempt() -> LedgerCheck:
            async with (
                self._reads.acquire() as connection,
                connection.transaction(isolation="repeatable_read", readonly=True),
            ):
                totals = await connection.fetchrow(_TOTALS)
                assert totals is not None
                players = [row[0] for row in await connection.fetch(_WRONG_ACCOUNTS)]
                matches = [row[0] for row in await connection.fetch(_WRONG_MATCHES)]
                return LedgerCheck(
                    totals["issued"], totals["available"], totals["escrow"], players, matches
                )

        return await self._patiently(attempt)

    async def append(self, append: Append, moves: Sequence[CoinMove]) -> Head:
        """See `EventStore.append`: events and coins in one transaction, all or nothing."""
        if self._under_way >= self._limits.waiting_appends:
            raise StoreOverloaded(f"{self._under_way} appends with coins are waiting")
        self._under_way += 1
        try:
            return await self._append(append, moves)
        finally:
            self._under_way -= 1

    async def _append(self, append: Append, moves: Sequence[CoinMove]) -> Head:
        pending = Pending(append)
        deadline = time.monotonic() + self._limits.patience_s
        pause_s = FIRST_PAUSE_S
        resent = False
        while True:
            sent = False
            try:
                async with self._writes.acquire(timeout=self._limits.patience_s) as connection:
                    sent = True
                    await self._transact(connection, pending, moves, resent=resent)
                    return pending.head
            except StoreError:
                raise
            except Exception as error:
                lost = is_lost(error, None)
                if not lost and not isinstance(error, TRANSIENT):
                    raise StoreError(f"the database refused: {type(error).__name__}") from error
                resent = resent or (sent and lost)
                if time.monotonic() + pause_s > deadline:
                    raise given_up(pending, error, resent=resent) from error
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _transact(
        self, connection: Pooled, pending: Pending, moves: Sequence[CoinMove], *, resent: bool
    ) -> None:
        async with connection.transaction():
            if await store(connection, [pending]):
                [outcome] = (await explain(connection, [pending], resent=resent)).values()
                if isinstance(outcome, Head):
                    return  # the coins moved with it
                raise outcome
            match_id = pending.append.stream_id
            stakes = [Stake(*row) for row in await connection.fetch(_STAKES, match_id)]
            books = Books(await _locked(connection, players_of(moves, stakes)), stakes)
            for move in moves:
                books.enter(move)
            await _write(connection, books, match_id, pending.head.version)

    async def _issue(
        self, source_id: UUID, player: str, coins: int, actor: str, *, opening: bool
    ) -> None:
        async def attempt() -> None:
            async with self._writes.acquire() as connection, connection.transaction():
                made = await connection.execute(_OPEN, player) == "INSERT 0 1"
                if opening and not made:
                    return  # somebody else opened it meanwhile
                accounts = await _locked(connection, [player])
                for row in await connection.fetch(_ISSUED, source_id):
                    if tuple(row) != (player, coins, actor):
                        raise LedgerMismatch(f"the id {source_id} was used for another grant")
                    return
                account = accounts[player]
                account.available += coins
                account.transfers += 1
                entry = Entry(
                    TransferKind.ISSUE, player, account.transfers, coins, account.available
                )
                if coins:
                    await _write(connection, Books(accounts, [], [entry]), source_id, 0, actor)

        await self._patiently(attempt)

    async def _balance(self, player: str) -> Balance | None:
        query = "SELECT available_coins, escrow_coins FROM accounts WHERE player = $1"
        row = await self._patiently(lambda: self._reads.fetchrow(query, player))
        return None if row is None else Balance(*row)

    async def _transfers(self, query: str, *arguments: object) -> list[Transfer]:
        rows = await self._patiently(lambda: self._reads.fetch(query, *arguments))
        return [Transfer(*row)._replace(kind=TransferKind(row["kind"])) for row in rows]

    async def _patiently(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        return await patiently(self._limits.patience_s, attempt)


async def correct(
    connection: Pooled, source_id: UUID, version: int, corrections: Mapping[str, int], actor: str
) -> None:
    """Move coins between players, in the caller's transaction; see `Books.correct`.

    Raises InsufficientCoins or LedgerMismatch.
    """
    books = Books(await _locked(connection, sorted(corrections)), [])
    books.correct(corrections)
    await _write(connection, books, source_id, version, actor)


async def _locked(connection: Pooled, players: Sequence[str]) -> dict[str, Account]:
    rows = await connection.fetch(_LOCK, players)
    return {row["player"]: Account(*tuple(row)[1:]) for row in rows}


async def _write(
    connection: Pooled, books: Books, source_id: UUID, version: int, actor: str = ""
) -> None:
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
