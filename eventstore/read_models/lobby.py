"""The lobby and "my matches": lists of matches, newest first, paged by the last row seen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from eventstore.model import LobbyRow, PageKey

if TYPE_CHECKING:
    from eventstore.postgres.connect import Pooled

_NEWEST = PageKey(datetime(9999, 12, 31, tzinfo=UTC), UUID(int=2**128 - 1))

_ALL = """
SELECT match_id, status, opened_at, version, summary FROM matches
WHERE (opened_at, match_id) < ($1, $2) ORDER BY opened_at DESC, match_id DESC LIMIT $3
"""

# One index scan per status, each no longer than the page.
_BY_STATUS = """
SELECT m.* FROM unnest($4::smallint[]) AS wanted (status) CROSS JOIN LATERAL (
    SELECT match_id, status, opened_at, version, summary FROM matches
    WHERE status = wanted.status AND (opened_at, match_id) < ($1, $2)
    ORDER BY opened_at DESC, match_id DESC LIMIT $3
) AS m ORDER BY m.opened_at DESC, m.match_id DESC LIMIT $3
"""

_BY_PLAYER = """
SELECT match_id, m.status, m.opened_at, m.version, m.summary
FROM match_players p JOIN matches m USING (match_id)
WHERE p.player = $4 AND (p.opened_at, match_id) < ($1, $2)
    AND ($5::smallint[] IS NULL OR m.status = ANY ($5))
ORDER BY p.opened_at DESC, match_id DESC LIMIT $3
"""

# No further than the limit, however many there are.
_COUNT_OPENED = """
SELECT count(*) FROM (
    SELECT FROM matches
    WHERE opened_by = $1 AND status = $2 AND ended_at IS NULL
    LIMIT $3
) AS opened
"""

_PUT = """
INSERT INTO matches (match_id, version, status, opened_at, summary, ended_at, opened_by)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (match_id) DO UPDATE
SET version = excluded.version, status = excluded.status, opened_at = excluded.opened_at,
    summary = excluded.summary, ended_at = excluded.ended_at,
    opened_by = coalesce(matches.opened_by, excluded.opened_by)
WHERE matches.version <= excluded.version
RETURNING 1
"""


def page_query(
    statuses: Collection[int] | None, player: str | None, after: PageKey | None, limit: int
) -> tuple[str, *tuple[object, ...]]:
    """The query of one page and its arguments."""
    opened_at, match_id = after or _NEWEST
    if player is not None:
        return (
            _BY_PLAYER,
            opened_at,
            match_id,
            limit,
            player,
            None if statuses is None else sorted(statuses),
        )
    if statuses is not None:
        return _BY_STATUS, opened_at, match_id, limit, sorted(set(statuses))
    return _ALL, opened_at, match_id, limit


def count_query(opened_by: str, status: int, limit: int) -> tuple[str, *tuple[object, ...]]:
    """The query that counts what somebody has opened, and its arguments."""
    return _COUNT_OPENED, opened_by, status, limit


async def put(connection: Pooled, rows: Sequence[tuple[UUID, int, LobbyRow]]) -> None:
    """Write rows (match id, version, row) in the caller's transaction, except over newer ones."""
    for match_id, version, row in sorted(rows, key=lambda row: row[0].int):
        written = await connection.fetchval(
            _PUT,
            match_id,
            version,
            row.status,
            row.opened_at,
            row.summary,
            row.ended_at,
            row.opened_by,
        )
        if written is None:
            continue
        players = list(row.players)
        await connection.execute(
            "DELETE FROM match_players WHERE match_id = $1 AND player <> ALL ($2)",
            match_id,
            players,
        )
        await connection.execute(
            "INSERT INTO match_players (match_id, player, opened_at) "
            "SELECT $1, unnest($2::text[]), $3 ON CONFLICT DO NOTHING",
            match_id,
            players,
            row.opened_at,
        )
