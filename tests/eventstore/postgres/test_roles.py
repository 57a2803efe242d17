"""Cases O05 and O06: an owner without superuser, and databases whose rights were lost."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from eventstore import EmbeddedPostgres, EventStore, migrate
from eventstore.errors import MigrationError, StoreError, StoreMisconfigured
from tests.conftest import Database, execute
from tests.eventstore.support import Writer

GUIDE = Path(__file__).parents[3] / "docs/operator.md"
WITHOUT_ROLE = ("DROP DATABASE durak", "DROP OWNED BY durak_app", "DROP ROLE durak_app")


def dsn_for(postgres: EmbeddedPostgres, user: str, database: str = "durak") -> str:
    parts = urlsplit(postgres.owner_dsn(database))
    return f"postgresql://{user}:secret@/{database}?{parts.query}"


def statements_of_the_guide() -> list[str]:
    [block] = re.findall(r"```sql\n(CREATE ROLE.*?)```", GUIDE.read_text(), re.DOTALL)
    lines = re.sub(r" *--.*", "", block).replace("…", "secret")
    return [each.strip() for each in lines.split(";") if each.strip()]


async def play(dsn: str) -> None:
    async with await EventStore.open(dsn) as store:
        await store.check_writable()
        await store.ledger.open_account("ann", 100)
        await Writer(store).add(b"one")


async def prepare(postgres: EmbeddedPostgres, *statements: str) -> None:
    """Remove the embedded database and the role, and run statements."""
    await execute(postgres.owner_dsn("postgres"), *WITHOUT_ROLE, *statements)


async def test_O06_the_statements_of_the_guide_are_enough_without_superuser(
    own_postgres: EmbeddedPostgres,
) -> None:
    await prepare(
        own_postgres, "CREATE ROLE administrator LOGIN CREATEROLE CREATEDB PASSWORD 'secret'"
    )
    await execute(dsn_for(own_postgres, "administrator", "postgres"), *statements_of_the_guide())
    assert await migrate(dsn_for(own_postgres, "durak_migrator"))
    await play(dsn_for(own_postgres, "durak_service"))


async def test_O06_an_owner_that_creates_the_role_itself_can_also_run_the_service(
    own_postgres: EmbeddedPostgres,
) -> None:
    await prepare(
        own_postgres,
        "CREATE ROLE owner LOGIN CREATEROLE PASSWORD 'secret'",
        "CREATE DATABASE durak OWNER owner",
    )
    await migrate(dsn_for(own_postgres, "owner"))
    await play(dsn_for(own_postgres, "owner"))


async def test_an_owner_that_may_not_create_the_role_gets_the_remedy(
    own_postgres: EmbeddedPostgres,
) -> None:
    await prepare(
        own_postgres,
        "CREATE ROLE owner LOGIN PASSWORD 'secret'",
        "CREATE DATABASE durak OWNER owner",
    )
    with pytest.raises(MigrationError, match=r"permission denied .* docs/operator\.md"):
        await migrate(dsn_for(own_postgres, "owner"))


async def test_the_service_may_not_migrate(database: Database) -> None:
    with pytest.raises(MigrationError, match=r"connect as the owner"):
        await migrate(database.app_dsn)


@pytest.mark.parametrize("wrong", ["user", "database"])
async def test_a_wrong_name_is_reported_with_its_reason(
    postgres: EmbeddedPostgres, wrong: str
) -> None:
    dsn = dsn_for(postgres, "nobody") if wrong == "user" else postgres.owner_dsn("nothing")
    for opening in (EventStore.open, migrate):
        with pytest.raises(StoreError, match=r"refused the login: .*(nobody|nothing)"):
            await opening(dsn)


async def test_O05_migrate_gives_exactly_the_rights_of_the_migrations(database: Database) -> None:
    await execute(
        database.owner_dsn,
        "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM durak_app",
        "REVOKE USAGE ON SCHEMA public FROM durak_app, PUBLIC",
        "GRANT DELETE ON accounts TO durak_app",
    )
    with pytest.raises((StoreMisconfigured, StoreError)):
        await play(database.app_dsn)
    assert await migrate(database.owner_dsn) == []
    await play(database.app_dsn)
    connection = await asyncpg.connect(database.owner_dsn)
    try:
        for right, expected in (("DELETE", False), ("UPDATE", True)):
            has = "SELECT has_table_privilege('durak_app', 'accounts', $1)"
            assert await connection.fetchval(has, right) is expected
    finally:
        await connection.close()
