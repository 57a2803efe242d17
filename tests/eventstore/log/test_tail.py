from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from uuid import UUID, uuid4

import asyncpg

from eventstore import EventStore, Limits, first_hash, next_hash
from tests.conftest import Database
from tests.eventstore.support import Writer

INSERT = "INSERT INTO events (stream_id, version, record, hash) VALUES ($1, 1, 'x', $2)"


async def collect(
    store: EventStore, wanted: set[UUID], after: int | None = None
) -> tuple[dict[UUID, int], int]:
    """Follow until every wanted stream was reported."""
    seen: dict[UUID, int] = {}
    async with aclosing(store.follow(after)) as tail:
        async for batch in tail:
            for stream_id, version in batch.changes.items():
                assert version > seen.get(stream_id, 0), "reported twice, or backwards"
                seen[stream_id] = version
            if wanted <= seen.keys():
                return seen, batch.position
    raise AssertionError("the tail ended")


async def test_the_tail_reports_the_newest_version_of_each_stream(store: EventStore) -> None:
    old, writer, other = Writer(store), Writer(store), Writer(store)
    await old.add(b"before")
    async with aclosing(store.follow()) as tail:
        start = await anext(tail)
        assert start.changes == {}
        await writer.add(b"one", b"two", b"three")
        await other.add(b"one")
    seen, end = await collect(store, {writer.stream_id, other.stream_id}, start.position)
    # If another transaction was open on the server, the tail starts before it.
    seen.pop(old.stream_id, None)
    assert seen == {writer.stream_id: 3, other.stream_id: 1}

    await writer.add(b"four")
    seen, _ = await collect(store, {writer.stream_id}, end)
    assert seen == {writer.stream_id: 4}


async def test_no_event_is_missed_under_load_with_long_transactions(database: Database) -> None:
    limits = Limits(page_rows_max=50, tail_interval_seconds=0.001)
    async with (
        await EventStore.open(database.app_dsn, limits) as one,
        await EventStore.open(database.app_dsn, limits) as two,
    ):
        late = [uuid4() for _ in range(60)]

        async def long_transactions(mine: list[UUID]) -> AsyncIterator[UUID]:
            """Write early and commit late, while other transactions commit."""
            connection = await asyncpg.connect(database.app_dsn)
            try:
                for stream_id in mine:
                    async with connection.transaction():
                        record_hash = next_hash(first_hash(stream_id), b"x")
                        await connection.execute(INSERT, stream_id, record_hash)
                        for writer in [Writer(one) for _ in range(8)]:
                            await writer.add(b"x")
                            yield writer.stream_id
            finally:
                await connection.close()

        async def slow(mine: list[UUID]) -> set[UUID]:
            return {stream_id async for stream_id in long_transactions(mine)}

        async def quick(store: EventStore) -> set[UUID]:
            # Each stream has one event, so each event is reported.
            writers = [Writer(store) for _ in range(40)]
            for writer in writers:
                await writer.add(b"x")
            return {writer.stream_id for writer in writers}

        async with aclosing(two.follow()) as tail:
            start = (await anext(tail)).position
        written: set[UUID] = set(late)
        following = asyncio.create_task(_follow_until_last(two, start))
        for streams in await asyncio.gather(
            *(slow(late[i::6]) for i in range(6)),
            *(quick(store) for store in (one, two) for _ in range(10)),
        ):
            written |= streams
        end = Writer(one)
        await end.add(b"the last record")
        following_seen = await following
        assert following_seen == written | {end.stream_id}


async def _follow_until_last(store: EventStore, start: int) -> set[UUID]:
    seen: set[UUID] = set()
    async with aclosing(store.follow(start)) as tail:
        async for batch in tail:
            assert not seen & batch.changes.keys(), "reported twice"
            seen |= batch.changes.keys()
            for stream_id in batch.changes:
                stored = await store.read(stream_id)
                if stored[-1].record == b"the last record":
                    return seen
    raise AssertionError("the tail ended")


async def test_the_tail_continues_after_a_lost_connection(
    store: EventStore, database: Database
) -> None:
    async with aclosing(store.follow()) as tail:
        await anext(tail)
        first, second = Writer(store), Writer(store)
        await first.add(b"x")
        assert (await anext(tail)).changes == {first.stream_id: 1}
        owner = await asyncpg.connect(database.owner_dsn)
        try:
            cut = await owner.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            assert cut >= 4  # a batcher, two pools, the tail
        finally:
            await owner.close()
        await second.add(b"x")
        assert (await anext(tail)).changes == {second.stream_id: 1}
