"""Case O20: background statements on `matches` cannot be in a deadlock: they have one order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from eventstore import EventStore, LobbyRow
from eventstore.checkpoints import TreeUpdate
from eventstore.postgres.advisory_locks import AdvisoryLock
from eventstore.read_models.standings import StandingsUpdate
from tests.conftest import Database
from tests.eventstore.support import Writer, blocked

ENDED = 4
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(days=1)
ROW = LobbyRow(ENDED, NOON, b"", (), ended_at=NOON)


async def grow_tree(store: EventStore) -> None:
    async def grow(update: TreeUpdate) -> None:
        await update.add(await update.find_ended_matches(ENDED, 100), [])

    await store.checkpoints.update(grow)


async def count(store: EventStore) -> None:
    async def mark(update: StandingsUpdate) -> None:
        await update.add(await update.take_uncounted(LATER, 100), [])

    await store.standings.update(mark, wait=True)


async def count_again(store: EventStore) -> None:
    await store.standings.clear()


async def rebuild(store: EventStore) -> None:
    await store.lobby.put_rows([(UUID(int=number), 1, ROW) for number in (3, 1, 2)])


async def end_matches(store: EventStore) -> None:
    for number in (3, 1, 2):
        command = Writer(store, UUID(int=number)).command(b"the end")
        await store.append(command._replace(lobby=ROW))


@pytest.mark.parametrize("work", [grow_tree, count, count_again, rebuild])
async def test_O20_background_work_waits_before_it_locks_a_row(
    store: EventStore, database: Database, work: Callable[[EventStore], Awaitable[None]]
) -> None:
    """Another transaction has the lock, as other background work would."""
    await end_matches(store)
    other = await asyncpg.connect(database.app_dsn)
    try:
        async with other.transaction():
            await other.execute("SELECT pg_advisory_xact_lock($1)", AdvisoryLock.LOBBY_UPDATE)
            waiting = asyncio.ensure_future(work(store))
            await blocked(other)
            # The one that waits holds no row: all can be locked here.
            await other.fetch("SELECT FROM matches FOR UPDATE NOWAIT")
        await waiting
    finally:
        await other.close()


async def test_O20_all_background_work_at_the_same_time_has_no_deadlock(
    store: EventStore, database: Database
) -> None:
    await end_matches(store)
    works = [grow_tree, count, count_again, rebuild]
    for _ in range(5):
        await asyncio.gather(*(work(store) for work in works))
    connection = await asyncpg.connect(database.owner_dsn)
    try:
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert await connection.fetchval(deadlocks) == 0
    finally:
        await connection.close()
