"""Hints reach all processes on one database, and nothing depends on a single one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import pytest

from eventstore import EventStore
from eventstore.errors import StoreUnavailable
from eventstore.log.hints import CHANNEL, STREAMS_PER_NOTE, decode, encode
from tests.conftest import Database, execute
from tests.eventstore.support import until

NOTE_BYTES_MAX = 7_999


@asynccontextmanager
async def listening(store: EventStore, heard: dict[UUID, int]) -> AsyncIterator[asyncio.Task[None]]:
    connected = asyncio.Event()
    running = asyncio.create_task(store.hints.run(heard.__setitem__, connected.set))
    await connected.wait()
    yield running
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_many_hints_are_several_notes_that_postgres_takes() -> None:
    versions = {uuid4(): number for number in range(2 * STREAMS_PER_NOTE + 1)}
    notes = list(encode(versions))
    assert len(notes) == 3
    assert max(map(len, notes)) <= NOTE_BYTES_MAX
    assert dict(hint for note in notes for hint in decode(note)) == versions


@pytest.mark.parametrize("note", ["", "x", "AAAA", "no base64!", "é" * 20, "A" * 7_999])
def test_a_note_of_somebody_else_is_ignored(note: str) -> None:
    assert list(decode(note)) == []


async def test_every_process_hears_every_hint(database: Database) -> None:
    async with (
        await EventStore.open(database.app_dsn) as one,
        await EventStore.open(database.app_dsn) as two,
    ):
        heard: dict[UUID, int] = {}
        own: dict[UUID, int] = {}
        async with listening(one, own), listening(two, heard):
            sent = {uuid4(): number for number in range(1, 700)}
            for stream_id, version in sent.items():
                one.hints.add(stream_id, version)

            async def has_all() -> bool:
                return heard == sent == own

            await until(has_all)
        assert one.hints.sent == 3
        assert two.hints.received == len(sent)


async def test_a_lost_connection_is_reported(database: Database) -> None:
    async with (
        await EventStore.open(database.app_dsn) as store,
        listening(store, {}) as running,
    ):
        await execute(
            database.owner_dsn,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE query LIKE '%LISTEN%{CHANNEL}%' AND datname = current_database() "
            "AND pid <> pg_backend_pid()",
        )
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(running, 30)
