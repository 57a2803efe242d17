"""A pool of connections whose operations are retried while the database is unavailable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self, TypeVar

import asyncpg

from eventstore.errors import StoreMisconfigured
from eventstore.limits import Limits
from eventstore.postgres.advisory_locks import AdvisoryLock
from eventstore.postgres.connect import connect, disconnect
from eventstore.postgres.retry import retry

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection, PooledConnection

Result = TypeVar("Result")
RELEASE_SECONDS_MAX = 2.0
"""How long a connection that is given back may take to end its statement."""


class Pool:
    """A pool of connections. Use it for operations that are safe to repeat.

    All methods raise StoreUnavailable if the database is unavailable until the timeout, and
    StoreError if it refuses a statement.
    """

    def __init__(self, pool: asyncpg.Pool[asyncpg.Record], limits: Limits) -> None:
        self._pool = pool
        self._limits = limits

    @classmethod
    async def open(
        cls, dsn: str, limits: Limits, connections_max: int, *, for_appends: bool = False
    ) -> Self:
        """Open a pool and try a connection. Raises StoreMisconfigured as `connect` does."""

        async def connect_one(*_: object, **__: object) -> Connection:
            return await connect(dsn, limits, for_appends=for_appends)

        async def create() -> asyncpg.Pool[asyncpg.Record]:
            pool = await asyncpg.create_pool(
                connect=connect_one,
                min_size=0,  # so that no idle connection is kept
                max_size=connections_max,
                max_inactive_connection_lifetime=limits.idle_connection_seconds_max,
            )
            try:
                async with pool.acquire():
                    return pool
            except BaseException:
                pool.terminate()
                raise

        return cls(await retry(limits.retry_timeout_seconds, create), limits)

    async def close(self) -> None:
        """Close all connections. Operations get a short time to finish."""
        await disconnect(self._pool)

    async def check(self, work: Callable[[PooledConnection], Awaitable[None]]) -> None:
        """Run a check on a connection, without retries. Its exceptions are passed on."""
        await self._run(work, 0.0)

    async def fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        """Return all rows of a query."""
        return await self._run(lambda connection: connection.fetch(query, *arguments))

    async def fetch_first(self, query: str, *arguments: object) -> asyncpg.Record | None:
        """Return the first row of a query, or None if there is no row."""
        return await self._run(lambda connection: connection.fetchrow(query, *arguments))

    async def execute(self, statement: str, *arguments: object) -> str:
        """Run a statement and return its command tag, for example `UPDATE 1`."""
        return await self._run(lambda connection: connection.execute(statement, *arguments))

    async def transact(self, work: Callable[[PooledConnection], Awaitable[Result]]) -> Result:
        """Run `work` in a transaction and return its result."""

        async def run(connection: PooledConnection) -> Result:
            async with connection.transaction():
                return await work(connection)

        return await self._run(run)

    async def read_snapshot(self, work: Callable[[PooledConnection], Awaitable[Result]]) -> Result:
        """Run `work` in a read-only transaction. All of its queries see the same moment."""

        async def run(connection: PooledConnection) -> Result:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                return await work(connection)

        return await self._run(run)

    async def transact_exclusively(
        self,
        lock: AdvisoryLock,
        work: Callable[[PooledConnection], Awaitable[Result]],
        *,
        wait: bool = False,
    ) -> Result | None:
        """Run `work` in a transaction that holds an advisory lock, without retries.

        Returns None if another process holds the lock. With `wait` it waits for the lock instead.
        """
        function = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"

        async def run(connection: PooledConnection) -> Result | None:
            async with connection.transaction():
                is_locked = await connection.fetchval(f"SELECT {function}($1)", lock)
                if not (is_locked or wait):
                    return None
                return await work(connection)

        return await self._run(run, 0.0)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[PooledConnection]:
        """Give one connection, without retries. Errors of asyncpg are passed on.

        If it turns out to be useless, so are the others, and all are dropped: they lead to a server
        that takes no writes, or their answers are lost on the way. New ones look for a primary
        again.
        """
        connection = await self._pool.acquire(timeout=self._limits.retry_timeout_seconds)
        try:
            yield connection
        except (asyncpg.ReadOnlySQLTransactionError, StoreMisconfigured, TimeoutError):
            await self._pool.expire_connections()
            raise
        finally:
            try:
                # A statement that was cut off is cancelled now, and has to say so.
                await self._pool.release(connection, timeout=RELEASE_SECONDS_MAX)
            except TimeoutError:
                await self._pool.expire_connections()

    async def _run(
        self,
        work: Callable[[PooledConnection], Awaitable[Result]],
        timeout_seconds: float | None = None,
    ) -> Result:
        """Run `work` on a connection, and retry it while the database is unavailable."""

        async def attempt() -> Result:
            async with self._connection() as connection:
                return await work(connection)

        limit = self._limits.retry_timeout_seconds if timeout_seconds is None else timeout_seconds
        return await retry(limit, attempt)
