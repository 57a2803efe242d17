"""The requirements for a database that holds the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventstore.errors import StoreMisconfigured
from eventstore.postgres.grants import find_lacking, read_grants
from eventstore.postgres.migrate import find_pending, load_migrations
from eventstore.postgres.roles import APP_ROLE

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

_HARMLESS_SETTINGS = {
    "default_transaction_isolation": "read committed",
    "idle_session_timeout": "0",
    "session_replication_role": "origin",
    "transaction_timeout": "0",
}
"""Settings of a role or database that could break the service, by name with their defaults.

The service sets all others that it needs on each connection.
"""


async def check_requirements(connection: PooledConnection) -> None:
    """Check the version of the server, its durability settings and the migrations.

    Raises StoreMisconfigured.
    """
    await check_version(connection)
    await check_durability(connection)
    await check_migrations(connection)


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
    await check_migrations(connection)
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


async def check_rights(connection: PooledConnection) -> None:
    """Check that the service has all rights of the migrations. Raises StoreMisconfigured."""
    grants = read_grants(migration.sql for migration in load_migrations())
    if lacking := await find_lacking(connection, grants):
        rights = ", ".join(f"{privilege} on {table}" for table, privilege in lacking)
        raise StoreMisconfigured(f"{APP_ROLE} lacks {rights}; run `durak migrate`")


async def check_settings(connection: PooledConnection) -> None:
    """Check settings that the role or the database could have. Raises StoreMisconfigured."""
    rows = await connection.fetch(
        "SELECT name, setting FROM pg_settings WHERE name = ANY ($1::text[])",
        list(_HARMLESS_SETTINGS),
    )
    changed = [
        f"{row['name']} is {row['setting']}, and must be {_HARMLESS_SETTINGS[row['name']]}"
        for row in rows
        if row["setting"] != _HARMLESS_SETTINGS[row["name"]]
    ]
    if changed:
        raise StoreMisconfigured(
            f"{'; '.join(changed)}: reset this with ALTER ROLE or ALTER DATABASE"
        )


async def check_version(connection: PooledConnection) -> None:
    """Check the version of the server. Raises StoreMisconfigured."""
    version = connection.get_server_version().major
    if version < POSTGRES_VERSION_MIN:
        raise StoreMisconfigured(
            f"PostgreSQL {POSTGRES_VERSION_MIN} or newer is required; this is {version}"
        )


async def check_durability(connection: PooledConnection) -> None:
    """Check that commits survive a crash of the server. Raises StoreMisconfigured."""
    for setting in ("fsync", "full_page_writes"):
        if await connection.fetchval("SELECT current_setting($1)", setting) != "on":
            raise StoreMisconfigured(
                f"the server runs with {setting} off: a crash could lose acknowledged events"
            )


async def check_migrations(connection: PooledConnection) -> None:
    """Check that the schema is that of this program. Raises StoreMisconfigured."""
    if missing := await find_pending(connection):
        names = ", ".join(f"{migration.version:04} {migration.name}" for migration in missing)
        raise StoreMisconfigured(f"the database lacks migrations: {names}; run `durak migrate`")
