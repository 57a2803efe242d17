"""The database of the commands that read the log: the configured one, or the embedded Postgres."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from eventstore import EmbeddedPostgres, EventStore
from service.config import Config


@asynccontextmanager
async def open_store(config: Config) -> AsyncIterator[EventStore]:
    """The event store of the settings. An embedded Postgres that a server runs is shared with it.

    Raises StoreError or EmbeddedPostgresError.
    """
    if config.database_url is not None:
        async with await EventStore.open(config.database_url.get_secret_value()) as store:
            yield store
        return
    postgres = EmbeddedPostgres(config.data_dir / "postgres")
    await asyncio.to_thread(postgres.start)
    try:
        async with await EventStore.open(postgres.app_dsn()) as store:
            yield store
    finally:
        await asyncio.to_thread(postgres.release)
