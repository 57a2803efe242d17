"""The news of players: which streams concern them, and what the newest rows point to.

`log.news` writes the rows. A process that has stored some notifies the others by a hint, whose
stream is the id of the player (`news_stream`). As all hints, it may be lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from eventstore.log.news import NewsKind
from eventstore.postgres.pool import Pool

if TYPE_CHECKING:
    from eventstore.log.hints import Hints

_HEADS = """
SELECT p.player, coalesce(h.number, 0) AS number, coalesce(a.transfers, 0) AS transfers
FROM unnest($1::text[]) AS p (player)
LEFT JOIN player_news_heads h ON h.player = p.player COLLATE "C"
LEFT JOIN accounts a ON a.player = p.player COLLATE "C"
"""

# A rating is missing while the standings count its match again. Then another row follows.
_READ = """
SELECT n.number, n.kind, n.source_id, n.version, m.summary, e.record, d.match_id, s.points
FROM player_news n
LEFT JOIN matches m ON n.kind = 2 AND m.match_id = n.source_id
LEFT JOIN dispute_events e ON n.kind = 3 AND e.dispute_id = n.source_id AND e.version = n.version
LEFT JOIN disputes d ON n.kind = 3 AND d.dispute_id = n.source_id
LEFT JOIN standings s ON n.kind = 4 AND s.match_id = n.source_id AND s.player = n.player
WHERE n.player = $1 AND n.number > $2 ORDER BY n.number LIMIT $3
"""

# Seats, and tables that wait, have limits. So the matches of a player are among the newest rows.
_CURRENT = """
SELECT match_id FROM match_players WHERE player = $1 AND NOT is_over
UNION
SELECT m.match_id FROM (
    SELECT source_id FROM player_news WHERE player = $1 AND kind = 1
    ORDER BY number DESC LIMIT $2
) AS n JOIN matches m ON m.match_id = n.source_id AND m.ended_at IS NULL
"""
_KNOWN = """
SELECT DISTINCT source_id FROM player_news
WHERE player = $1 AND kind = 1 AND source_id = ANY ($2::uuid[])
"""
_CURRENT_ROWS: Final = 500


class NewsHead(NamedTuple):
    """The last numbers of a player: of news, and of transfers of coins. 0: no rows."""

    number: int
    transfers: int


class NewsRow(NamedTuple):
    """One row, with the parts of its source that belong to its kind."""

    number: int
    kind: NewsKind
    source_id: UUID
    version: int
    summary: bytes | None
    """Of an invitation: the row of the match in the lobby."""
    record: bytes | None
    """Of a dispute: the record of this version."""
    match_id: UUID | None
    """Of a dispute: its match."""
    points: int | None
    """Of a rating: the points after the match."""


@lru_cache(maxsize=10_000)
def news_stream(player: str) -> UUID:
    """Return the id that hints about the news of a player have in place of a stream.

    The first 16 bytes of SHA-256("durak.v1.player" ‖ player id in UTF-8).
    """
    return UUID(bytes=sha256(b"durak.v1.player" + player.encode()).digest()[:16])


class PlayerNews:
    """Reads the news of players. Use it as `EventStore.news`."""

    def __init__(self, pool: Pool, hints: Hints) -> None:
        self._pool = pool
        self._hints = hints

    def notify(self, players: Iterable[str]) -> None:
        """Send hints that these players have news or transfers. Call it after the commit."""
        for player in players:
            self._hints.add(news_stream(player), 0)

    async def read_heads(self, players: Sequence[str]) -> dict[str, NewsHead]:
        """Return the head of each player."""
        rows = await self._pool.fetch(_HEADS, players)
        return {row["player"]: NewsHead(row["number"], row["transfers"]) for row in rows}

    async def read(self, player: str, after: int, limit: int) -> list[NewsRow]:
        """Return the rows of a player after a number, in order."""
        rows = await self._pool.fetch(_READ, player, after, limit)
        return [NewsRow(*row)._replace(kind=NewsKind(row["kind"])) for row in rows]

    async def read_current(self, player: str) -> list[UUID]:
        """Return the matches that concern a player and have not ended.

        A match that no longer concerns them can be among these.
        """
        rows = await self._pool.fetch(_CURRENT, player, _CURRENT_ROWS)
        return [row["match_id"] for row in rows]

    async def have_concerned(self, player: str, match_ids: Sequence[UUID]) -> set[UUID]:
        """Return those of the matches that have ever concerned the player."""
        rows = await self._pool.fetch(_KNOWN, player, match_ids)
        return {row["source_id"] for row in rows}
