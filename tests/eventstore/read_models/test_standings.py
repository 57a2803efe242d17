"""Standings: each match is counted once, in the order of end times, however late it appears."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from eventstore import EventStore, LobbyRow
from eventstore.errors import StoreUnavailable
from eventstore.read_models.standings import (
    PlayerNumbers,
    RatingKey,
    SeatStanding,
    SeriesSeat,
    StandingsUpdate,
    UncountedMatch,
)
from tests.conftest import Database, execute
from tests.eventstore.support import Writer

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(days=1)
SERIES = UUID(int=7)


async def end(store: EventStore, minute: int, players: str, match_id: UUID | None = None) -> UUID:
    """Store an ended match. Each character is a player, `-` a bot. The first one wins."""
    writer = Writer(store) if match_id is None else Writer(store, match_id)
    at = NOON + timedelta(minutes=minute)
    row = LobbyRow(4, NOON, players.encode(), tuple(players), ended_at=at)
    await store.append(writer.command(b"the end")._replace(lobby=row))
    return writer.stream_id


async def count(store: EventStore, until: datetime = LATER, limit: int = 2) -> int | None:
    """Run one update. The new numbers of a player depend on the order of the matches."""

    async def work(update: StandingsUpdate) -> int:
        ended = await update.take_uncounted(until, limit)
        players = {name for match in ended for name in match.summary.decode() if name != "-"}
        numbers = await update.read_ratings(players)
        seats = []
        for match in ended:
            for seat, name in enumerate(match.summary.decode()):
                seats.append(_standing(match, seat, name, numbers))
        await update.add(ended, seats)
        return len(ended)

    return await store.standings.update(work)


def _standing(
    match: UncountedMatch, seat: int, name: str, numbers: dict[str, PlayerNumbers]
) -> SeatStanding:
    after = None
    if name != "-":
        old = numbers.get(name, PlayerNumbers(1, 0, 0, 0, 0, 0))
        minute = (match.ended_at - NOON) // timedelta(minutes=1)
        after = old._replace(
            points=(old.points * 31 + minute) % 1009, matches=old.matches + 1, day=minute
        )
        numbers[name] = after
    player = None if name == "-" else name
    return SeatStanding(
        match.match_id, seat, match.ended_at, SERIES, player, seat == 0, seat == 1, after
    )


async def count_all(store: EventStore) -> None:
    while await count(store):
        pass


async def all_of(store: EventStore) -> list[tuple[str, PlayerNumbers]]:
    return await store.standings.list_ratings(limit=100)


async def test_a_match_is_counted_once(store: EventStore) -> None:
    await end(store, 5, "ab")
    assert await count(store) == 1
    assert await count(store) == 0
    assert await store.standings.read_rating("a") == PlayerNumbers(36, 1, 0, 0, 5, 0)
    assert await store.standings.read_rating("c") is None


async def test_a_match_waits_until_its_time(store: EventStore) -> None:
    await end(store, 5, "ab")
    assert await count(store, NOON + timedelta(minutes=5, microseconds=-1)) == 0
    assert await count(store, NOON + timedelta(minutes=5)) == 1


async def test_a_late_match_is_counted_at_its_place(store: EventStore) -> None:
    for minute, players in ((1, "ab"), (5, "ac"), (9, "ca"), (7, "de")):
        await end(store, minute, players)
    await count_all(store)
    await end(store, 3, "a-")  # rolls back the three that ended later
    assert await count(store) == 2
    # a: ((1 * 31 + 1) * 31 + 3) = 995, then 995 * 31 + 5 = 30850, which is 580 more than 30 * 1009.
    assert await store.standings.read_rating("a") == PlayerNumbers(580, 3, 0, 0, 5, 0)
    assert await store.standings.read_rating("d") is None, (
        "it was rolled back and is not counted again yet"
    )
    await count_all(store)
    # 580 * 31 + 9 = 17989, which is 836 more than 17 * 1009.
    assert await store.standings.read_rating("a") == PlayerNumbers(836, 4, 0, 0, 9, 0)


async def test_standings_do_not_depend_on_the_order_in_which_matches_appear(
    store: EventStore,
) -> None:
    chance = random.Random(1)
    matches = [
        (
            chance.randrange(12),
            "".join(chance.sample("abcdef-", 2)),
            UUID(int=chance.getrandbits(128)),
        )
        for _ in range(60)
    ]
    for minute, players, match_id in matches:
        await end(store, minute, players, match_id)
        if chance.random() < 0.3:
            await count(store)
    await count_all(store)
    seen = await all_of(store)

    await store.standings.clear()
    assert await all_of(store) == []
    await count_all(store)
    assert await all_of(store) == seen
    # The last numbers of each player, computed from the beginning.
    numbers: dict[str, PlayerNumbers] = {}
    for minute, players, match_id in sorted(matches, key=lambda match: (match[0], match[2].int)):
        ended = UncountedMatch(match_id, NOON + timedelta(minutes=minute), players.encode())
        for seat, name in enumerate(players):
            _standing(ended, seat, name, numbers)
    assert dict(seen) == numbers


async def test_a_rebuilt_lobby_row_does_not_count_twice(
    store: EventStore, database: Database
) -> None:
    matches = {minute: await end(store, minute, "ab") for minute in (5, 6)}
    await count_all(store)
    seen = await all_of(store)
    await execute(database.owner_dsn, "DELETE FROM matches")
    for minute, match_id in matches.items():
        row = LobbyRow(4, NOON, b"ab", ended_at=NOON + timedelta(minutes=minute))
        await store.lobby.put_rows([(match_id, 1, row)])
    await count_all(store)
    assert await all_of(store) == seen


async def test_updates_do_not_overlap(store: EventStore) -> None:
    for minute in range(20):
        await end(store, minute, "ab")
    counted = await asyncio.gather(*(count(store) for _ in range(20)))
    assert None in counted
    await count_all(store)
    numbers = await store.standings.read_rating("a")
    assert numbers is not None
    assert numbers.matches == 20


async def test_a_failed_update_is_rolled_back(store: EventStore) -> None:
    await end(store, 1, "ab")
    await count_all(store)
    before = await all_of(store)
    await end(store, 0, "ab")

    async def work(update: StandingsUpdate) -> None:
        assert len(await update.take_uncounted(LATER, 10)) == 2  # one was rolled back
        raise StoreUnavailable

    with pytest.raises(StoreUnavailable):
        await store.standings.update(work)
    assert await all_of(store) == before


async def test_ratings_are_ordered_by_points_then_name(store: EventStore) -> None:
    for minute, players in ((1, "ab"), (1, "dc"), (2, "e-"), (0, "f-")):
        await end(store, minute, players)
    await count_all(store)
    seen, key = [], None
    while page := await store.standings.list_ratings(after=key, limit=2):
        seen.append([(numbers.points, player) for player, numbers in page])
        player, numbers = page[-1]
        key = RatingKey(numbers.points, player)
    assert seen == [[(33, "e"), (32, "a")], [(32, "b"), (32, "c")], [(32, "d"), (31, "f")]]


async def test_a_series_is_summed_by_seat(store: EventStore) -> None:
    for minute in range(3):
        await end(store, minute, "a-")
    await count_all(store)
    assert await store.standings.read_series(SERIES) == [
        SeriesSeat(0, 3, 3, 0),
        SeriesSeat(1, 3, 0, 3),
    ]
    assert await store.standings.read_series(UUID(int=8)) == []
