"""The running bout as a seat sees it, packed by strength."""

from dataclasses import dataclass

from domain.bots.strength import MATES, Packed, pack_all, singles
from durak.v1.table_pb2 import TableView


@dataclass(frozen=True, slots=True)
class Sight:
    """The own hand and the table; ``ranks`` are all cards of a rank that lies on the table.

    ``trump_suit`` is 0 to 3 as in `domain.cards`, ``stock`` the number of cards in the stock.
    """

    trump_suit: int
    stock: int
    hand: Packed
    unbeaten: list[Packed]
    table: Packed
    ranks: Packed

    @property
    def led(self) -> Packed:
        """A card of the rank that was led, where nothing is beaten yet."""
        return self.unbeaten[0]


def look(view: TableView) -> Sight:
    """What the view shows of hand and table."""
    trump_suit = view.trump_suit - 1
    attacks = [card.attack_card for card in view.table]
    defences = [card.defence_card for card in view.table if card.defence_card]
    table = pack_all([*attacks, *defences], trump_suit)
    ranks = 0
    for card in singles(table):
        ranks |= MATES[card]
    return Sight(
        trump_suit=trump_suit,
        stock=view.stock_count,
        hand=pack_all(view.hand, trump_suit),
        unbeaten=[
            pack_all([card.attack_card], trump_suit) for card in view.table if not card.defence_card
        ],
        table=table,
        ranks=ranks,
    )
