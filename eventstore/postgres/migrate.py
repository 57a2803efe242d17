"""Brings a database to the newest schema: numbered plain SQL, each file run once.

Files are `migrations/NNNN_name.sql`. One that has run is never changed: the runner refuses to go on
when its checksum differs, or when the database has one that this program does not know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

import asyncpg

from eventstore.errors import MigrationError

APP_ROLE = "durak_app"
LOCK_KEY = 0x6475_7261_6B  # "durak"; held while migrating, so that two starting services take turns

_PREPARE = f"""
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APP_ROLE}') THEN
        CREATE ROLE {APP_ROLE} NOLOGIN;
    END IF;
EXCEPTION
    -- somebody made it meanwhile, for another database of this server
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;
DO $$
BEGIN
    IF NOT pg_has_role(current_user, '{APP_ROLE}', 'MEMBER') THEN
        -- so that a service that connects as the owner can step down to it
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
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> bytes:
        """SHA-256 of the file's text."""
        return sha256(self.sql.encode()).digest()


def migrations() -> list[Migration]:
    """All migrations of this program, in order."""
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
    """Run what is missing, as the owner of the tables, and give what was run.

    Raises MigrationError; then nothing has changed.
    """
    known = migrations() if known is None else known
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", LOCK_KEY)
        async with connection.transaction():
            await connection.execute(_PREPARE)
            missing = check(known, await _applied(connection))
            for migration in missing:
                try:
                    await connection.execute(migration.sql)
                except asyncpg.PostgresError as error:
                    raise MigrationError(
                        f"migration {migration.version:04} {migration.name} failed: {error}"
                    ) from error
                await connection.execute(
                    "INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)",
                    migration.version,
                    migration.name,
                    migration.checksum,
                )
        return missing
    finally:
        await connection.close()


def check(known: list[Migration], applied: dict[int, bytes]) -> list[Migration]:
    """What of `known` is not yet in `applied` (version → checksum).

    Raises MigrationError where the two contradict each other.
    """
    by_version = {migration.version: migration for migration in known}
    for version, checksum in sorted(applied.items()):
        if version not in by_version:
            raise MigrationError(
                f"the database has migration {version:04}, which this program is too old to know"
            )
        if by_version[version].checksum != checksum:
            raise MigrationError(
                f"migration {version:04} {by_version[version].name} was changed after it ran on "
                "this database: put the file back, and make the change in a new migration"
            )
    return [migration for migration in known if migration.version not in applied]


async def pending(connection: asyncpg.Connection[asyncpg.Record]) -> list[Migration]:
    """What a database still needs, without changing it."""
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return migrations()
    return check(migrations(), await _applied(connection))


async def _applied(connection: asyncpg.Connection[asyncpg.Record]) -> dict[int, bytes]:
    rows = await connection.fetch("SELECT version, checksum FROM schema_migrations")
    return {row["version"]: row["checksum"] for row in rows}
