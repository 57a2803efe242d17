from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import asyncpg
import pytest

from eventstore import EmbeddedPostgres, EventStore, migrate
from eventstore.errors import MigrationError, StoreMisconfigured
from eventstore.postgres.migrate import Migration, load_migrations
from tests.conftest import Database, execute
from tests.eventstore.support import Writer, assert_whole


@pytest.fixture
def empty(postgres: EmbeddedPostgres) -> Iterator[Database]:
    name = f"empty_{uuid4().hex}"
    admin = postgres.owner_dsn("postgres")
    asyncio.run(execute(admin, f"CREATE DATABASE {name}"))
    yield Database(name, postgres.owner_dsn(name), postgres.app_dsn(name))
    asyncio.run(execute(admin, f"DROP DATABASE {name} WITH (FORCE)"))


WAITS_FOR_WRITERS = """
SELECT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND query LIKE '%INDEX CONCURRENTLY%'
)
"""


async def tables(database: Database) -> set[str]:
    connection = await asyncpg.connect(database.owner_dsn)
    try:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {row[0] for row in rows}
    finally:
        await connection.close()


async def test_a_new_database_gets_all_migrations_once(empty: Database) -> None:
    assert await migrate(empty.owner_dsn) == load_migrations()
    assert await migrate(empty.owner_dsn) == []
    async with await EventStore.open(empty.app_dsn) as store:
        writer = Writer(store)
        await writer.add(b"one")
        assert await assert_whole(store, writer.stream_id) == [b"one"]


async def test_concurrent_migrations_wait_for_each_other(empty: Database) -> None:
    ran = await asyncio.gather(*(migrate(empty.owner_dsn) for _ in range(5)))
    assert sorted(len(each) for each in ran) == [0, 0, 0, 0, len(load_migrations())]


async def test_a_changed_migration_is_refused_by_name(database: Database) -> None:
    first, *others = load_migrations()
    changed = [replace(first, sql=first.sql + "\n-- harmless"), *others]
    with pytest.raises(MigrationError, match="0001 log was changed"):
        await migrate(database.owner_dsn, changed)


async def test_a_database_of_a_newer_program_is_refused(database: Database) -> None:
    newest = len(load_migrations()) + 1
    await migrate(database.owner_dsn, [*load_migrations(), Migration(newest, "later", "SELECT 1")])
    with pytest.raises(MigrationError, match=f"has migration {newest:04}"):
        await migrate(database.owner_dsn)
    with pytest.raises(MigrationError, match=f"has migration {newest:04}"):
        await EventStore.open(database.app_dsn)


async def test_a_failed_migration_rolls_back_the_run(empty: Database) -> None:
    broken = [
        Migration(1, "good", "CREATE TABLE good (id integer)"),
        Migration(2, "bad", "CREATE TABLE bad (id integer); SELECT 1/0"),
    ]
    with pytest.raises(MigrationError, match="0002 bad failed"):
        await migrate(empty.owner_dsn, broken)
    assert await tables(empty) == set()


async def test_the_store_refuses_a_database_without_migrations(empty: Database) -> None:
    await migrate(empty.owner_dsn, [])
    with pytest.raises(StoreMisconfigured, match="0001 log"):
        await EventStore.open(empty.app_dsn)


async def test_the_store_refuses_a_server_without_its_role(own_postgres: EmbeddedPostgres) -> None:
    await execute(own_postgres.owner_dsn(), "DROP OWNED BY durak_app", "DROP ROLE durak_app")
    with pytest.raises(StoreMisconfigured, match="run `durak migrate`"):
        await EventStore.open(own_postgres.owner_dsn())


async def test_an_index_is_created_while_its_table_takes_writes(database: Database) -> None:
    """A try that failed leaves an invalid index. The next one starts again."""
    known = load_migrations()
    number = len(known) + 1
    later = [
        Migration(number, "numbers", "CREATE TABLE numbers (n integer NOT NULL)"),
        Migration(
            number + 1, "index", "CREATE UNIQUE INDEX CONCURRENTLY numbers_by_n ON numbers (n)"
        ),
        Migration(number + 2, "comment", "COMMENT ON TABLE numbers IS 'tried'"),
    ]
    await migrate(database.owner_dsn, [*known, later[0]])
    await execute(database.owner_dsn, "INSERT INTO numbers VALUES (1), (1)")
    with pytest.raises(MigrationError, match="index failed"):
        await migrate(database.owner_dsn, [*known, *later])

    writer = await asyncpg.connect(database.owner_dsn)
    try:
        assert await writer.fetchval("SELECT NOT bool_and(indisvalid) FROM pg_index")
        await writer.execute("DELETE FROM numbers")
        begun = writer.transaction()
        await begun.start()
        await writer.execute("INSERT INTO numbers VALUES (2)")
        migrating = asyncio.gather(
            *(migrate(database.owner_dsn, [*known, *later]) for _ in range(3))
        )
        other = await asyncpg.connect(database.owner_dsn)
        async with asyncio.timeout(20):
            while not await other.fetchval(WAITS_FOR_WRITERS):  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.01)
            await other.execute("INSERT INTO numbers VALUES (3)")  # the table takes writes
            await begun.commit()
            assert sorted(await migrating, key=len) == [[], [], later[1:]]
        assert await other.fetchval("SELECT bool_and(indisvalid) FROM pg_index")
        await other.close()
    finally:
        await writer.close()
