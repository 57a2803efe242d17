"""Connections to Postgres, and which of their failures mean what."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import asyncpg

from eventstore.errors import StoreError, StoreMisconfigured, StoreUnavailable
from eventstore.model import Limits
from eventstore.postgres.migrate import APP_ROLE, pending

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
    Pool = asyncpg.Pool[asyncpg.Record]
    Pooled = Connection | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

Result = TypeVar("Result")
Failure = TypeVar("Failure", bound=Exception)
OLDEST_POSTGRES = 15
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
SERVER_FIRST_S = 2.0
"""How much later than the server a connection gives up a statement: by then the server is gone."""

# The server answered that it cannot take the transaction now. Nothing was stored; another try may
# work.
TRANSIENT = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
)
# The connection is gone. What was under way may have been committed.
LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.InternalClientError,
)


def is_lost(error: BaseException, connection: Connection | None) -> bool:
    """Whether the connection broke, rather than that the server refused something."""
    if isinstance(error, asyncpg.DataError):
        return False  # an argument that cannot be sent; an InterfaceError all the same
    return isinstance(error, LOST) or (
        isinstance(error, asyncpg.InterfaceError) and (connection is None or connection.is_closed())
    )


def caused(error: Failure, cause: Exception) -> Failure:
    """An error with its cause attached, to hand on through a future: `raise … from …`."""
    error.__cause__ = cause
    return error


def settings(limits: Limits, *, lane: bool = False) -> dict[str, str]:
    """The server settings of one connection."""
    common = {
        "application_name": "durak",
        "role": APP_ROLE,  # whoever logs in works with the service's rights alone
        "synchronous_commit": "on",
        "jit": "off",
        "statement_timeout": f"{int(limits.statement_timeout_s * 1000)}ms",
        "idle_in_transaction_session_timeout": f"{int(limits.statement_timeout_s * 1000)}ms",
    }
    if not lane:
        return common
    # One plan for every batch and every size of the tables: the input in its order, each stream
    # found by its key. That order is also what keeps two replicas' batches from deadlocking.
    return common | {
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
    }


async def connect(dsn: str, limits: Limits, *, lane: bool = False) -> Connection:
    """One connection outside the pools. Raises StoreMisconfigured where `dsn` is no address."""
    try:
        return await asyncpg.connect(
            dsn,
            server_settings=settings(limits, lane=lane),
            timeout=limits.patience_s,
            command_timeout=limits.statement_timeout_s + SERVER_FIRST_S,
        )
    except asyncpg.ClientConfigurationError as error:
        raise StoreMisconfigured(f"the address of the database cannot be read: {error}") from error


async def open_pool(dsn: str, limits: Limits, size: int, *, lane: bool = False) -> Pool:
    """A pool of at most so many connections."""
    return await asyncpg.create_pool(
        dsn,
        min_size=1,
        max_size=size,
        server_settings=settings(limits, lane=lane),
        command_timeout=limits.statement_timeout_s + SERVER_FIRST_S,
        timeout=limits.patience_s,
    )


async def patiently(patience_s: float, attempt: Callable[[], Awaitable[Result]]) -> Result:
    """Repeat something that may safely be repeated while the database is away.

    Raises StoreUnavailable when patience ends.
    """
    deadline = time.monotonic() + patience_s
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            return await attempt()
        except (*LOST, *TRANSIENT, asyncpg.InterfaceError) as error:
            if isinstance(error, asyncpg.DataError):
                raise
            if time.monotonic() + pause_s > deadline:
                raise StoreUnavailable(
                    f"the database does not answer: {type(error).__name__}"
                ) from error
        except asyncpg.PostgresError as error:
            raise StoreError(f"the database refused a statement: {type(error).__name__}") from error
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


async def check_fitness(connection: Connection) -> None:
    """Refuse a database that would not keep what it acknowledges. Raises StoreMisconfigured."""
    version = connection.get_server_version().major
    if version < OLDEST_POSTGRES:
        raise StoreMisconfigured(
            f"PostgreSQL {OLDEST_POSTGRES} or newer is needed; this is {version}"
        )
    for setting in ("fsync", "full_page_writes"):
        if await connection.fetchval("SELECT current_setting($1)", setting) != "on":
            raise StoreMisconfigured(
                f"the server runs with {setting} off: a crash could lose what was acknowledged"
            )
    if missing := await pending(connection):
        names = ", ".join(f"{migration.version:04} {migration.name}" for migration in missing)
        raise StoreMisconfigured(f"the database lacks migrations: {names}; run `durak migrate`")
