"""Appends that move coins: records and transfers in one transaction.

The version guard of the stream comes first, then the locks on the accounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eventstore.errors import StoreError, StoreOverloaded
from eventstore.ledger.books import Books, CoinMove, list_players
from eventstore.ledger.opening import check_opening_coins
from eventstore.ledger.postings import lock_accounts, read_pending_stakes, write_books
from eventstore.limits import Limits
from eventstore.log.append import PendingAppend, explain_rejections, send_appends, timed_out
from eventstore.model import Append, Head
from eventstore.postgres.pool import Pool
from eventstore.postgres.retry import TRANSIENT, Backoff, is_lost, refused

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection


class CoinAppender:
    """Stores appends that move coins, each in its own transaction."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool = pool
        self._limits = limits
        self._in_progress = 0

    async def append(self, append: Append, moves: Sequence[CoinMove]) -> Head:
        """Store the records and move the coins. See `EventStore.append`."""
        if self._in_progress >= self._limits.waiting_appends_max:
            raise StoreOverloaded(f"{self._in_progress} appends with coins are waiting")
        self._in_progress += 1
        try:
            return await self._append(PendingAppend(append), moves)
        finally:
            self._in_progress -= 1

    async def _append(self, pending: PendingAppend, moves: Sequence[CoinMove]) -> Head:
        backoff = Backoff(self._limits.retry_timeout_seconds)
        resent = False
        while True:
            sent = False
            try:
                async with self._pool.acquire() as connection:
                    sent = True
                    await self._transact(connection, pending, moves, resent=resent)
                    return pending.head
            except StoreError:
                raise
            except Exception as error:
                lost = is_lost(error)
                if not lost and not isinstance(error, TRANSIENT):
                    raise refused(error) from error
                resent = resent or (sent and lost)
                if not await backoff.wait():
                    raise timed_out(pending, error, resent=resent) from error

    async def _transact(
        self,
        connection: PooledConnection,
        pending: PendingAppend,
        moves: Sequence[CoinMove],
        *,
        resent: bool,
    ) -> None:
        async with connection.transaction():
            if await send_appends(connection, [pending]):
                outcomes = await explain_rejections(connection, [pending], resent=resent)
                outcome = outcomes[pending.key]
                if isinstance(outcome, Head):
                    return  # an earlier try stored the records and moved the coins
                raise outcome
            match_id = pending.append.stream_id
            stakes = await read_pending_stakes(connection, match_id)
            books = Books(await lock_accounts(connection, list_players(moves, stakes)), stakes)
            for move in moves:
                books.move(move)
            await check_opening_coins(connection, books, moves)
            await write_books(connection, books, match_id, pending.head.version)
