"""Standings: the results of ended matches, by seat, series and player.

Matches are counted in the order of their last events' times, then of their ids. This order follows
from the log alone. One process at a time counts, and each update is one transaction. A match can
become visible after later ones were counted (a slow transaction, or a clock that is behind). Then
the standings are rolled back to before it, and the later matches are counted again. So the
standings always equal those of counting all matches in order. The caller defines what the numbers
mean.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from uuid import UUID

from eventstore.log.news import News, NewsKind, write_news
from eventstore.postgres.advisory_locks import AdvisoryLock, lock_lobby
from eventstore.postgres.pool import Pool
from eventstore.read_models.flags import FlagRow, FlagRule, list_flags

if TYPE_CHECKING:
    import asyncpg

    from eventstore.postgres.connect import PooledConnection

Result = TypeVar("Result")

_UNCOUNTED = """
SELECT match_id, ended_at, summary FROM matches
WHERE ended_at <= $1 AND NOT counted AND match_id <> ALL ($3)
ORDER BY ended_at, match_id LIMIT $2
"""
_ROLL_BACK = """
WITH later AS (
    DELETE FROM standings WHERE (ended_at, match_id) >= ($1, $2) RETURNING match_id, player
), uncounted AS (
    UPDATE matches SET counted = false WHERE match_id IN (SELECT match_id FROM later)
)
SELECT DISTINCT player FROM later WHERE player IS NOT NULL
"""
_DELETE_RATINGS = "DELETE FROM ratings WHERE player = ANY ($1::text[])"
_RESTORE_RATINGS = """
INSERT INTO ratings (player, points, matches, wins, losses, day, bot_points, times_left,
    times_left_losing)
SELECT p.player, s.* FROM unnest($1::text[]) AS p (player) CROSS JOIN LATERAL (
    SELECT points, matches, wins, losses, day, bot_points, times_left, times_left_losing
    FROM standings
    WHERE player = p.player ORDER BY ended_at DESC, match_id DESC LIMIT 1
) AS s
"""
_RATINGS = """
SELECT player, points, matches, wins, losses, day, bot_points, times_left, times_left_losing
FROM ratings
WHERE player = ANY ($1::text[])
"""
_ADD_STANDINGS = """
INSERT INTO standings (match_id, seat, ended_at, series_id, player, won, lost,
    abandoned, left_losing, points, matches, wins, losses, day, bot_points, times_left,
    times_left_losing)
SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::timestamptz[], $4::uuid[], $5::text[],
    $6::smallint[], $7::smallint[], $8::smallint[], $9::smallint[], $10::integer[], $11::integer[],
    $12::integer[], $13::integer[], $14::integer[], $15::integer[], $16::integer[], $17::integer[])
"""
_PUT_RATINGS = """
INSERT INTO ratings (player, points, matches, wins, losses, day, bot_points, times_left,
    times_left_losing)
SELECT * FROM unnest($1::text[], $2::integer[], $3::integer[], $4::integer[], $5::integer[],
    $6::integer[], $7::integer[], $8::integer[], $9::integer[])
ON CONFLICT (player) DO UPDATE
SET points = excluded.points, matches = excluded.matches, wins = excluded.wins,
    losses = excluded.losses, day = excluded.day, bot_points = excluded.bot_points,
    times_left = excluded.times_left, times_left_losing = excluded.times_left_losing
