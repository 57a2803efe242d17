"""Connections to the database, and the check that it can hold the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg

from eventstore.errors import StoreMisconfigured
from eventstore.limits import Limits
from eventstore.postgres.migrate import APP_ROLE, find_pending

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
    PooledConnection = Connection | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

POSTGRES_VERSION_MIN = 15
CLIENT_TIMEOUT_MARGIN_SECONDS = 2.0
"""How much longer the client waits than the server's own timeout. After that the server is lost."""


def server_settings(limits: Limits, *, for_appends: bool = False) -> dict[str, str]:
    """Return the server settings of a connection.

    With `for_appends` every batch uses the same plan, whatever the size of the tables: the input
    is read in its order, and each stream is found by its key. The fixed order also prevents
    deadlocks between the batches of two replicas.
    """
    timeout = f"{int(limits.statement_timeout_seconds * 1000)}ms"
    settings = {
        "application_name": "durak",
        "role": APP_ROLE,  # a connection of any user has only the rights of the service
        "synchronous_commit": "on",
        "jit": "off",
        "statement_timeout": timeout,
        "idle_in_transaction_session_timeout": timeout,
    }
    if for_appends:
        settings |= {
            "plan_cache_mode": "force_generic_plan",
            "enable_seqscan": "off",
            "enable_hashjoin": "off",
            "enable_mergejoin": "off",
        }
    return settings


async def connect(dsn: str, limits: Limits, *, for_appends: bool = False) -> Connection:
    """Open one connection outside the pools. Raises StoreMisconfigured if `dsn` is not valid."""
    try:
        return await asyncpg.connect(
            dsn,
            server_settings=server_settings(limits, for_appends=for_appends),
            timeout=limits.retry_timeout_seconds,
            command_timeout=limits.statement_timeout_seconds + CLIENT_TIMEOUT_MARGIN_SECONDS,
        )
    except asyncpg.ClientConfigurationError as error:
        raise StoreMisconfigured(f"the database address is not valid: {error}") from error


async def check_database(dsn: str, limits: Limits) -> None:
    """Check that the database keeps what it acknowledges and has all migrations.

    Raises StoreMisconfigured.
    """
    connection = await connect(dsn, limits)
    try:
        _check_version(connection.get_server_version().major)
        await _check_durability(connection)
        await _check_migrations(connection)
    finally:
        await connection.close()


def _check_version(version: int) -> None:
    if version < POSTGRES_VERSION_MIN:
        raise StoreMisconfigured(
            f"PostgreSQL {POSTGRES_VERSION_MIN} or newer is required; this is {version}"
        )


async def _check_durability(connection: Connection) -> None:
    for setting in ("fsync", "full_page_writes"):
        if await connection.fetchval("SELECT current_setting($1)", setting) != "on":
            raise StoreMisconfigured(
                f"the server runs with {setting} off: a crash could lose acknowledged events"
            )


async def _check_migrations(connection: Connection) -> None:
    if missing := await find_pending(connection):
        names = ", ".join(f"{migration.version:04} {migration.name}" for migration in missing)
        raise StoreMisconfigured(f"the database lacks migrations: {names}; run `durak migrate`")
