from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest

from eventstore import UNCHANGED, Append, EventStore, Limits, LobbyRow, first_hash
from eventstore.errors import ChainMismatch, StoreError, StoreOverloaded, VersionConflict
from tests.conftest import Database
from tests.eventstore.support import Writer, assert_whole, blocked

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
async def raw(database: Database) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(database.owner_dsn)
    yield connection
    await connection.close()


@pytest.fixture
async def one_batcher(database: Database) -> AsyncIterator[EventStore]:
    async with await EventStore.open(
        database.app_dsn, Limits(batchers=1, waiting_appends_max=8)
    ) as opened:
        yield opened


async def test_records_are_read_as_they_were_stored(store: EventStore) -> None:
    writer = Writer(store)
    await writer.add(b"one")
    await writer.add(b"two", b"", b"\x00\xff" * 1000)

    assert await assert_whole(store, writer.stream_id) == [b"one", b"two", b"", b"\x00\xff" * 1000]
    assert [stored.version for stored in await store.read(writer.stream_id, 2)] == [3, 4]
    assert [stored.version for stored in await store.read(writer.stream_id, 1, limit=2)] == [2, 3]
    assert await store.read(uuid4()) == []
    assert await store.read_head(uuid4()) is None


@pytest.mark.parametrize("expected", [0, 1, 3, 7])
async def test_an_append_at_another_version_conflicts(store: EventStore, expected: int) -> None:
    writer = Writer(store)
    await writer.add(b"one", b"two")

    with pytest.raises(VersionConflict) as conflict:
        await store.append(Append(writer.stream_id, expected, writer.head.hash, [b"x"]))

    assert (conflict.value.expected, conflict.value.actual) == (expected, 2)
    assert await assert_whole(store, writer.stream_id) == [b"one", b"two"]


async def test_an_append_to_a_missing_stream_conflicts(store: EventStore) -> None:
    stream_id = uuid4()
    with pytest.raises(VersionConflict) as conflict:
        await store.append(Append(stream_id, 1, first_hash(stream_id), [b"x"]))
    assert conflict.value.actual == 0


async def test_an_append_with_another_head_hash_is_refused(store: EventStore) -> None:
    writer = Writer(store)
    await writer.add(b"one")
    with pytest.raises(ChainMismatch):
        await store.append(Append(writer.stream_id, 1, first_hash(writer.stream_id), [b"x"]))
    assert await assert_whole(store, writer.stream_id) == [b"one"]


async def test_waiting_appends_share_a_transaction_and_conflicts_fail_alone(
    one_batcher: EventStore, raw: asyncpg.Connection[asyncpg.Record]
) -> None:
    first = Writer(one_batcher)
    await first.add(b"first")
    writers = [Writer(one_batcher) for _ in range(7)]
    for writer in writers[:4]:
        await writer.add(b"one")
    for writer in (writers[1], writers[5]):  # now stale: an old stream and a new one
        await one_batcher.append(writer.command(b"another writer"))

    async with raw.transaction():
        await raw.execute("SELECT FROM streams WHERE stream_id = $1 FOR UPDATE", first.stream_id)
        ahead = asyncio.create_task(first.add(b"second"))
        await blocked(raw)
        together = [asyncio.create_task(writer.add(b"a", b"b")) for writer in writers]
        await asyncio.sleep(0)
    results = await asyncio.gather(*together, return_exceptions=True)
    await ahead

    failed = [index for index, result in enumerate(results) if isinstance(result, BaseException)]
    assert failed == [1, 5]
    assert all(isinstance(results[index], VersionConflict) for index in failed)
    for index, writer in enumerate(writers):
        records = await assert_whole(one_batcher, writer.stream_id)
        assert (records[-2:] == [b"a", b"b"]) == (index not in failed)
    stored_by = await raw.fetch("SELECT DISTINCT xmin::text FROM events WHERE record = 'a'")
    assert len(stored_by) == 1


async def test_an_append_that_the_database_refuses_fails_alone(
    one_batcher: EventStore, raw: asyncpg.Connection[asyncpg.Record]
) -> None:
    await raw.execute("ALTER TABLE events ADD CHECK (record <> 'poison')")
    writers = [Writer(one_batcher) for _ in range(5)]

    results = await asyncio.gather(
        *(writer.add(b"poison" if i == 2 else b"fine") for i, writer in enumerate(writers)),
        return_exceptions=True,
    )

    assert [isinstance(result, StoreError) for result in results] == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert [len(await assert_whole(one_batcher, w.stream_id)) for w in writers] == [1, 1, 0, 1, 1]


async def test_one_of_several_waiting_appends_to_a_version_is_stored(
    store: EventStore,
) -> None:
    writer = Writer(store)
    commands = [writer.command(bytes([number])) for number in range(20)]
    results = await asyncio.gather(*map(store.append, commands), return_exceptions=True)
    assert sum(not isinstance(result, BaseException) for result in results) == 1
    assert sum(isinstance(result, VersionConflict) for result in results) == 19
    assert len(await assert_whole(store, writer.stream_id)) == 1


