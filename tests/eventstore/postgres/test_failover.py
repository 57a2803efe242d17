"""Case O03: the address leads to a read-only standby, then to the primary again."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import asyncpg
import pytest

from eventstore import EmbeddedPostgres, EventStore, Limits
from eventstore.errors import AppendOutcomeUnknown, StoreUnavailable
from eventstore.ledger.books import CoinMove, TakeStake
from tests.eventstore.postgres.servers import standby_of
from tests.eventstore.support import Writer
from tests.service.wire import server_of, wire_to_database

LIMITS = Limits(retry_timeout_seconds=0.5)
DEADLINE_S = 30.0


async def is_copied_to(host: str, port: int, dsn: str) -> bool:
    """Whether the standby has the tables of the primary."""
    password = urlsplit(dsn).password
    connection = await asyncpg.connect(
        host=host, port=port, user="durak_app", password=password, database="durak"
    )
    try:
        assert await connection.fetchval("SELECT pg_is_in_recovery()")
        return await connection.fetchval("SELECT to_regclass('events')") is not None
    finally:
        await connection.close()


@pytest.mark.parametrize("coins", [(), (TakeStake("ann", 5),)], ids=["batch", "staked_seat"])
@pytest.mark.parametrize("wanted", ["", "?target_session_attrs=any"], ids=["default", "any"])
async def test_O03_one_command_on_a_standby_then_the_next_on_the_primary_succeeds(
    own_postgres: EmbeddedPostgres, coins: tuple[CoinMove, ...], wanted: str
) -> None:
    """With `any`, the store holds connections to the standby, and has to drop them."""
    dsn = own_postgres.app_dsn()
    with standby_of(own_postgres) as standby:
        async with asyncio.timeout(DEADLINE_S):
            while not await is_copied_to(*standby, dsn):  # noqa: ASYNC110 - another server
                await asyncio.sleep(0.05)
        wire, through = await wire_to_database(dsn)
        try:
            async with await EventStore.open(through + wanted, LIMITS) as store:
                await store.ledger.open_account("ann", 100)
                writer = Writer(store)
                await writer.add(b"before")
                wire.lead_to(standby)
                command = writer.command(b"command")
                with pytest.raises((StoreUnavailable, AppendOutcomeUnknown)):
                    await store.append(command, coins)
                wire.lead_to(server_of(dsn), keep=True)
                await store.append(command, coins)
                records = await store.read(writer.stream_id)
                assert [stored.record for stored in records] == [b"before", b"command"]
                balance = await store.ledger.read_balance("ann")
                assert balance.available == 100 - 5 * len(coins)
        finally:
            await wire.close()
