"""The running bout as a seat sees it, packed by strength."""

from dataclasses import dataclass

from domain.bots.strength import BEATS, MATES, PLAIN, TRUMPS, Packed, pack_all
from durak.v1.table_pb2 import TableView


@dataclass(frozen=True, slots=True)
class Sight:
    """The own hand and the table.

    ``trump_suit`` is 0 to 3 as in `domain.cards`, ``stock`` the number of cards in the stock.
    ``ranks`` are all cards of a rank that lies on the table, ``weak`` what the defender seems to
    have nothing plain against: who spends a trump on a plain card probably has no higher card of
    its suit.
    """

    trump_suit: int
    stock: int
    hand: Packed
    unbeaten: list[Packed]
    table: Packed
    ranks: Packed
    weak: Packed


def look(view: TableView) -> Sight:
    """What the view shows of hand and table."""
    trump_suit = view.trump_suit - 1
    table = ranks = weak = 0
    unbeaten = []
    for pair in view.table:
        attack = pack_all([pair.attack_card], trump_suit)
        table |= attack
        ranks |= MATES[attack]
        if not pair.defence_card:
            unbeaten.append(attack)
            continue
        defence = pack_all([pair.defence_card], trump_suit)
        table |= defence
        ranks |= MATES[defence]
        if defence & TRUMPS:
            weak |= BEATS[attack] & PLAIN
    return Sight(
        trump_suit=trump_suit,
        stock=view.stock_count,
        hand=pack_all(view.hand, trump_suit),
        unbeaten=unbeaten,
        table=table,
        ranks=ranks,
        weak=weak,
    )