async def test_a_cancelled_caller_does_not_affect_its_batch(
    one_batcher: EventStore, raw: asyncpg.Connection[asyncpg.Record]
) -> None:
    locked, under_way, waiting, other = (Writer(one_batcher) for _ in range(4))
    await locked.add(b"one")
    async with raw.transaction():
        await raw.execute("SELECT FROM streams WHERE stream_id = $1 FOR UPDATE", locked.stream_id)
        tasks = [asyncio.create_task(writer.add(b"x")) for writer in (locked, under_way)]
        await blocked(raw)
        late = [asyncio.create_task(writer.add(b"x")) for writer in (waiting, other)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        late[0].cancel()
    results = await asyncio.gather(*tasks, *late, return_exceptions=True)

    assert [isinstance(result, asyncio.CancelledError) for result in results] == [
        False, True, True, False,
    ]  # fmt: skip
    assert await assert_whole(one_batcher, locked.stream_id) == [b"one", b"x"]
    # The first cancelled append was already sent, the second was not.
    assert await assert_whole(one_batcher, under_way.stream_id) == [b"x"]
    assert await assert_whole(one_batcher, waiting.stream_id) == []
    assert await assert_whole(one_batcher, other.stream_id) == [b"x"]


async def test_a_full_queue_refuses_at_once_and_recovers(
    one_batcher: EventStore, raw: asyncpg.Connection[asyncpg.Record]
) -> None:
    locked = Writer(one_batcher)
    await locked.add(b"one")
    async with raw.transaction():
        await raw.execute("SELECT FROM streams WHERE stream_id = $1 FOR UPDATE", locked.stream_id)
        ahead = asyncio.create_task(locked.add(b"two"))
        await blocked(raw)
        waiting = [asyncio.create_task(Writer(one_batcher).add(b"x")) for _ in range(8)]
        await asyncio.sleep(0)
        too_many = Writer(one_batcher)
        with pytest.raises(StoreOverloaded):
            await too_many.add(b"x")
    await asyncio.gather(ahead, *waiting)
    await too_many.add(b"now")


@pytest.mark.parametrize(
    "command",
    [
        Append(uuid4(), 0, bytes(32), []),
        Append(uuid4(), 0, bytes(32), [b""] * 257),
        Append(uuid4(), 0, bytes(32), [bytes(65537)]),
        Append(uuid4(), -1, bytes(32), [b""]),
        Append(uuid4(), 0, bytes(31), [b""]),
        Append(uuid4(), 0, bytes(32), [b""], lobby=LobbyRow(1, NOW, bytes(20_000))),
    ],
    ids=["no record", "too many", "too big", "negative version", "short hash", "summary too big"],
)
async def test_an_append_beyond_a_limit_is_refused(store: EventStore, command: Append) -> None:
    with pytest.raises(ValueError, match=r"an append|a record|a lobby"):
        await store.append(command)


async def test_an_append_sets_the_deadline_of_its_stream(store: EventStore) -> None:
    writer = Writer(store)
    for due_at in (NOW, UNCHANGED):
        append = writer.command(b"x")
        writer.head = await store.append(
            Append(append.stream_id, append.expected_version, append.previous_hash, [b"x"], due_at)
        )
    assert await store.read_due(NOW - timedelta(seconds=1), 10) == []
    assert await store.read_due(NOW, 10) == [(writer.stream_id, 2, NOW)]

    assert not await store.reschedule(writer.stream_id, 1, None)  # not the current version
    assert await store.reschedule(writer.stream_id, 2, NOW + timedelta(hours=1))
    assert await store.read_due(NOW, 10) == []

    await store.append(Append(writer.stream_id, 2, writer.head.hash, [b"end"], due_at=None))
    assert await store.read_due(NOW + timedelta(days=9), 10) == []


async def test_a_rejected_append_changes_neither_deadline_nor_lobby(store: EventStore) -> None:
    writer = Writer(store)
    await store.append(
        Append(writer.stream_id, 0, writer.head.hash, [b"x"], NOW, LobbyRow(1, NOW, b"s", ("ann",)))
    )
    with pytest.raises(VersionConflict):
        await store.append(
            Append(writer.stream_id, 0, writer.head.hash, [b"y"], None, LobbyRow(2, NOW, b"t", ()))
        )
    assert [due.stream_id for due in await store.read_due(NOW, 10)] == [writer.stream_id]
    [listed] = await store.lobby.list_matches(player="ann", limit=10)
    assert (listed.status, listed.summary, listed.version) == (1, b"s", 1)


async def test_close_stores_the_waiting_appends(database: Database) -> None:
    store = await EventStore.open(database.app_dsn)
    writers = [Writer(store) for _ in range(50)]
    adding = [asyncio.create_task(writer.add(b"x")) for writer in writers]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*adding)
    with pytest.raises(StoreError):
        await writers[0].add(b"y")


async def test_read_all_yields_whole_streams_for_any_page_size(database: Database) -> None:
    async with await EventStore.open(database.app_dsn, Limits(page_rows_max=3)) as store:
        writers = sorted((Writer(store) for _ in range(9)), key=lambda writer: writer.stream_id)
        for size, writer in enumerate(writers, start=1):
            await writer.add(*([b"x"] * size))
        sizes = [(stream_id, len(records)) async for stream_id, records in store.read_all()]
        assert sizes == [(writer.stream_id, size) for size, writer in enumerate(writers, start=1)]
        rest = [stream_id async for stream_id, _ in store.read_all(after=writers[3].stream_id)]
        assert rest == [writer.stream_id for writer in writers[4:]]
