"""Fixtures of all tests: one real Postgres per run, and a fresh, migrated database per test.

By default the server is the embedded one. `DURAK_TEST_POSTGRES_BIN` names a folder with the
programs of another server. All workers of a run use the same server. Each database is a copy of one
migrated template.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from eventstore import EmbeddedPostgres, EventStore, migrate
from service.lifecycle import relax_collector

FOLDER_VARIABLE = "DURAK_TEST_POSTGRES_FOLDER"
TEMPLATE = "durak_test_template"


@dataclass(frozen=True)
class Database:
    """The database of one test.

    `owner_dsn` connects as the owner of the schema, `app_dsn` with the rights of the service.
    """

    name: str
    owner_dsn: str
    app_dsn: str


def pytest_configure(config: pytest.Config) -> None:
    """Choose the folder of the server in the main process. The workers inherit the variables."""
    os.environ.setdefault("DURAK_BOT_DELAY_SECONDS", "0")
    if FOLDER_VARIABLE not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="durak-tests-"))
        folder.chmod(0o755)  # the user of Postgres must reach the closed folders inside
        os.environ[FOLDER_VARIABLE] = str(folder)

        def forget() -> None:
            del os.environ[FOLDER_VARIABLE]
            shutil.rmtree(folder, ignore_errors=True)

        config.add_cleanup(forget)


def pytest_collection_finish() -> None:
    """Exclude tests and modules from garbage collection: they live until the end of the run."""
    relax_collector()


def postgres_bin() -> Path | None:
    """Return the folder of the Postgres programs to test with. None means those of the wheel."""
    named = os.environ.get("DURAK_TEST_POSTGRES_BIN")
    return Path(named) if named else None


async def execute(dsn: str, *statements: str) -> None:
    """Run statements one by one on a new connection."""
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    folder = Path(os.environ[FOLDER_VARIABLE])
    with EmbeddedPostgres(folder / "postgres", postgres_bin()) as server:
        with (folder / "template.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "template.made").exists():
                asyncio.run(_make_template(server))
                (folder / "template.made").touch()
        yield server


async def _make_template(server: EmbeddedPostgres) -> None:
    await execute(server.owner_dsn("postgres"), f"CREATE DATABASE {TEMPLATE}")
    await migrate(server.owner_dsn(TEMPLATE))


@pytest.fixture
def own_postgres() -> Iterator[EmbeddedPostgres]:
    """Start a server for one test, with a migrated database. The test may kill or change it."""
    with tempfile.TemporaryDirectory(prefix="durak-test-") as folder:
        Path(folder).chmod(0o755)
        with EmbeddedPostgres(Path(folder) / "postgres", postgres_bin()) as server:
            asyncio.run(_migrate(server))
            yield server


async def _migrate(server: EmbeddedPostgres) -> None:
    await migrate(server.owner_dsn())


@contextmanager
def fresh_database(postgres: EmbeddedPostgres) -> Iterator[Database]:
    """Create a migrated database and drop it at the end."""
    name = f"test_{uuid4().hex}"
    admin = postgres.owner_dsn("postgres")
    asyncio.run(execute(admin, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}"))
    yield Database(name, postgres.owner_dsn(name), postgres.app_dsn(name))
    asyncio.run(execute(admin, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> Iterator[Database]:
    with fresh_database(postgres) as fresh:
        yield fresh


@pytest.fixture
async def store(database: Database) -> AsyncIterator[EventStore]:
    async with await EventStore.open(database.app_dsn) as opened:
        yield opened
