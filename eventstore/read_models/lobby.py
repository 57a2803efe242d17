"""The lobby: lists of all matches and of a player's matches, newest first.

Appends write the rows in their own statement; see `log.append`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from eventstore.model import BEFORE_FIRST_PAGE, LobbyRow, PageKey
from eventstore.postgres.advisory_locks import lock_lobby
from eventstore.postgres.pool import Pool

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection

_ALL = """
SELECT match_id, status, opened_at, version, summary, opened_by FROM matches
WHERE (opened_at, match_id) < ($1, $2) ORDER BY opened_at DESC, match_id DESC LIMIT $3
"""

# One index scan for each status. None is longer than the page.
_BY_STATUS = """
SELECT m.* FROM unnest($4::smallint[]) AS wanted (status) CROSS JOIN LATERAL (
    SELECT match_id, status, opened_at, version, summary, opened_by FROM matches
    WHERE status = wanted.status AND (opened_at, match_id) < ($1, $2)
    ORDER BY opened_at DESC, match_id DESC LIMIT $3
) AS m ORDER BY m.opened_at DESC, m.match_id DESC LIMIT $3
"""

READ_OPENED = """
SELECT m.* FROM unnest($4::smallint[]) AS wanted (status) CROSS JOIN LATERAL (
    SELECT match_id, status, opened_at, version, summary, opened_by FROM matches
    WHERE opened_by = $5 AND status = wanted.status AND (opened_at, match_id) < ($1, $2)
    ORDER BY opened_at DESC, match_id DESC LIMIT $3
) AS m ORDER BY m.opened_at DESC, m.match_id DESC LIMIT $3
"""

_BY_PLAYER = """
SELECT match_id, m.status, m.opened_at, m.version, m.summary, m.opened_by
FROM match_players p JOIN matches m USING (match_id)
WHERE p.player = $4 AND (p.opened_at, match_id) < ($1, $2)
    AND ($5::smallint[] IS NULL OR m.status = ANY ($5))
    AND ($6::text IS NULL OR m.opened_by = $6)
ORDER BY p.opened_at DESC, match_id DESC LIMIT $3
"""

_NEWEST = """
SELECT match_id, version FROM matches WHERE status = $1
ORDER BY opened_at DESC, match_id DESC LIMIT $2
"""
_ROWS = """
SELECT match_id, status, opened_at, version, summary, opened_by FROM matches
WHERE match_id = ANY ($1::uuid[])
"""

COUNT_OPENED = """
SELECT count(*) FROM (
    SELECT FROM matches
    WHERE opened_by = $1 AND status = $2 AND ended_at IS NULL
    LIMIT $3
) AS opened
"""

READ_SEATED = "SELECT match_id FROM match_players WHERE player = $1 AND NOT is_over LIMIT $2"

_PUT = """
INSERT INTO matches (match_id, version, status, opened_at, summary, ended_at, opened_by,
    played_free)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (match_id) DO UPDATE
SET version = excluded.version, status = excluded.status, opened_at = excluded.opened_at,
    summary = excluded.summary, ended_at = excluded.ended_at, played_free = excluded.played_free,
    opened_by = coalesce(matches.opened_by, excluded.opened_by)
