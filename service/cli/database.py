"""The event store for commands that read the database itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from eventstore import EmbeddedPostgres, EventStore
from service.cli.exits import CommandError
from service.config import Config


@asynccontextmanager
async def find_database(config: Config) -> AsyncIterator[str]:
    """Give the address of the database: DURAK_DATABASE_URL, or else the embedded Postgres.

    Shares the embedded Postgres with a running service. Raises CommandError if the data folder has
    no database, or EmbeddedPostgresError.
    """
    if config.database_url is not None:
        yield config.database_url.get_secret_value()
        return
    folder = config.data_dir / "postgres"
    if not folder.exists():
        raise CommandError(
            f"no database in {config.data_dir.absolute()}: run the command in the folder of "
            "`durak serve`, or give its --data-dir, or set DURAK_DATABASE_URL"
        )
    postgres = EmbeddedPostgres(folder)
    await asyncio.to_thread(postgres.start)
    try:
        yield postgres.app_dsn()
    finally:
        await asyncio.to_thread(postgres.release)


@asynccontextmanager
async def open_store(config: Config) -> AsyncIterator[EventStore]:
    """Open the event store of that database. Raises StoreError too."""
    async with find_database(config) as dsn, await EventStore.open(dsn) as store:
        yield store
