"""Retries of database operations, and the failures that allow them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import asyncpg
from asyncpg.exceptions import TargetServerAttributeNotMatched

from eventstore.errors import StoreError, StoreUnavailable

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection

Result = TypeVar("Result")
PAUSE_SECONDS_MIN = 0.02
PAUSE_SECONDS_MAX = 0.5

TRANSIENT = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
)
"""The server rolled back the transaction. Nothing was stored, and a retry may succeed."""

_LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.InternalClientError,
)


def is_lost(error: Exception, connection: Connection | None = None) -> bool:
    """Return whether the connection failed. Its last statement may have been committed.

    asyncpg raises the same error for a failed connection and for wrong use of a working one. With
    `connection` such an error counts as a failure only if the connection is closed.
    """
    if isinstance(error, asyncpg.InterfaceError):
        is_argument_error = isinstance(error, ValueError)
        return not is_argument_error and (connection is None or connection.is_closed())
    return isinstance(error, _LOST)


class Backoff:
    """The pauses between the tries of one operation. They double up to a maximum."""

    def __init__(self, timeout_seconds: float) -> None:
        self._deadline = time.monotonic() + timeout_seconds
        self._pause_seconds = PAUSE_SECONDS_MIN

    async def wait(self) -> bool:
        """Sleep until the next try. Return False at once if that is after the timeout."""
        if time.monotonic() + self._pause_seconds > self._deadline:
            return False
        await asyncio.sleep(self._pause_seconds)
        self._pause_seconds = min(self._pause_seconds * 2, PAUSE_SECONDS_MAX)
        return True


async def retry(timeout_seconds: float, operation: Callable[[], Awaitable[Result]]) -> Result:
    """Return the result of an operation, and retry it while the database is unavailable.

    The operation must be safe to repeat after a commit whose answer was lost.

    Raises:
        StoreUnavailable: the database was unavailable until the timeout.
        StoreError: the database refused a statement.
    """
    backoff = Backoff(timeout_seconds)
    while True:
        try:
            return await operation()
        except Exception as error:
            if is_lost(error) or isinstance(error, TRANSIENT):
                if not await backoff.wait():
                    raise unavailable(error) from error
            elif isinstance(error, (asyncpg.PostgresError, asyncpg.InterfaceError)):
                raise refused(error) from error
            else:
                raise


def unavailable(cause: Exception) -> StoreUnavailable:
    """Return the error for a database that did not answer until the timeout."""
    if isinstance(cause, TargetServerAttributeNotMatched):
        return StoreUnavailable(
            "the database takes no writes: it is a standby, or default_transaction_read_only is on"
        )
    return StoreUnavailable(f"the database does not answer: {type(cause).__name__}")


def refused(cause: Exception) -> StoreError:
    """Return the error for a statement that the database refuses. It shows no stored value."""
    return StoreError(f"the database refused a statement: {type(cause).__name__}")
