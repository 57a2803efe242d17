"""Flags: unusual numbers of results of one player or pair, computed from the standings.

The database groups and counts. One page of groups and a few match ids of each are in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from eventstore.postgres.pool import Pool

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection

EVIDENCE_MAX: Final = 20
"""The maximum number of match ids of a group: its newest cases."""

# Each query returns the matches of each group, and which of them are cases. Not each uses $9.
PAIR_LOSSES: Final = """
SELECT a.player, b.player AS other, a.match_id, a.ended_at, a.lost = 1 AS is_case, $9::integer
FROM standings a JOIN standings b ON b.match_id = a.match_id AND b.player IS NOT NULL
    AND (a.lost = 1 AND b.won = 1 OR a.won = 1 AND b.lost = 1)
WHERE a.player IS NOT NULL
"""
"""Losses of `player` to `other`, of the matches where one of them won and the other lost."""
MATCHES_LEFT: Final = """
SELECT player, '' COLLATE "C" AS other, match_id, ended_at, abandoned = 1 AS is_case, $9::integer
FROM standings WHERE player IS NOT NULL
"""
"""Matches that `player` left, of all."""
LOST_POSITIONS_LEFT: Final = MATCHES_LEFT.replace("abandoned", "left_losing")
"""Matches that `player` left in a lost position, of all."""
NEW_ACCOUNT_WINS: Final = """
SELECT a.player, '' COLLATE "C" AS other, a.match_id, a.ended_at,
    b.matches <= $9::integer AS is_case
FROM standings a JOIN standings b ON b.match_id = a.match_id AND b.player IS NOT NULL AND b.lost = 1
WHERE a.player IS NOT NULL AND a.won = 1
"""
"""Wins of `player` against a durak with at most $9 counted matches, of all wins against people."""

LOSSES_TO_ONE: Final = """
WITH losses AS (
    SELECT a.player, b.player AS winner, a.match_id, a.ended_at
    FROM standings a JOIN standings b ON b.match_id = a.match_id AND b.won = 1
    WHERE a.lost = 1 AND a.player IS NOT NULL AND b.player IS NOT NULL
        AND a.ended_at >= $1 AND a.ended_at < $2
)
SELECT losses.player, one.winner AS other, losses.match_id, losses.ended_at,
    losses.winner = one.winner AS is_case, $9::integer
FROM losses JOIN (
    SELECT player, winner FROM losses GROUP BY player, winner HAVING count(*) >= $6
) AS one USING (player)
"""
"""Losses of `player` to `other`, of all losses to people."""

_GROUPS = """
SELECT player, other, count(*) FILTER (WHERE is_case) AS cases, count(*) AS matches,
    min(ended_at) FILTER (WHERE is_case) AS first_at,
    max(ended_at) FILTER (WHERE is_case) AS last_at,
    (array_agg(match_id ORDER BY ended_at DESC, match_id) FILTER (WHERE is_case))[1:{evidence}]
        AS match_ids
FROM ({matches}) AS m
WHERE ended_at >= $1 AND ended_at < $2 AND (player, other) > ($3, $4)
    AND ($5::text IS NULL OR $5 IN (player, other))
GROUP BY player, other
HAVING count(*) FILTER (WHERE is_case) >= $6
    AND count(*) FILTER (WHERE is_case) >= $7::float8 * count(*)
ORDER BY player, other LIMIT $8
"""


@dataclass(frozen=True, slots=True)
class FlagRule:
    """The matches to count, and the thresholds from which a group is flagged.

    `share_min` is the minimum share of cases in the matches of the group.
    """

    matches: str
    cases_min: int
    share_min: float = 0.0
    new_account_matches: int = 0


class FlagRow(NamedTuple):
    """A flagged player or pair. `other` is empty unless the rule is about pairs."""

    player: str
    other: str
    cases: int
    matches: int
    first_at: datetime
    last_at: datetime
    match_ids: list[UUID]


async def list_flags(
    pool: Pool,
    rule: FlagRule,
    since: datetime,
    before: datetime,
    *,
    player: str | None,
    after: tuple[str, str],
    limit: int,
) -> list[FlagRow]:
    """Return a page of flags about matches that ended in a period, by player and other player.

    `player` restricts the list to flags that name them. `after` is the last pair of the page
    before.
    """
    query = _GROUPS.format(matches=rule.matches, evidence=EVIDENCE_MAX)

    async def work(connection: PooledConnection) -> list[FlagRow]:
        # Where the planner has no statistics yet, it expects a few rows and joins them by nested
        # loops, which take quadratic time.
        await connection.execute("SET LOCAL enable_nestloop = off")
        rows = await connection.fetch(
            query, since, before, *after, player, rule.cases_min, rule.share_min, limit,
            rule.new_account_matches,
        )  # fmt: skip
        return [FlagRow(*row) for row in rows]

    return await pool.read_snapshot(work)
