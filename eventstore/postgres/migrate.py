"""Migrations: numbered SQL files that bring a database to the newest schema.

The files are `migrations/NNNN_name.sql`. Each one runs once and never changes afterwards. The
runner refuses a database where a file has another checksum, or one with a migration that this
program does not have.

A migration with `CREATE INDEX CONCURRENTLY`, its only statement, runs outside of a transaction, so
that a large table takes writes meanwhile. If it fails, the next run removes its remains and starts
again.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.resources import files
from itertools import takewhile
from typing import TYPE_CHECKING

import asyncpg

from eventstore.errors import MigrationError, reason_of
from eventstore.postgres.advisory_locks import AdvisoryLock
from eventstore.postgres.connect import connect_as_owner, disconnect
from eventstore.postgres.grants import read_grants, repair_grants
from eventstore.postgres.retry import retry
from eventstore.postgres.roles import APP_ROLE

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection, PooledConnection

_PREPARE = f"""
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APP_ROLE}') THEN
        CREATE ROLE {APP_ROLE} NOLOGIN;
    END IF;
EXCEPTION
    -- a migration of another database on this server has created the role at the same time
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;
DO $$
DECLARE
    needed text := 'MEMBER';
BEGIN
    -- Lets a service that connects as the owner give up the owner's rights. From PostgreSQL 16 on,
    -- a role that creates another is its member, but may not yet act as it.
    IF current_setting('server_version_num')::integer >= 160000 THEN
        needed := 'SET';
    END IF;
    IF NOT pg_has_role(current_user, '{APP_ROLE}', needed) THEN
        GRANT {APP_ROLE} TO CURRENT_USER;
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO {APP_ROLE}', current_schema());
END
$$;
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    checksum   bytea NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON schema_migrations TO {APP_ROLE};
"""  # noqa: S608 - the name of the role is our own


_CONCURRENT_INDEX = re.compile(r"^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+)", re.MULTILINE)
_LOCK_PAUSE_SECONDS = 0.1
LOCK_SECONDS_MAX = 10
"""How long a migration waits for a lock. Calls that need the same table wait behind it."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file."""

    version: int
    name: str
    sql: str

    @property
    def concurrent_index(self) -> str | None:
        """The name of the index that it creates without a transaction, if it does."""
        found = _CONCURRENT_INDEX.search(self.sql)
        return found[1] if found else None

    @property
    def checksum(self) -> bytes:
        """SHA-256 of the text of the file."""
        return sha256(self.sql.encode()).digest()


def load_migrations() -> list[Migration]:
    """Return all migrations of this program, in order."""
    found = [
        Migration(int(match[1]), match[2], path.read_text(encoding="utf-8"))
        for path in files("eventstore.postgres").joinpath("migrations").iterdir()
        if (match := re.fullmatch(r"(\d{4})_(\w+)\.sql", path.name))
    ]
    found.sort(key=lambda migration: migration.version)
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise MigrationError("the migrations of this program are not numbered 1, 2, 3, …")
    return found


async def migrate(dsn: str, known: list[Migration] | None = None) -> list[Migration]:
    """Run the missing migrations, repair the rights, and return the migrations.

    Connect as the owner of the tables. Processes that migrate at the same time wait for each other.
    Migrations run in one transaction, up to the next one that creates an index concurrently.

    Raises MigrationError, StoreUnavailable, StoreMisconfigured or StoreError. Then the transaction
    that failed has changed nothing.
    """
    known = load_migrations() if known is None else known
    connection = await retry(0.0, partial(connect_as_owner, dsn))
    try:
        return await retry(0.0, partial(_migrate, connection, known))
    finally:
        await disconnect(connection)


async def _migrate(connection: Connection, known: list[Migration]) -> list[Migration]:
    # Waiting in the database would hold a snapshot, and the index of another run waits for those.
    try_lock = "SELECT pg_try_advisory_lock($1)"
    while not await connection.fetchval(try_lock, AdvisoryLock.MIGRATION):  # noqa: ASYNC110
        await asyncio.sleep(_LOCK_PAUSE_SECONDS)
    try:
        applied: list[Migration] = []
        while True:
            at_once, later = await _migrate_at_once(connection, known)
            applied += at_once
            if not later:
                return applied
            await _create_index(connection, later[0])
            applied.append(later[0])
    except asyncpg.InsufficientPrivilegeError as error:
        raise MigrationError(
            f"{reason_of(error)}: connect as the owner of the database and its tables, and create "
            "the roles as docs/operator.md shows"
        ) from error


async def _migrate_at_once(
    connection: Connection, known: list[Migration]
) -> tuple[list[Migration], list[Migration]]:
    """Run the missing migrations in one transaction, up to one that needs none.

    Returns those that ran and those that are still missing.
    """
    async with connection.transaction():
        await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS_MAX}s'")
        await connection.execute(_PREPARE)
        missing = find_missing(known, await _read_applied(connection))
        at_once = list(takewhile(lambda each: each.concurrent_index is None, missing))
        for migration in at_once:
            await _apply(connection, migration)
        later = missing[len(at_once) :]
        if not later:
            await repair_grants(connection, read_grants(each.sql for each in known))
    return at_once, later


def find_missing(known: list[Migration], applied: dict[int, bytes]) -> list[Migration]:
    """Return the migrations of `known` that are not in `applied` (checksums by version).

    Raises MigrationError if the two contradict each other.
    """
    by_version = {migration.version: migration for migration in known}
    for version, checksum in sorted(applied.items()):
        if version not in by_version:
            raise MigrationError(
                f"the database has migration {version:04}, which this program does not know: "
                "use a newer program"
            )
        if by_version[version].checksum != checksum:
            raise MigrationError(
                f"migration {version:04} {by_version[version].name} was changed after it ran on "
                "this database: restore the file, and make the change in a new migration"
            )
    return [migration for migration in known if migration.version not in applied]


async def find_pending(connection: PooledConnection) -> list[Migration]:
    """Return the migrations that a database lacks. Raises MigrationError as `find_missing` does."""
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return load_migrations()
    return find_missing(load_migrations(), await _read_applied(connection))


async def _create_index(connection: Connection, migration: Migration) -> None:
    """Create an index without a transaction, after removing what a try that failed has left."""
    index = migration.concurrent_index
    await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {index}")
    await _apply(connection, migration)


async def _apply(connection: PooledConnection, migration: Migration) -> None:
    try:
        await connection.execute(migration.sql)
    except asyncpg.InsufficientPrivilegeError:
        raise
    except asyncpg.PostgresError as error:
        raise MigrationError(
            f"migration {migration.version:04} {migration.name} failed: {reason_of(error)}"
        ) from error
    await connection.execute(
        "INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)",
        migration.version,
        migration.name,
        migration.checksum,
    )


async def _read_applied(connection: PooledConnection) -> dict[int, bytes]:
    rows = await connection.fetch("SELECT version, checksum FROM schema_migrations")
    return {row["version"]: row["checksum"] for row in rows}