"""
_MARK_COUNTED = "UPDATE matches SET counted = true WHERE match_id = ANY ($1::uuid[])"

_PAGE = """
SELECT player, points, matches, wins, losses, day, bot_points, times_left, times_left_losing
FROM ratings
WHERE points <= $1 AND (points < $1 OR player > $2) ORDER BY points DESC, player LIMIT $3
"""
_SERIES = """
SELECT seat, count(*)::integer AS matches, sum(won)::integer AS wins, sum(lost)::integer AS losses
FROM standings WHERE series_id = $1 GROUP BY seat ORDER BY seat
"""


class PlayerNumbers(NamedTuple):
    """The numbers of a player. `day` counts days from 1970-01-01 (UTC).

    `times_left` counts the matches that the player left, and `times_left_losing` those of them that
    they left in a lost position. They are not in `matches`.
    """

    points: int
    matches: int
    wins: int
    losses: int
    day: int
    bot_points: int
    times_left: int = 0
    times_left_losing: int = 0


class UncountedMatch(NamedTuple):
    """An ended match that is not counted yet: the time of its last event, its lobby summary."""

    match_id: UUID
    ended_at: datetime
    summary: bytes


class SeatStanding(NamedTuple):
    """The result of a match for one seat. For a bot, `player` and `after` are None.

    `after` holds the numbers of the player after the match. An abandoned match has one such row, of
    the seat that left. It belongs to no series.
    """

    match_id: UUID
    seat: int
    ended_at: datetime
    series_id: UUID | None
    player: str | None
    won: bool
    lost: bool
    after: PlayerNumbers | None
    abandoned: bool = False
    left_losing: bool = False


class SeriesSeat(NamedTuple):
    """The results of a series for one seat."""

    seat: int
    matches: int
    wins: int
    losses: int


class RatingKey(NamedTuple):
    """The last row of a page of ratings."""

    points: int
    player: str


BEFORE_FIRST_RATING: Final = RatingKey(2**31 - 1, "")


class StandingsUpdate:
    """The standings inside the transaction of one update."""

    def __init__(self, connection: PooledConnection) -> None:
        self._connection = connection

    async def take_uncounted(
        self,
        until: datetime,
        limit: int,
        is_readable: Callable[[UncountedMatch], bool] = lambda _: True,
        without: Collection[UUID] = (),
    ) -> list[UncountedMatch]:
        """Return the next matches to count, in order, of those that ended by `until`.

        Matches that are not readable, and those `without` which it asks, are passed over: the list
        can be empty although there are more. If the first match belongs before counted matches, the
        standings are first rolled back to before it.
        """
        uncounted = await self._find_uncounted(until, limit, without, is_readable)
        if uncounted and await self._roll_back(uncounted[0]):
            uncounted = await self._find_uncounted(until, limit, without, is_readable)
        return uncounted

    async def read_ratings(self, players: Collection[str]) -> dict[str, PlayerNumbers]:
        """Return the numbers of the players that have any."""
        rows = await self._connection.fetch(_RATINGS, list(players))
        return {row["player"]: _read_numbers(row) for row in rows}

    async def add(self, matches: Sequence[UncountedMatch], seats: Sequence[SeatStanding]) -> None:
        """Add the results of these matches, in order. A match without seats has no result."""
        bot = (0,) * len(PlayerNumbers._fields)
        rows = [
            (*seat[:7], seat.abandoned, seat.left_losing, *(seat.after or bot)) for seat in seats
        ]
        if rows:
            await self._connection.execute(_ADD_STANDINGS, *_columns(rows))
        last = {seat.player: seat.after for seat in seats if seat.player is not None}
        ratings = [(player, *after) for player, after in sorted(last.items()) if after is not None]
        if ratings:
            await self._connection.execute(_PUT_RATINGS, *_columns(ratings))
        await lock_lobby(self._connection)
        await self._connection.execute(_MARK_COUNTED, [match.match_id for match in matches])
        news = [
            News(NewsKind.RATING, seat.match_id, 0, seat.player)
            for seat in seats
            if seat.player is not None
        ]
        await write_news(self._connection, news)

    async def _find_uncounted(
        self,
        until: datetime,
        limit: int,
        without: Collection[UUID],
        is_readable: Callable[[UncountedMatch], bool],
    ) -> list[UncountedMatch]:
        rows = await self._connection.fetch(_UNCOUNTED, until, limit, list(without))
        return [match for row in rows if is_readable(match := UncountedMatch(*row))]

    async def _roll_back(self, first: UncountedMatch) -> bool:
        """Remove the results from a match on. Return whether there were any."""
        await lock_lobby(self._connection)
        rows = await self._connection.fetch(_ROLL_BACK, first.ended_at, first.match_id)
        players = [row["player"] for row in rows]
        await self._connection.execute(_DELETE_RATINGS, players)
        await self._connection.execute(_RESTORE_RATINGS, players)
        return bool(rows)


class Standings:
    """Reads and updates series and ratings. Use it as `EventStore.standings`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def update(
        self, work: Callable[[StandingsUpdate], Awaitable[Result]], *, wait: bool = False
    ) -> Result | None:
        """Run one update in a transaction. Return None if another process is updating.

        With `wait` it waits for the other process instead. An exception of `work` rolls the update
        back. Raises StoreUnavailable.
        """
        return await self._pool.transact_exclusively(
            AdvisoryLock.STANDINGS_UPDATE,
            lambda connection: work(StandingsUpdate(connection)),
            wait=wait,
        )

    async def clear(self) -> None:
        """Delete all standings, so that all matches are counted again."""

        async def delete_all(connection: PooledConnection) -> None:
            await connection.execute("SET LOCAL statement_timeout = 0")
            await lock_lobby(connection)
            await connection.execute("DELETE FROM standings")
            await connection.execute("DELETE FROM ratings")
            await connection.execute("UPDATE matches SET counted = false WHERE counted")

        await self._pool.transact_exclusively(AdvisoryLock.STANDINGS_UPDATE, delete_all, wait=True)

    async def read_rating(self, player: str) -> PlayerNumbers | None:
        """Return the numbers of a player, or None if none of their matches was counted."""
        row = await self._pool.fetch_first(_RATINGS, [player])
        return None if row is None else _read_numbers(row)

    async def list_ratings(
        self, *, after: RatingKey | None = None, limit: int
    ) -> list[tuple[str, PlayerNumbers]]:
        """Return a page of players and their numbers, by falling points, then by name."""
        rows = await self._pool.fetch(_PAGE, *(after or BEFORE_FIRST_RATING), limit)
        return [(row["player"], _read_numbers(row)) for row in rows]

    async def list_flags(
        self,
        rule: FlagRule,
        since: datetime,
        before: datetime,
        *,
        player: str | None = None,
        after: tuple[str, str] = ("", ""),
        limit: int,
    ) -> list[FlagRow]:
        """Return a page of flags. See `read_models.flags.list_flags`."""
        return await list_flags(
            self._pool, rule, since, before, player=player, after=after, limit=limit
        )

    async def read_series(self, series_id: UUID) -> list[SeriesSeat]:
        """Return the seats of a series. The list is empty if no match of it was counted."""
        return [SeriesSeat(*row) for row in await self._pool.fetch(_SERIES, series_id)]


def _read_numbers(row: asyncpg.Record) -> PlayerNumbers:
    return PlayerNumbers(*(row[name] for name in PlayerNumbers._fields))


def _columns(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
