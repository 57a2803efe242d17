"""Whether a seat that left a match was losing it, for the count of such leavings."""

from collections.abc import Iterable
from typing import Final

from domain.endgame.conversion import position_from_match
from domain.endgame.solver import Value, solve
from domain.match.fold import Match
from durak.v1.events_pb2 import Record

BUDGET: Final = 20_000
"""The number of positions that the solver visits at most."""


def left_losing(records: Iterable[Record]) -> bool:
    """Return whether a player left this match in a lost position (see `is_losing`).

    ``records`` are all records of the match. Raises CorruptLogError.
    """
    match = Match()
    for record in records:
        if record.event.HasField("left"):
            return is_losing(match, record.event.left.seat)
        match.apply(record)
    return False


def is_losing(match: Match, seat: int) -> bool:
    """Return whether a seat in play is losing. Never while there are cards in the stock.

    With two seats, it loses if the other one can force it (R14.4). Otherwise, and where this is not
    proven, it loses if it has more cards than all other seats together: the cards on the table
    count for a defender who takes.
    """
    if match.stock:
        return False
    if match.in_play.bit_count() == 2 and not match.table.tricky:
        attacked = match.unbeaten > 0 and not match.taking
        mover = match.defender if attacked else match.attacker
        solution = solve(position_from_match(match, mover), budget=BUDGET)
        if solution.exact:
            return solution.value is (Value.LOSS if mover == seat else Value.WIN)
    cards = [hand.bit_count() for hand in match.hands]
    if match.taking:
        cards[match.defender] += match.on_table.bit_count()
    return 2 * cards[seat] > sum(cards)
