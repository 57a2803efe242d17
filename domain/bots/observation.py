"""The current bout as a seat sees it, in packed cards."""

from dataclasses import dataclass

from domain.bots.packed_cards import BEATERS_OF, PLAIN, SAME_RANK, TRUMPS, Packed, pack_cards
from durak.v1.table_pb2 import TableView


@dataclass(frozen=True, slots=True)
class Observation:
    """The seat's own hand and the table.

    Attributes:
        trump_suit: 0 to 3, as in `domain.cards`.
        stock: the number of cards in the stock.
        in_play: the number of seats in play.
        hand: the seat's own cards.
        unbeaten: the attack cards that are not beaten.
        table: all cards on the table.
        ranks: all cards of the ranks on the table.
        weak: the plain cards that the defender probably cannot beat with a plain card. A defender
            who spends a trump on a plain card probably has no higher card of that suit.
    """

    trump_suit: int
    stock: int
    in_play: int
    hand: Packed
    unbeaten: list[Packed]
    table: Packed
    ranks: Packed
    weak: Packed


def observe(view: TableView) -> Observation:
    """Return the hand and the table of a player's view."""
    trump_suit = view.trump_suit - 1
    table = ranks = weak = 0
    unbeaten = []
    for pair in view.table:
        attack = pack_cards([pair.attack_card], trump_suit)
        table |= attack
        ranks |= SAME_RANK[attack]
        if not pair.defence.card:
            unbeaten.append(attack)
            continue
        defence = pack_cards([pair.defence.card], trump_suit)
        table |= defence
        ranks |= SAME_RANK[defence]
        if defence & TRUMPS:
            weak |= BEATERS_OF[attack] & PLAIN
    return Observation(
        trump_suit=trump_suit,
        stock=view.stock_count,
        in_play=sum(not seat.place for seat in view.seats),
        hand=pack_cards(view.hand, trump_suit),
        unbeaten=unbeaten,
        table=table,
        ranks=ranks,
        weak=weak,
    )
