"""Acknowledged appends survive a killed server, exactly once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from itertools import count
from uuid import UUID

import asyncpg
import pytest

from eventstore import Append, EmbeddedPostgres, EventStore, Head, Limits
from eventstore.errors import AppendOutcomeUnknown, StoreUnavailable, VersionConflict
from tests.eventstore.support import Writer, assert_whole, until


def kill(server: EmbeddedPostgres) -> None:
    pid = server.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


class Load:
    """Tasks that append until they are stopped, and the appends that were acknowledged."""

    def __init__(self, store: EventStore, appenders: int) -> None:
        self.acknowledged: list[tuple[UUID, int, bytes]] = []
        self.streams: set[UUID] = set()
        self.failures: Counter[str] = Counter()
        self._stopped = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._append(Writer(store), appender))
            for appender in range(appenders)
        ]

    async def _append(self, writer: Writer, appender: int) -> None:
        self.streams.add(writer.stream_id)
        for number in count():
            record = f"{appender} {number}".encode()
            head = None
            while head is None:
                if self._stopped.is_set():
                    return
                head = await self._try(writer, record)
            self.acknowledged.append((writer.stream_id, head.version, record))

    async def _try(self, writer: Writer, record: bytes) -> Head | None:
        try:
            return await writer.add(record)
        except StoreUnavailable:
            self.failures["unavailable"] += 1  # nothing was stored: retry
        except AppendOutcomeUnknown:
            self.failures["unknown"] += 1  # may be stored: the guard stores it once
        except VersionConflict:
            # No other task writes to this stream: the append with the unknown outcome was stored.
            await writer.catch_up()
            stored = await writer.store.read(writer.stream_id, writer.head.version - 1)
            assert [each.record for each in stored] == [record]
            return writer.head
        return None

    async def more(self, appends: int) -> None:
        """Wait until this many further appends are acknowledged."""
        goal = len(self.acknowledged) + appends

        async def reached() -> bool:
            return len(self.acknowledged) >= goal

        await until(reached)

    async def stop(self) -> None:
        self._stopped.set()
        await asyncio.gather(*self._tasks)


async def test_killed_postgres_keeps_every_acknowledged_append_exactly_once(
    own_postgres: EmbeddedPostgres,
) -> None:
    async with await EventStore.open(own_postgres.app_dsn()) as store:
        load = Load(store, appenders=64)
        for _ in range(3):
            await load.more(1500)
            kill(own_postgres)
            await asyncio.to_thread(own_postgres.start)
        await load.more(500)
        await load.stop()

        found = {
            stream_id: [stored.record for stored in records]
            async for stream_id, records in store.read_all()
        }
        for stream_id, version, record in load.acknowledged:
            assert found[stream_id][version - 1] == record
        for stream_id in load.streams:
            records = await assert_whole(store, stream_id)
            assert len(set(records)) == len(records), "a command was stored twice"
        assert sum(map(len, found.values())) == len(load.acknowledged)


async def test_an_outage_longer_than_the_retry_timeout_is_reported_and_loses_nothing(
    own_postgres: EmbeddedPostgres,
) -> None:
    limits = Limits(retry_timeout_seconds=0.2)
    async with await EventStore.open(own_postgres.app_dsn(), limits) as store:
        load = Load(store, appenders=32)
        await load.more(500)
        kill(own_postgres)

        async def failed() -> bool:
            return load.failures["unavailable"] > 0

        await until(failed)
        await asyncio.to_thread(own_postgres.start)
        await load.more(500)
        await load.stop()
        for stream_id, version, record in load.acknowledged:
            stored = await store.read(stream_id, version - 1, limit=1)
            assert [each.record for each in stored] == [record]


async def commit_without_answer(
    writer: Writer, owner: asyncpg.Connection[asyncpg.Record]
) -> tuple[asyncio.Task[Head], Append, int]:
    """Return an append that is committed while its caller waits, and the pid of its session.

    Commits wait for a standby that does not exist. The setting takes effect after a moment, so this
    appends until a commit waits.
    """
    await owner.execute("ALTER SYSTEM SET synchronous_standby_names = 'no_such_standby'")
    await owner.execute("SELECT pg_reload_conf()")
    command = writer.command(b"0")
    adding = asyncio.create_task(writer.store.append(command))
    while True:
        waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        pid = await owner.fetchval(waiting)
        if pid is not None:
            return adding, command, pid
        if adding.done():
            writer.head = await adding
            command = writer.command(str(writer.head.version).encode())
            adding = asyncio.create_task(writer.store.append(command))


def numbered(command: Append) -> list[bytes]:
    """Return all records of the stream up to a command of `commit_without_answer`."""
    return [str(number).encode() for number in range(command.expected_version + 1)]


async def test_a_commit_whose_answer_was_lost_is_acknowledged_once(
    own_postgres: EmbeddedPostgres,
) -> None:
    async with await EventStore.open(own_postgres.app_dsn()) as store:
        writer = Writer(store)
        owner = await asyncpg.connect(own_postgres.owner_dsn())
        try:
            adding, command, pid = await commit_without_answer(writer, owner)
            assert await owner.fetchval("SELECT pg_terminate_backend($1)", pid)
            await adding
        finally:
            await owner.close()
        assert await assert_whole(store, writer.stream_id) == numbered(command)


async def test_an_append_reports_an_unknown_outcome(
    own_postgres: EmbeddedPostgres,
) -> None:
    limits = Limits(retry_timeout_seconds=0.2)
    async with await EventStore.open(own_postgres.app_dsn(), limits) as store:
        writer = Writer(store)
        owner = await asyncpg.connect(own_postgres.owner_dsn())
        adding, command, _ = await commit_without_answer(writer, owner)
        owner.terminate()
        kill(own_postgres)
        with pytest.raises(AppendOutcomeUnknown):
            await adding

        with pytest.raises(StoreUnavailable):  # known to be unavailable: one try only
            await Writer(store).add(b"x")
        with pytest.raises(StoreUnavailable):
            await store.check_writable()

        (own_postgres.data / "postgresql.auto.conf").write_text("")
        await asyncio.to_thread(own_postgres.start)
        assert await assert_whole(store, writer.stream_id) == numbered(command)
        with pytest.raises(VersionConflict):
            await store.append(command)
        await store.check_writable()
