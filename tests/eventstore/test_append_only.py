"""The log cannot be changed: the service lacks the right, and a trigger binds the owner too."""

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
async def test_the_owner_is_stopped_by_a_trigger(
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


async def test_a_store_opened_as_the_owner_steps_down(database: Database) -> None:
    async with await EventStore.open(database.owner_dsn) as store:
        await Writer(store).add(b"one")
        connection = await store._connect_lane()  # noqa: SLF001 - the rights of the real connections
        try:
            assert await connection.fetchval("SELECT current_user") == "durak_app"
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
                await connection.execute("DELETE FROM events")
        finally:
            await connection.close()
