"""Connections that died without a word are not used, and found out."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from eventstore import EventStore, Limits
from eventstore.ledger.books import CoinMove, TakeStake
from eventstore.postgres.connect import connect, network_socket
from eventstore.postgres.pool import RELEASE_SECONDS_MAX
from tests.conftest import Database
from tests.eventstore.support import Writer
from tests.service.wire import wire_to_database

IDLE_S = 0.5
LIMITS = Limits(idle_connection_seconds_max=IDLE_S, retry_timeout_seconds=30)


@pytest.mark.parametrize("coins", [(), (TakeStake("ann", 5),)], ids=["batch", "transaction"])
async def test_O13_the_first_command_after_a_firewall_dropped_idle_connections_is_quick(
    database: Database, coins: tuple[CoinMove, ...]
) -> None:
    wire, dsn = await wire_to_database(database.app_dsn)
    try:
        async with await EventStore.open(dsn, LIMITS) as store:
            await store.ledger.open_account("ann", 100)
            writer = Writer(store)
            await writer.add(b"first")
            idle_since = time.monotonic()
            wire.silence()
            while time.monotonic() < idle_since + 2 * IDLE_S:  # noqa: ASYNC110 - idle for a time
                await asyncio.sleep(0.05)
            before = time.monotonic()
            await store.append(writer.command(b"second"), coins)
            assert len(await store.read(writer.stream_id)) == 2
            assert time.monotonic() - before < 2
    finally:
        await wire.close()


async def test_connections_whose_answers_are_lost_do_not_fill_the_pool(database: Database) -> None:
    """Their statements never end, not even when they are cancelled."""
    wire, dsn = await wire_to_database(database.app_dsn)
    limits = Limits(read_connections_max=2, retry_timeout_seconds=30)
    try:
        async with await EventStore.open(dsn, limits) as store:
            for _ in range(2):
                await asyncio.gather(*(store.read_time() for _ in range(4)))
                wire.silence()
                reads = [asyncio.wait_for(store.read_time(), 0.2) for _ in range(2)]
                cut_off = await asyncio.gather(*reads, return_exceptions=True)
                assert [type(one) for one in cut_off] == [TimeoutError, TimeoutError]
                async with asyncio.timeout(3 * RELEASE_SECONDS_MAX):
                    await store.read_time()
    finally:
        await wire.close()


async def test_the_system_watches_connections_over_a_network(database: Database) -> None:
    wire, dsn = await wire_to_database(database.app_dsn)
    connection = await connect(dsn, Limits(unacknowledged_seconds_max=1.5))
    try:
        connected = network_socket(connection)
        assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 10
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1_500
    finally:
        await connection.close()
        await wire.close()
