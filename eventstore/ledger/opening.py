"""Opening balances: their grants, and the rule that guards their coins (R12.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid5

from eventstore.errors import OpeningCoinsLocked
from eventstore.ledger.books import Books, CoinMove, TakeStake

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection

OPENING_NAMESPACE: Final = UUID("6f70656e-696e-5067-8062-616c616e6365")
"""The namespace of the grant ids of opening balances, one for each player."""

# The oldest matches come first: a player who stakes has usually played the free matches before.
_PLAYED = """
SELECT count(*) FROM (
    SELECT FROM match_players p JOIN matches m USING (match_id)
    WHERE p.player = $1 AND m.played_free ORDER BY p.opened_at, p.match_id LIMIT $2
) AS played
"""
_OPENING_COINS = "SELECT coins FROM transfers WHERE source_id = $1 AND version = 0"


def opening_grant_id(player: str) -> UUID:
    """Return the id of the grant that gives a player the opening balance."""
    return uuid5(OPENING_NAMESPACE, player)


async def check_opening_coins(
    connection: PooledConnection, books: Books, moves: Sequence[CoinMove]
) -> None:
    """Check that no stake in `moves`, which the books have made, uses locked opening coins.

    Raises OpeningCoinsLocked. Coins from grants and payouts are staked before opening coins.
    """
    for move in moves:
        if not isinstance(move, TakeStake) or not move.free_matches:
            continue
        played = await connection.fetchval(_PLAYED, move.player, move.free_matches)
        if played >= move.free_matches:
            continue
        locked = await connection.fetchval(_OPENING_COINS, opening_grant_id(move.player)) or 0
        rest = books.accounts[move.player].available
        if rest < locked:
            stakeable = max(0, rest + move.coins - locked)
            raise OpeningCoinsLocked(move.player, stakeable, played, move.free_matches)
