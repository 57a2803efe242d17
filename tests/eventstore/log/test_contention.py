"""Two replicas on one database: the second writer decides again; no record is lost or doubled."""

from __future__ import annotations

import asyncio
from collections import Counter

import asyncpg

from eventstore import Append, EventStore, first_hash
from eventstore.errors import VersionConflict
from tests.conftest import Database
from tests.eventstore.support import Writer, assert_whole, blocked


async def test_two_stores_on_the_same_streams_lose_and_double_no_record(database: Database) -> None:
    async with (
        await EventStore.open(database.app_dsn) as one,
        await EventStore.open(database.app_dsn) as two,
    ):
        streams = [Writer(one).stream_id for _ in range(12)]
        conflicts = 0

        async def play(store: EventStore, name: str) -> None:
            nonlocal conflicts
            for number in range(15):
                for stream_id in streams:
                    writer = Writer(store, stream_id)
                    while True:
                        await writer.catch_up()
                        try:
                            await writer.add(f"{name} {number}".encode())
                            break
                        except VersionConflict:
                            conflicts += 1

        await asyncio.gather(
            *(
                play(store, f"{name}{i}")
                for i in range(3)
                for name, store in (("a", one), ("b", two))
            )
        )

        expected = Counter(
            f"{name}{i} {n}".encode() for name in "ab" for i in range(3) for n in range(15)
        )
        for stream_id in streams:
            assert Counter(await assert_whole(one, stream_id)) == expected
        assert conflicts > 0


async def test_a_batch_survives_a_deadlock(
    database: Database,
) -> None:
    """Another transaction locks two rows against the order of batches: a real deadlock."""
    async with await EventStore.open(database.app_dsn) as store:
        # With even ids both streams use the same batcher.
        low, high = sorted(
            (
                Writer(store, type(w.stream_id)(int=w.stream_id.int & ~1))
                for w in (Writer(store), Writer(store))
            ),
            key=lambda writer: writer.stream_id,
        )
        await asyncio.gather(low.add(b"one"), high.add(b"one"))
        other = await asyncpg.connect(database.owner_dsn)
        watcher = await asyncpg.connect(database.owner_dsn)
        try:
            lock = "SELECT FROM streams WHERE stream_id = $1 FOR UPDATE"
            transaction = other.transaction()
            await transaction.start()
            await other.execute("SET LOCAL deadlock_timeout = '60s'")  # the batch is the victim
            await other.execute(lock, high.stream_id)
            adding = asyncio.gather(low.add(b"two"), high.add(b"two"))
            await blocked(watcher)  # the batch holds the low row and waits for the high one
            await other.execute(lock, low.stream_id)
            await transaction.rollback()
            await adding
        finally:
            await other.close()
            await watcher.close()
        for writer in (low, high):
            assert await assert_whole(store, writer.stream_id) == [b"one", b"two"]


async def test_of_two_concurrent_first_appends_one_is_stored(database: Database) -> None:
    async with (
        await EventStore.open(database.app_dsn) as one,
        await EventStore.open(database.app_dsn) as two,
    ):
        streams = [Writer(one).stream_id for _ in range(40)]
        results = await asyncio.gather(
            *(
                store.append(Append(stream_id, 0, first_hash(stream_id), [name]))
                for store, name, order in ((one, b"a", 1), (two, b"b", -1))
                for stream_id in streams[::order]
            ),
            return_exceptions=True,
        )
        assert sum(isinstance(result, VersionConflict) for result in results) == len(streams)
        for stream_id in streams:
            assert len(await assert_whole(one, stream_id)) == 1
