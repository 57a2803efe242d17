"""News: rows that say which streams concern a player, numbered by player in the order of commits.

They are written in the transaction of the records that they point to. The numbers of a player rise
with the commits, because the row of the player in `player_news_heads` stays locked until the end of
the transaction. Those rows are locked in the order of players, and after all other rows of the
transaction (accounts, streams), so that transactions cannot deadlock.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection


class NewsKind(IntEnum):
    """The kind of a row of news."""

    MATCH = 1
    """The match concerns the player from this version on."""
    INVITATION = 2
    """The player is invited to the match."""
    DISPUTE = 3
    """The dispute, about a match of the player, has this version."""
    RATING = 4
    """The standings count the match, or count it again."""


class News(NamedTuple):
    """One row to write: the player, and the stream and version that concern them."""

    kind: NewsKind
    source_id: UUID
    version: int
    player: str


WRITE_NEWS: Final = """, numbered AS (
    INSERT INTO player_news_heads AS h (player, number)
    SELECT player, count(*) FROM concerned GROUP BY player ORDER BY player COLLATE "C"
    ON CONFLICT (player) DO UPDATE SET number = h.number + excluded.number
    RETURNING player, number
), announced AS (
    INSERT INTO player_news (player, number, kind, source_id, version)
    SELECT c.player, h.number + 1 - row_number() OVER (PARTITION BY c.player ORDER BY c.at DESC),
        c.kind, c.source_id, c.version
    FROM concerned c JOIN numbered h ON h.player = c.player COLLATE "C"
)"""
"""The rest of a WITH clause. `concerned` has the rows to write, in the order of its column `at`."""

_WRITE = f"""
WITH concerned AS (
    SELECT * FROM unnest($1::smallint[], $2::uuid[], $3::integer[], $4::text[])
        WITH ORDINALITY AS c (kind, source_id, version, player, at)
){WRITE_NEWS}
SELECT 1
"""  # noqa: S608 - a constant


def news_columns(rows: Sequence[News]) -> list[list[object]]:
    """Return the rows as arrays: kinds, sources, versions, players."""
    return [[row[column] for row in rows] for column in range(len(News._fields))]


async def write_news(connection: PooledConnection, rows: Sequence[News]) -> None:
    """Write rows of news inside a transaction of the caller. It must be its last statement."""
    if rows:
        await connection.execute(_WRITE, *news_columns(rows))
