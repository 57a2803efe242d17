"""The requirements for a database that holds the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventstore.errors import StoreMisconfigured
from eventstore.postgres.migrate import find_pending

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection

POSTGRES_VERSION_MIN = 15


async def check_requirements(connection: PooledConnection) -> None:
    """Check the version of the server, its durability settings and the migrations.

    Raises StoreMisconfigured.
    """
    _check_version(connection.get_server_version().major)
    await _check_durability(connection)
    await _check_migrations(connection)


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
