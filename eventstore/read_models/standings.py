"""Standings: what ended matches came to, counted in one order that follows from the log alone.

The order is that of the matches' last events by time, then by match id. They are counted in turns:
one process at a time, all of a turn or nothing. A match that comes to light after later ones have
been counted (its replica's transaction was slow, or its clock behind) sends the standings back to
before it, and what followed is counted again; so they are always what counting all matches in order
gives. What the numbers mean the caller knows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import UUID

from eventstore.checkpoints import TURN_KEY as CHECKPOINTS_TURN_KEY
from eventstore.model import Limits
from eventstore.postgres.connect import patiently

if TYPE_CHECKING:
    import asyncpg

    from eventstore.postgres.connect import Pool, Pooled

Result = TypeVar("Result")

TURN_KEY = CHECKPOINTS_TURN_KEY + 1

_WAITING = """
SELECT match_id, ended_at, summary FROM matches
WHERE ended_at <= $1 AND NOT counted ORDER BY ended_at, match_id LIMIT $2
"""
_TAKE_BACK = """
WITH later AS (
    DELETE FROM standings WHERE (ended_at, match_id) >= ($1, $2) RETURNING match_id, player
), uncounted AS (
    UPDATE matches SET counted = false WHERE match_id IN (SELECT match_id FROM later)
)
SELECT DISTINCT player FROM later WHERE player IS NOT NULL
"""
_FORGET = "DELETE FROM ratings WHERE player = ANY ($1::text[])"
_RESTORE = """
INSERT INTO ratings (player, points, matches, wins, losses, day, bot_points)
SELECT p.player, s.* FROM unnest($1::text[]) AS p (player) CROSS JOIN LATERAL (
    SELECT points, matches, wins, losses, day, bot_points FROM standings WHERE player = p.player
    ORDER BY ended_at DESC, match_id DESC LIMIT 1
) AS s
"""
_RATINGS = """
SELECT player, points, matches, wins, losses, day, bot_points FROM ratings
WHERE player = ANY ($1::text[])
"""
_ADD = """
INSERT INTO standings (match_id, seat, ended_at, series_id, player, won, lost,
    points, matches, wins, losses, day, bot_points)
SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::timestamptz[], $4::uuid[], $5::text[],
    $6::smallint[], $7::smallint[], $8::integer[], $9::integer[], $10::integer[], $11::integer[],
    $12::integer[], $13::integer[])
"""
_RATE = """
INSERT INTO ratings (player, points, matches, wins, losses, day, bot_points)
SELECT * FROM unnest($1::text[], $2::integer[], $3::integer[], $4::integer[], $5::integer[],
    $6::integer[], $7::integer[])
ON CONFLICT (player) DO UPDATE
SET points = excluded.points, matches = excluded.matches, wins = excluded.wins,
    losses = excluded.losses, day = excluded.day, bot_points = excluded.bot_points
"""
_COUNTED = "UPDATE matches SET counted = true WHERE match_id = ANY ($1::uuid[])"

_PAGE = """
SELECT player, points, matches, wins, losses, day, bot_points FROM ratings
WHERE points <= $1 AND (points < $1 OR player > $2) ORDER BY points DESC, player LIMIT $3
"""
_SERIES = """
SELECT seat, count(*)::integer AS matches, sum(won)::integer AS wins, sum(lost)::integer AS losses
FROM standings WHERE series_id = $1 GROUP BY seat ORDER BY seat
"""


class PlayerNumbers(NamedTuple):
    """A player's numbers; `day` is counted from 1970-01-01 (UTC)."""

    points: int
    matches: int
    wins: int
    losses: int
    day: int
    bot_points: int


class Ended(NamedTuple):
    """A match that waits to be counted: its last event's time, and the lobby's summary."""

    match_id: UUID
    ended_at: datetime
    summary: bytes


class SeatStanding(NamedTuple):
    """What a match came to for one seat. A bot has no `player`, and no numbers."""

    match_id: UUID
    seat: int
    ended_at: datetime
    series_id: UUID | None
    player: str | None
    won: bool
    lost: bool
    after: PlayerNumbers | None


class SeriesSeat(NamedTuple):
    """What a series has come to for one seat."""

    seat: int
    matches: int
    wins: int
    losses: int


class RatingKey(NamedTuple):
    """Where a list of ratings goes on: after the player with these."""

    points: int
    player: str


