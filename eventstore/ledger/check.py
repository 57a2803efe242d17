"""The check of the whole ledger: every coin that was issued is where it should be (R12.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from eventstore.ledger.transfers import EFFECTS, TransferKind

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection

_TOTALS = """
SELECT
    (SELECT coalesce(sum(coins), 0) FROM transfers WHERE kind = $1)::bigint AS issued,
    (SELECT coalesce(sum(available_coins), 0) FROM accounts)::bigint AS available,
    (SELECT coalesce(sum(escrow_coins), 0) FROM accounts)::bigint AS escrow
"""
_WRONG_ACCOUNTS = """
SELECT player FROM accounts a FULL JOIN (
    SELECT player, sum(coins * effect.available) AS available, sum(coins * effect.escrow) AS escrow,
        count(*) AS transfers
    FROM transfers
        JOIN unnest($1::smallint[], $2::smallint[], $3::smallint[])
            AS effect (kind, available, escrow) USING (kind)
    GROUP BY player
) t USING (player)
WHERE a.available_coins IS DISTINCT FROM coalesce(t.available, 0)
    OR a.escrow_coins IS DISTINCT FROM coalesce(t.escrow, 0)
    OR a.transfers IS DISTINCT FROM coalesce(t.transfers, 0)
ORDER BY player LIMIT 100
"""
_WRONG_MATCHES = """
SELECT source_id FROM transfers
    JOIN unnest($1::smallint[], $2::smallint[]) AS effect (kind, pot) USING (kind)
GROUP BY source_id HAVING sum(coins * effect.pot) <> 0 ORDER BY source_id LIMIT 100
"""


class LedgerCheck(NamedTuple):
    """The result of a check at one moment. Each list has at most 100 elements."""

    issued: int
    available: int
    escrow: int
    wrong_accounts: list[str]
    """Players whose balances are not the sum of their transfers."""
    wrong_matches: list[UUID]
    """Matches whose bank did not pay out exactly the posted coins, and disputes whose corrections
    do not sum to zero."""

    @property
    def holds(self) -> bool:
        """Whether all coins ever issued are where they should be."""
        is_whole = self.issued == self.available + self.escrow
        return is_whole and not self.wrong_accounts and not self.wrong_matches


async def check_ledger(connection: PooledConnection) -> LedgerCheck:
    """Compute all sums from the transfers. Call it in a transaction with one snapshot."""
    effects = list(EFFECTS.values())
    pots = {kind: effect.pot for kind, effect in EFFECTS.items() if effect.pot}
    totals = await connection.fetchrow(_TOTALS, TransferKind.ISSUE)
    assert totals is not None, "the query always returns one row"
    wrong_accounts = await connection.fetch(
        _WRONG_ACCOUNTS,
        list(EFFECTS),
        [effect.available for effect in effects],
        [effect.escrow for effect in effects],
    )
    wrong_matches = await connection.fetch(_WRONG_MATCHES, list(pots), list(pots.values()))
    return LedgerCheck(
        totals["issued"],
        totals["available"],
        totals["escrow"],
        [row["player"] for row in wrong_accounts],
        [row["source_id"] for row in wrong_matches],
    )
