"""Opening balances: their grants, and the rule that guards their coins (R12.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID, uuid5

from eventstore.errors import OpeningCoinsLocked
from eventstore.ledger.books import Books, CoinMove, TakeStake

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection

OPENING_NAMESPACE: Final = UUID("6f70656e-696e-5067-8062-616c616e6365")
"""The namespace of the grant ids of opening balances, one for each player."""

# The oldest matches come first: a player who stakes has usually played the free matches before.
_OPENINGS = """
SELECT w.player, (
    SELECT count(*) FROM (
        SELECT FROM match_players p JOIN matches m USING (match_id)
        WHERE p.player = w.player AND m.played_free
        ORDER BY p.opened_at, p.match_id LIMIT w.free_matches
    ) AS played
), coalesce(t.coins, 0)
FROM unnest($1::text[], $2::integer[], $3::uuid[]) AS w (player, free_matches, grant_id)
LEFT JOIN transfers t ON t.source_id = w.grant_id AND t.version = 0
"""


class Opening(NamedTuple):
    """The free matches that a player has played, up to the needed number, and the opening coins."""

    played: int
    coins: int


def opening_grant_id(player: str) -> UUID:
    """Return the id of the grant that gives a player the opening balance."""
    return uuid5(OPENING_NAMESPACE, player)


async def read_openings(connection: Connection, moves: Sequence[CoinMove]) -> dict[str, Opening]:
    """Return the openings of the players whose stakes they may limit."""
    guarded = [move for move in moves if isinstance(move, TakeStake) and move.free_matches]
    if not guarded:
        return {}
    rows = await connection.fetch(
        _OPENINGS,
        [move.player for move in guarded],
        [move.free_matches for move in guarded],
        [opening_grant_id(move.player) for move in guarded],
    )
    return {player: Opening(played, coins) for player, played, coins in rows}


def check_opening_coins(
    books: Books, moves: Sequence[CoinMove], openings: Mapping[str, Opening]
) -> None:
    """Check that no stake in `moves`, which the books have made, uses locked opening coins.

    Raises OpeningCoinsLocked. Coins from grants and payouts are staked before opening coins.
    """
    for move in moves:
        if not isinstance(move, TakeStake) or not move.free_matches:
            continue
        played, locked = openings[move.player]
        if played >= move.free_matches:
            continue
        rest = books.accounts[move.player].available
        if rest < locked:
            stakeable = max(0, rest + move.coins - locked)
            raise OpeningCoinsLocked(move.player, stakeable, played, move.free_matches)
