"""The requirements for a database that holds the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventstore.errors import StoreMisconfigured
from eventstore.postgres.migrate import find_pending

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection

POSTGRES_VERSION_MIN = 15

_NEEDED_FOR_A_COMMAND = {
    "streams": "SELECT, INSERT, UPDATE",
    "events": "SELECT, INSERT",
    "matches": "SELECT, INSERT, UPDATE",
    "match_players": "SELECT, INSERT, DELETE",
    "accounts": "SELECT, INSERT, UPDATE",
    "transfers": "SELECT, INSERT",
}
"""By table: the privileges without which a command cannot be stored."""


async def check_requirements(connection: PooledConnection) -> None:
    """Check the version of the server, its durability settings and the migrations.

    Raises StoreMisconfigured.
    """
    _check_version(connection.get_server_version().major)
    await _check_durability(connection)
    await _check_migrations(connection)


async def check_writable(connection: PooledConnection) -> None:
    """Check that a command could be stored now: a writable primary with all tables and rights.

    Raises StoreMisconfigured, which names the missing parts.
    """
    row = await connection.fetchrow(
        """
        SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS read_only
        """
    )
    assert row is not None
    if row["standby"]:
        raise StoreMisconfigured("the server is a standby, which takes no writes")
    if row["read_only"] == "on":
        raise StoreMisconfigured("transactions are read-only: default_transaction_read_only is on")
    await _check_migrations(connection)
    missing = await connection.fetch(
        """
        SELECT name, privilege
        FROM unnest($1::text[], $2::text[]) AS needed(name, privileges),
             unnest(string_to_array(privileges, ', ')) AS privilege
        WHERE NOT has_table_privilege(name, privilege)
        """,
        list(_NEEDED_FOR_A_COMMAND),
        list(_NEEDED_FOR_A_COMMAND.values()),
    )
    if missing:
        rights = ", ".join(f"{row['privilege']} on {row['name']}" for row in missing)
        raise StoreMisconfigured(f"the role of the service lacks {rights}; run `durak migrate`")


def _check_version(version: int) -> None:
    if version < POSTGRES_VERSION_MIN:
        raise StoreMisconfigured(
            f"PostgreSQL {POSTGRES_VERSION_MIN} or newer is required; this is {version}"
        )


async def _check_durability(connection: PooledConnection) -> None:
    for setting in ("fsync", "full_page_writes"):
        if await connection.fetchval("SELECT current_setting($1)", setting) != "on":
            raise StoreMisconfigured(
                f"the server runs with {setting} off: a crash could lose acknowledged events"
            )


async def _check_migrations(connection: PooledConnection) -> None:
    if missing := await find_pending(connection):
        names = ", ".join(f"{migration.version:04} {migration.name}" for migration in missing)
        raise StoreMisconfigured(f"the database lacks migrations: {names}; run `durak migrate`")
