"""The news of players: numbered in the order of commits, stored with their records."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from random import Random
from uuid import UUID, uuid4

import pytest

from eventstore import Append, EventStore, LobbyRow, first_hash
from eventstore.errors import VersionConflict
from eventstore.ledger.books import TakeStake
from eventstore.log.news import NewsKind
from eventstore.read_models.news import NewsHead, news_stream
from tests.conftest import Database

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAYERS = ("ann", "bob", "Carl", "dora", "évi")


def opening(match_id: UUID, concerns: tuple[str, ...], invites: tuple[str, ...] = ()) -> Append:
    row = LobbyRow(1, NOW, b"", concerns, concerns=concerns, invites=invites)
    return Append(match_id, 0, first_hash(match_id), [b"opened"], lobby=row)


async def test_an_append_writes_news_for_each_player(database: Database) -> None:
    async with await EventStore.open(database.app_dsn) as store:
        match_id = uuid4()
        await store.append(opening(match_id, ("ann", "bob"), invites=("ann", "dora")))
        rows = await store.news.read("ann", 0, 10)
        assert [(row.number, row.kind, row.source_id, row.version) for row in rows] == [
            (1, NewsKind.MATCH, match_id, 1),
            (2, NewsKind.INVITATION, match_id, 1),
        ]
        assert await store.news.read("ann", 1, 10) == rows[1:]
        assert await store.news.read_heads(["ann", "bob", "x"]) == {
            "ann": NewsHead(2, 0),
            "bob": NewsHead(1, 0),
            "x": NewsHead(0, 0),
        }
        assert await store.news.have_concerned("dora", [match_id]) == set()
        assert await store.news.have_concerned("bob", [match_id, uuid4()]) == {match_id}
        assert await store.news.read_current("bob") == [match_id]


async def test_a_refused_append_writes_no_news(database: Database) -> None:
    async with await EventStore.open(database.app_dsn) as store:
        match_id = uuid4()
        await store.append(opening(match_id, ("ann",)))
        other = opening(uuid4(), ("bob",))
        results = await asyncio.gather(
            store.append(opening(match_id, ("bob",))), store.append(other), return_exceptions=True
        )
        assert isinstance(results[0], VersionConflict)
        [row] = await store.news.read("bob", 0, 10)
        assert row.source_id == other.stream_id


@pytest.mark.parametrize("seed", range(3))
async def test_readers_by_number_miss_nothing_while_replicas_write(
    database: Database, seed: int
) -> None:
    """A row never becomes visible after one with a higher number, and no transactions deadlock."""
    random = Random(seed)
    async with (
        await EventStore.open(database.app_dsn) as first,
        await EventStore.open(database.app_dsn) as second,
    ):
        for player in PLAYERS:
            await first.ledger.open_account(player, 10_000)
        expected: dict[str, set[UUID]] = {player: set() for player in PLAYERS}
        seen: dict[str, list[UUID]] = {player: [] for player in PLAYERS}
        is_over = False

        async def write(store: EventStore) -> None:
            for _ in range(60):
                match_id = uuid4()
                concerns = tuple(random.sample(PLAYERS, random.randint(1, len(PLAYERS))))
                for player in concerns:
                    expected[player].add(match_id)
                stakes = [TakeStake(player, 1) for player in concerns] * random.randint(0, 1)
                await store.append(opening(match_id, concerns), stakes)

        async def read(player: str) -> None:
            number = 0
            while True:
                was_over = is_over
                for row in await second.news.read(player, number, 7):
                    assert row.number > number
                    number = row.number
                    seen[player].append(row.source_id)
                if was_over and len(seen[player]) >= len(expected[player]):
                    return

        reading = [asyncio.create_task(read(player)) for player in PLAYERS]
        async with asyncio.timeout(60):
            await asyncio.gather(*(write(store) for store in (first, second) * 8))
            is_over = True
            await asyncio.gather(*reading)
        for player in PLAYERS:
            assert len(seen[player]) == len(set(seen[player]))
            assert set(seen[player]) == expected[player]


async def test_hints_of_news_reach_another_process(database: Database) -> None:
    async with (
        await EventStore.open(database.app_dsn) as first,
        await EventStore.open(database.app_dsn) as second,
    ):
        heard: asyncio.Queue[UUID] = asyncio.Queue()
        connected = asyncio.Event()
        tasks = [
            asyncio.create_task(first.hints.run(lambda *_: None, lambda: None)),
            asyncio.create_task(
                second.hints.run(lambda it, _: heard.put_nowait(it), connected.set)
            ),
        ]
        await connected.wait()
        first.news.notify(["évi"])
        assert await asyncio.wait_for(heard.get(), 20) == news_stream("évi")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
