from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from eventstore import Append, EventStore, LobbyRow, PageKey
from eventstore.errors import VersionConflict
from eventstore.read_models.lobby import COUNT_OPENED, READ_OPENED, READ_SEATED
from tests.conftest import Database
from tests.eventstore.support import Writer

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OPEN, PLAYING, ENDED = 1, 2, 3


async def put(writer: Writer, row: LobbyRow) -> None:
    command = writer.command(b"x")
    writer.head = await writer.store.append(command._replace(lobby=row))


async def pages(store: EventStore, size: int, **chosen: object) -> list[UUID]:
    """Return all matches of a list, fetched page by page."""
    found: list[UUID] = []
    after: PageKey | None = None
    while page := await store.lobby.list_matches(after=after, limit=size, **chosen):  # type: ignore[arg-type]
        assert len(page) <= size
        found.extend(row.match_id for row in page)
        after = PageKey(page[-1].opened_at, page[-1].match_id)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_lists_are_newest_first_and_pages_have_no_gaps(store: EventStore, size: int) -> None:
    writers = [Writer(store) for _ in range(12)]
    for number, writer in enumerate(writers):
        row = LobbyRow(
            status=OPEN if number % 3 else PLAYING,
            opened_at=NOON + timedelta(minutes=number // 4),  # four opened in each minute
            summary=bytes([number]),
            players=("ann", "bob") if number % 2 else ("bob",),
        )
        await put(writer, row)
    ordered = sorted(range(12), key=lambda n: (n // 4, writers[n].stream_id), reverse=True)

    def those(*numbers: int) -> list[UUID]:
        return [writers[n].stream_id for n in ordered if n in numbers]

    assert await pages(store, size) == those(*range(12))
    assert await pages(store, size, statuses=[OPEN]) == those(1, 2, 4, 5, 7, 8, 10, 11)
    assert await pages(store, size, statuses=[PLAYING]) == those(0, 3, 6, 9)
    assert await pages(store, size, statuses=[PLAYING, OPEN]) == those(*range(12))
    assert await pages(store, size, statuses=[7]) == []
    assert await pages(store, size, player="ann") == those(1, 3, 5, 7, 9, 11)
    assert await pages(store, size, player="ann", statuses=[PLAYING]) == those(3, 9)
    assert await pages(store, size, player="nobody") == []


async def test_appends_update_the_row_of_their_match(store: EventStore) -> None:
    writer = Writer(store)
    await put(writer, LobbyRow(OPEN, NOON, b"one", ("ann", "bob")))
    await writer.add(b"a move that the lobby does not show")
    await put(writer, LobbyRow(PLAYING, NOON, b"two", ("bob", "eve")))

    assert await store.lobby.list_matches(limit=10) == [
        (writer.stream_id, PLAYING, NOON, 3, b"two", None)
    ]
    assert await store.lobby.list_matches(player="ann", limit=10) == []
    for player in ("bob", "eve"):
        assert len(await store.lobby.list_matches(player=player, limit=10)) == 1


async def test_a_rebuild_does_not_overwrite_newer_rows(store: EventStore) -> None:
    stale, fresh = Writer(store), Writer(store)
    for writer in (stale, fresh):
        await put(writer, LobbyRow(OPEN, NOON, b"live", ("ann",)))
    await store.lobby.put_rows(
        [
            (stale.stream_id, 0, LobbyRow(PLAYING, NOON, b"rebuilt", ("eve",))),
            (fresh.stream_id, 1, LobbyRow(PLAYING, NOON, b"rebuilt", ("eve",))),
        ]
    )
    summaries = {row.match_id: row.summary for row in await store.lobby.list_matches(limit=10)}
    assert summaries == {stale.stream_id: b"live", fresh.stream_id: b"rebuilt"}
    [hers] = await store.lobby.list_matches(player="eve", limit=10)
    assert hers.match_id == fresh.stream_id


async def test_the_row_of_a_conflicting_append_is_not_written(store: EventStore) -> None:
    writer = Writer(store)
    await put(writer, LobbyRow(OPEN, NOON, b"first"))
    late = Append(writer.stream_id, 0, bytes(32), [b"x"], lobby=LobbyRow(PLAYING, NOON, b"late"))
    with pytest.raises(Exception, match="is at version 1"):
        await store.append(late)
    assert [row.summary for row in await store.lobby.list_matches(limit=10)] == [b"first"]


async def count(store: EventStore, opened_by: str = "ann", limit: int = 9) -> int:
    """Return how many open matches a player has opened."""
    return await store.lobby.count_opened(opened_by, status=OPEN, limit=limit)


async def test_opened_matches_are_counted_by_status(store: EventStore) -> None:
    writers = [Writer(store) for _ in range(4)]
    for writer in writers:
        await put(writer, LobbyRow(OPEN, NOON, b"", opened_by="ann"))
    await put(Writer(store), LobbyRow(OPEN, NOON, b"", ("ann",), opened_by="bob"))
    assert (await count(store), await count(store, "bob"), await count(store, "eve")) == (4, 1, 0)
    assert await count(store, limit=3) == 3

    seated, playing, cancelled, _ = writers
    await put(seated, LobbyRow(OPEN, NOON, b"", ("bob",)))
    await put(seated, LobbyRow(OPEN, NOON, b"", ()))  # vacated
    await put(seated, LobbyRow(OPEN, NOON, b"", (), opened_by="eve"))  # the first opener stays
    assert (await count(store), await count(store, "eve")) == (4, 0)
    await put(playing, LobbyRow(PLAYING, NOON, b"", ("bob", "eve")))
    assert await count(store) == 3
    await put(cancelled, LobbyRow(ENDED, NOON, b"", ended_at=NOON))
    assert await count(store) == 2
    assert await store.lobby.count_opened("ann", status=PLAYING, limit=9) == 1
    # Ended matches do not count.
    assert await store.lobby.count_opened("ann", status=ENDED, limit=9) == 0


async def test_a_conflicting_opening_does_not_count(store: EventStore) -> None:
    writer = Writer(store)
    await put(writer, LobbyRow(OPEN, NOON, b"", opened_by="ann"))
    late = LobbyRow(OPEN, NOON, b"", opened_by="bob")
    with pytest.raises(VersionConflict):
        await store.append(Append(writer.stream_id, 0, bytes(32), [b"x"], lobby=late))
    assert (await count(store), await count(store, "bob")) == (1, 0)


async def plan_of(database: Database, query: str, *arguments: object) -> str:
    connection = await asyncpg.connect(database.app_dsn)
    try:
        await connection.execute("SET enable_seqscan = off")
        return "\n".join(row[0] for row in await connection.fetch("EXPLAIN " + query, *arguments))
    finally:
        await connection.close()


async def test_queries_by_player_use_an_index(store: EventStore, database: Database) -> None:
    await put(Writer(store), LobbyRow(OPEN, NOON, b"", opened_by="ann"))
    page = (NOON, Writer(store).stream_id, 20, [OPEN, PLAYING, ENDED])
    assert "matches_by_opener" in await plan_of(database, COUNT_OPENED, "ann", OPEN, 17)
    assert "matches_by_opener" in await plan_of(database, READ_OPENED, *page, "ann")
    assert "match_players_in_use" in await plan_of(database, READ_SEATED, "ann", 17)


async def test_rebuilt_rows_restore_a_missing_opener(store: EventStore) -> None:
    known, unknown = Writer(store), Writer(store)
    await put(known, LobbyRow(OPEN, NOON, b"", opened_by="ann"))
    await put(unknown, LobbyRow(OPEN, NOON, b""))
    assert await count(store) == 1
    await store.lobby.put_rows(
        [
            (known.stream_id, 1, LobbyRow(OPEN, NOON, b"")),
            (unknown.stream_id, 1, LobbyRow(OPEN, NOON, b"", opened_by="ann")),
        ]
    )
    assert await count(store) == 2
