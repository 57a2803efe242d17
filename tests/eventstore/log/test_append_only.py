"""The log cannot be changed: the service lacks the right, and a trigger stops the owner."""

from __future__ import annotations

import asyncpg
import pytest

from eventstore import EventStore
from tests.conftest import Database
from tests.eventstore.support import Writer, assert_whole

CHANGES = [
    "UPDATE events SET record = 'x'",
    "UPDATE events SET version = version + 1",
    "DELETE FROM events",
    "TRUNCATE events",
    "DELETE FROM streams",
    "TRUNCATE streams",
    "UPDATE transfers SET coins = 1",
    "DELETE FROM transfers",
    "TRUNCATE transfers",
    "DELETE FROM accounts",
    "TRUNCATE accounts",
]


@pytest.mark.parametrize("change", CHANGES)
async def test_the_service_has_no_right_to_change_the_log(
    database: Database, store: EventStore, change: str
) -> None:
    writer = Writer(store)
    await writer.add(b"one", b"two")
    connection = await asyncpg.connect(database.app_dsn)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
            await connection.execute(change)
    finally:
        await connection.close()
    assert await assert_whole(store, writer.stream_id) == [b"one", b"two"]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_trigger_stops_the_owner(
    database: Database, store: EventStore, change: str
) -> None:
    writer = Writer(store)
    await writer.add(b"one", b"two")
    connection = await asyncpg.connect(database.owner_dsn)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="append-only"):
            await connection.execute(change)
    finally:
        await connection.close()
    assert await assert_whole(store, writer.stream_id) == [b"one", b"two"]


async def test_a_store_opened_as_the_owner_has_only_the_rights_of_the_service(
    database: Database,
) -> None:
    async with await EventStore.open(database.owner_dsn) as store:
        await Writer(store).add(b"one")
        connection = await store._connect_batcher()  # noqa: SLF001 - tests the rights of the real connections
        try:
            assert await connection.fetchval("SELECT current_user") == "durak_app"
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
                await connection.execute("DELETE FROM events")
        finally:
            await connection.close()


async def test_R12_8_the_owner_cannot_write_a_negative_balance(
    database: Database, store: EventStore
) -> None:
    await store.ledger.open_account("ann", 10)
    connection = await asyncpg.connect(database.owner_dsn)
    try:
        for column in ("available_coins", "escrow_coins"):
            with pytest.raises(asyncpg.CheckViolationError):
                await connection.execute(f"UPDATE accounts SET {column} = -1")
    finally:
        await connection.close()


async def test_the_ledger_check_finds_a_changed_balance(
    database: Database, store: EventStore
) -> None:
    await store.ledger.open_account("ann", 10)
    await store.ledger.open_account("bob", 10)
    connection = await asyncpg.connect(database.owner_dsn)
    try:
        await connection.execute("UPDATE accounts SET available_coins = 11 WHERE player = 'ann'")
    finally:
        await connection.close()
    check = await store.ledger.check()
    assert not check.holds
    assert (check.issued, check.available, check.wrong_accounts) == (20, 21, ["ann"])