class StandingsTurn:
    """The standings during a turn: what waits, and what to add."""

    def __init__(self, connection: Pooled) -> None:
        self._connection = connection

    async def waiting(self, until: datetime, limit: int) -> list[Ended]:
        """The next matches to be counted, of those that ended by then, in order.

        Where one of them comes before what is counted, that is taken back first.
        """
        waiting = await self._fetch_waiting(until, limit)
        if waiting and await self._take_back(waiting[0]):
            waiting = await self._fetch_waiting(until, limit)
        return waiting

    async def ratings(self, players: Collection[str]) -> dict[str, PlayerNumbers]:
        """The numbers of those players who have any."""
        rows = await self._connection.fetch(_RATINGS, list(players))
        return {row["player"]: PlayerNumbers(*tuple(row)[1:]) for row in rows}

    async def add(self, ended: Sequence[Ended], seats: Sequence[SeatStanding]) -> None:
        """Add what these matches came to, in order; one without seats is counted as nothing."""
        rows = [(*seat[:-1], *(seat.after or (0,) * len(PlayerNumbers._fields))) for seat in seats]
        if rows:
            await self._connection.execute(_ADD, *_columns(rows))
        last = {seat.player: seat.after for seat in seats if seat.player is not None}
        rates = [(player, *after) for player, after in sorted(last.items()) if after is not None]
        if rates:
            await self._connection.execute(_RATE, *_columns(rates))
        await self._connection.execute(_COUNTED, [match.match_id for match in ended])

    async def _fetch_waiting(self, until: datetime, limit: int) -> list[Ended]:
        return [Ended(*row) for row in await self._connection.fetch(_WAITING, until, limit)]

    async def _take_back(self, first: Ended) -> bool:
        """Take back what was counted from a match on; whether there was anything."""
        rows = await self._connection.fetch(_TAKE_BACK, first.ended_at, first.match_id)
        players = [row["player"] for row in rows]
        await self._connection.execute(_FORGET, players)
        await self._connection.execute(_RESTORE, players)
        return bool(rows)


class Standings:
    """Series and ratings as the turns have left them. Reached as `EventStore.standings`."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool = pool
        self._limits = limits

    async def take_turn(
        self, work: Callable[[StandingsTurn], Awaitable[Result]], *, wait: bool = False
    ) -> Result | None:
        """Do the work of a turn in one transaction; None where another process has its turn.

        With `wait` it is waited for. What the work raises undoes it. Raises StoreUnavailable.
        """
        lock = "pg_advisory_xact_lock($1) IS NOT NULL" if wait else "pg_try_advisory_xact_lock($1)"

        async def attempt() -> Result | None:
            async with self._pool.acquire() as connection, connection.transaction():
                if not await connection.fetchval(f"SELECT {lock}", TURN_KEY):
                    return None
                return await work(StandingsTurn(connection))

        return await patiently(0.0, attempt)

    async def empty(self) -> None:
        """Forget all standings: everything waits to be counted again."""

        async def work(turn: StandingsTurn) -> None:
            connection = turn._connection  # noqa: SLF001 - the same module
            await connection.execute("SET LOCAL statement_timeout = 0")
            await connection.execute("DELETE FROM standings")
            await connection.execute("DELETE FROM ratings")
            await connection.execute("UPDATE matches SET counted = false WHERE counted")

        await self.take_turn(work, wait=True)

    async def rating(self, player: str) -> PlayerNumbers | None:
        """A player's numbers; None where none of their matches was counted."""
        rows = await self._fetch(_RATINGS, [player])
        return PlayerNumbers(*tuple(rows[0])[1:]) if rows else None

    async def ratings(
        self, *, after: RatingKey | None = None, limit: int
    ) -> list[tuple[str, PlayerNumbers]]:
        """A page of all players, the most points first."""
        key = after or RatingKey(2**31 - 1, "")
        rows = await self._fetch(_PAGE, *key, limit)
        return [(row["player"], PlayerNumbers(*tuple(row)[1:])) for row in rows]

    async def series(self, series_id: UUID) -> list[SeriesSeat]:
        """The seats of a series; none where no match of it was counted."""
        return [SeriesSeat(*row) for row in await self._fetch(_SERIES, series_id)]

    async def _fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        return await patiently(self._limits.patience_s, lambda: self._pool.fetch(query, *arguments))


def _columns(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
