"""The stored tree: updates are exclusive and atomic, and no row is ever changed."""

from __future__ import annotations

import asyncio
from uuid import UUID

import asyncpg
import pytest

from eventstore import EventStore, LobbyRow
from eventstore.checkpoints import LeafKind, TreeUpdate
from tests.conftest import Database
from tests.eventstore.support import OPENED, StoredDispute, Writer

PLAYING, ENDED = 2, 3
HASH = bytes(range(32))


async def matches(store: EventStore, status: int, count: int) -> list[UUID]:
    made = []
    for _ in range(count):
        writer = Writer(store)
        append = writer.command(b"one", b"two")._replace(lobby=LobbyRow(status, OPENED, b""))
        await store.append(append)
        made.append(writer.stream_id)
    return sorted(made)


async def grow(update: TreeUpdate) -> int:
    """Add the pending leaves, with hashes that mean nothing."""
    ended = await update.find_ended_matches(ENDED, 100)
    await update.add(ended, [(0, update.tree_size + at, HASH) for at in range(len(ended))])
    await update.add_head(f"a tree of {update.tree_size}")
    return len(ended)


async def test_each_ended_match_gets_one_leaf(store: EventStore) -> None:
    await matches(store, PLAYING, 3)
    first = await matches(store, ENDED, 4)
    assert await store.checkpoints.update(grow) == 4
    second = await matches(store, ENDED, 2)
    assert await store.checkpoints.update(grow) == 2
    assert await store.checkpoints.update(grow) == 0

    for index, match_id in enumerate(first + second):
        leaf = await store.checkpoints.read_leaf(LeafKind.MATCH, match_id, index + 1)
        head = await store.read_head(match_id)
        assert leaf is not None
        assert head is not None
        assert leaf == (index, (LeafKind.MATCH, match_id, head.version, head.hash))
    assert await store.checkpoints.read_size() == 6
    keys = [(0, 0), (0, 5), (0, 6), (1, 0)]
    assert await store.checkpoints.read_nodes(keys) == {(0, 0): HASH, (0, 5): HASH}


async def test_a_dispute_gets_a_leaf_whenever_it_has_grown(store: EventStore) -> None:
    async def grow_disputes(update: TreeUpdate) -> int:
        grown = await update.find_grown_disputes(10)
        await update.add(grown, [(0, update.tree_size + at, HASH) for at in range(len(grown))])
        return len(grown)

    dispute, other = StoredDispute(store), StoredDispute(store)
    await dispute.add(b"opened")
    assert await store.checkpoints.update(grow_disputes) == 1
    assert await store.checkpoints.update(grow_disputes) == 0
    await other.add(b"opened")
    opened = dispute.link
    await dispute.add(b"ruled")
    await dispute.add(b"declined")
    assert await store.checkpoints.update(grow_disputes) == 2
    assert await store.checkpoints.update(grow_disputes) == 0

    checkpoints = store.checkpoints
    first, newest = await checkpoints.read_leaves(LeafKind.DISPUTE, [dispute.dispute_id])
    assert first == (0, (LeafKind.DISPUTE, dispute.dispute_id, 1, opened))
    assert newest.head == (LeafKind.DISPUTE, dispute.dispute_id, 3, dispute.link)
    assert await checkpoints.read_leaf(LeafKind.DISPUTE, dispute.dispute_id, 1) == first
    assert await checkpoints.read_leaf(LeafKind.DISPUTE, dispute.dispute_id, 3) == newest
    assert await checkpoints.read_leaf(LeafKind.MATCH, dispute.dispute_id, 3) is None


async def test_the_newest_head_and_the_head_of_a_size(store: EventStore) -> None:
    assert await store.checkpoints.read_latest_head() is None
    await store.checkpoints.update(lambda update: update.add_head("empty"))
    await store.checkpoints.update(lambda update: update.add_head("empty, with another key"))
    await matches(store, ENDED, 1)
    await store.checkpoints.update(grow)
    latest = await store.checkpoints.read_latest_head()
    assert latest is not None
    assert (latest.tree_size, latest.note) == (1, "a tree of 1")
    empty = await store.checkpoints.read_head(0)
    assert empty is not None
    assert empty.note == "empty, with another key"
    assert await store.checkpoints.read_head(7) is None


async def test_one_update_at_a_time(store: EventStore, database: Database) -> None:
    await matches(store, ENDED, 2)
    inside, go = asyncio.Event(), asyncio.Event()

    async def slowly(update: TreeUpdate) -> int:
        inside.set()
        await go.wait()
        return await grow(update)

    async with await EventStore.open(database.app_dsn) as other:
        first = asyncio.create_task(store.checkpoints.update(slowly))
        await inside.wait()
        assert await other.checkpoints.update(grow) is None
        go.set()
        assert await first == 2
        assert await other.checkpoints.update(grow) == 0


async def test_a_failed_update_is_rolled_back(store: EventStore) -> None:
    [match_id] = await matches(store, ENDED, 1)

    async def break_off(update: TreeUpdate) -> None:
        await grow(update)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.checkpoints.update(break_off)
    assert await store.checkpoints.read_latest_head() is None
    assert await store.checkpoints.read_leaf(LeafKind.MATCH, match_id, 1) is None
    assert await store.checkpoints.update(grow) == 1


async def test_a_rebuilt_lobby_gives_no_second_leaf(store: EventStore, database: Database) -> None:
    [match_id] = await matches(store, ENDED, 1)
    await store.checkpoints.update(grow)
    owner = await asyncpg.connect(database.owner_dsn)
    await owner.execute("DELETE FROM matches")
    await owner.close()
    await store.lobby.put_rows([(match_id, 2, LobbyRow(ENDED, OPENED, b""))])
    assert await store.checkpoints.update(grow) == 0
    assert await store.checkpoints.read_size() == 1
    assert await store.checkpoints.update(lambda update: update.find_ended_matches(ENDED, 10)) == []


@pytest.mark.parametrize("table", ["tree_leaves", "tree_nodes", "checkpoints"])
@pytest.mark.parametrize("change", ["DELETE FROM {}", "TRUNCATE {}", "UPDATE {} SET {} = {}"])
async def test_no_row_can_be_changed_or_deleted(
    store: EventStore, database: Database, table: str, change: str
) -> None:
    await matches(store, ENDED, 1)
    await store.checkpoints.update(grow)
    column = {"tree_leaves": "version", "tree_nodes": "level", "checkpoints": "number"}[table]
    statement = change.format(table, column, column)
    for dsn in (database.app_dsn, database.owner_dsn):
        connection = await asyncpg.connect(dsn)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
        await connection.close()
