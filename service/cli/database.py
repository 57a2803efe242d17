"""The event store for commands that read the database itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from eventstore import EmbeddedPostgres, EventStore
from service.cli.exits import CommandError
from service.config import Config


@asynccontextmanager
async def open_store(config: Config) -> AsyncIterator[EventStore]:
    """Open the event store of DURAK_DATABASE_URL, or else the embedded Postgres.

    Shares the embedded Postgres with a running service. Raises CommandError if the data folder has
    no database, StoreError or EmbeddedPostgresError.
    """
    if config.database_url is not None:
        async with await EventStore.open(config.database_url.get_secret_value()) as store:
            yield store
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
        async with await EventStore.open(postgres.app_dsn()) as store:
            yield store
    finally:
        await asyncio.to_thread(postgres.release)