WHERE matches.version <= excluded.version
RETURNING 1
"""
_VACATE = "DELETE FROM match_players WHERE match_id = $1 AND player <> ALL ($2)"
_SEAT = """
INSERT INTO match_players (match_id, player, opened_at, prevented_at, is_over)
SELECT $1, name, $3, CASE WHEN name = ANY ($4) THEN $5::timestamptz END, $5 IS NOT NULL
FROM unnest($2::text[]) AS players (name)
ON CONFLICT (match_id, player) DO UPDATE
SET prevented_at = excluded.prevented_at, is_over = excluded.is_over
WHERE excluded.is_over
"""
_PREVENTED = """
SELECT prevented_at FROM match_players
WHERE player = $1 AND prevented_at > $2
ORDER BY prevented_at DESC LIMIT 1 OFFSET $3
"""


class ListedMatch(NamedTuple):
    """One row of a list of matches.

    `version` is that of the event that last changed the row. `opened_by` is the player who opened
    the match, None if unknown.
    """

    match_id: UUID
    status: int
    opened_at: datetime
    version: int
    summary: bytes
    opened_by: str | None


class Lobby:
    """Lists and counts matches. Use it as `EventStore.lobby`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def list_matches(
        self,
        *,
        statuses: Collection[int] | None = None,
        player: str | None = None,
        opened_by: str | None = None,
        after: PageKey | None = None,
        limit: int,
    ) -> list[ListedMatch]:
        """Return a page of matches, newest first.

        `statuses`, `player` (a seated player) and `opened_by` restrict the list. A list by the
        opener alone needs `statuses`. `after` is the last row of the page before.
        """
        page = (*(after or BEFORE_FIRST_PAGE), limit)
        if player is not None:
            wanted = None if statuses is None else sorted(statuses)
            rows = await self._pool.fetch(_BY_PLAYER, *page, player, wanted, opened_by)
        elif opened_by is not None:
            wanted = sorted(set(statuses or ()))
            rows = await self._pool.fetch(READ_OPENED, *page, wanted, opened_by)
        elif statuses is not None:
            rows = await self._pool.fetch(_BY_STATUS, *page, sorted(set(statuses)))
        else:
            rows = await self._pool.fetch(_ALL, *page)
        return [ListedMatch(*row) for row in rows]

    async def read_newest(self, status: int, *, limit: int) -> dict[UUID, int]:
        """Return the newest matches of a status, newest first, with the versions of their rows."""
        rows = await self._pool.fetch(_NEWEST, status, limit)
        return {row["match_id"]: row["version"] for row in rows}

    async def read_rows(self, match_ids: Collection[UUID]) -> list[ListedMatch]:
        """Return the rows of these matches, in any order."""
        return [ListedMatch(*row) for row in await self._pool.fetch(_ROWS, list(match_ids))]

    async def count_opened(self, opened_by: str, *, status: int, limit: int) -> int:
        """Return how many matches of a status a player has opened, at most `limit`.

        Ended matches do not count.
        """
        [row] = await self._pool.fetch(COUNT_OPENED, opened_by, status, limit)
        return int(row["count"])

    async def read_seated(self, player: str, *, limit: int) -> list[UUID]:
        """Return the matches that have not ended where a player has a seat, at most `limit`."""
        return [row["match_id"] for row in await self._pool.fetch(READ_SEATED, player, limit)]

    async def read_prevented(self, player: str, *, since: datetime, rank: int) -> datetime | None:
        """Return when a player prevented the deal of a match: the `rank`-th newest time, from 1.

        Only times after `since` count. Returns None if there are fewer.
        """
        row = await self._pool.fetch_first(_PREVENTED, player, since, rank - 1)
        return None if row is None else row["prevented_at"]

    async def put_rows(self, rows: Sequence[tuple[UUID, int, LobbyRow]]) -> None:
        """Write rows (match id, version, row) of a rebuild, except over newer rows."""

        async def put(connection: PooledConnection) -> None:
            await lock_lobby(connection)
            for match_id, version, row in sorted(rows, key=lambda row: row[0].int):
                await _put(connection, match_id, version, row)

        await self._pool.transact(put)


async def _put(connection: PooledConnection, match_id: UUID, version: int, row: LobbyRow) -> None:
    written = await connection.fetchval(
        _PUT,
        match_id,
        version,
        row.status,
        row.opened_at,
        row.summary,
        row.ended_at,
        row.opened_by,
        row.played_free,
    )
    if written is not None:
        players = list(row.players)
        await connection.execute(_VACATE, match_id, players)
        prevented_by = list(row.prevented_by)
        await connection.execute(
            _SEAT, match_id, players, row.opened_at, prevented_by, row.ended_at
        )
