"""What a seat has seen: which cards it knows to be where (R14.1, R14.4).

Folded from the events shown to that seat and nothing else. Whatever was ever open is remembered:
the table, the discard pile, cards that somebody took, the card that showed the trumps. What is left
is unseen: it lies in other hands or in the stock.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.cards import BIT_OF, NO_CARD, Card, CardMask, deck_cards, mask_of
from durak.v1.events_pb2 import Dealt, Event


@dataclass(slots=True)
class Memory:
    """The cards of a match as one seat knows them; lists are by seat.

    ``known`` are the cards that are certainly in a hand (for the own seat that is all of them),
    ``counts`` how many cards a hand holds, known or not.
    """

    seat: int
    deck: CardMask
    trump_card: Card
    known: list[CardMask]
    counts: list[int]
    stock_count: int
    on_table: CardMask = 0
    discarded: CardMask = 0

    @property
    def under_stock(self) -> CardMask:
        """The card that showed the trumps, while it lies under the stock (R3.2)."""
        return BIT_OF[self.trump_card] if self.stock_count else 0

    @property
    def unseen(self) -> CardMask:
        """The cards that may be in any other hand, or in the stock above the trump card."""
        seen = self.on_table | self.discarded | self.under_stock
        for cards in self.known:
            seen |= cards
        return self.deck & ~seen

    def hidden(self, seat: int) -> int:
        """How many cards of a hand are not known."""
        return self.counts[seat] - self.known[seat].bit_count()

    def see(self, event: Event) -> None:
        """Fold one event that comes after the deal."""
        match event.WhichOneof("kind"):
            case "attacked":
                self._play(event.attacked.seat, event.attacked.card)
            case "defended":
                self._play(event.defended.seat, event.defended.card)
            case "transferred":
                self._play(event.transferred.seat, event.transferred.card)
            case "took":
                self._take(event.took.seat)
            case "discarded":
                self.discarded |= self.on_table
                self.on_table = 0
            case "drew":
                for draw in event.drew.draws:
                    self._draw(draw.seat, draw.cards)

    def _play(self, seat: int, card: Card) -> None:
        self.known[seat] &= ~BIT_OF[card]
        self.counts[seat] -= 1
        self.on_table |= BIT_OF[card]

    def _take(self, seat: int) -> None:
        self.known[seat] |= self.on_table
        self.counts[seat] += self.on_table.bit_count()
        self.on_table = 0

    def _draw(self, seat: int, cards: Sequence[Card]) -> None:
        self.known[seat] |= mask_of(card for card in cards if card != NO_CARD)
        self.counts[seat] += len(cards)
        self.stock_count -= len(cards)


def remember(history: Sequence[Event], seat: int) -> Memory:
    """What ``seat`` knows after the events that it was shown, from the first of the match on.

    Raises `ValueError` where nothing was dealt yet.
    """
    deck: CardMask = 0
    for number, event in enumerate(history):
        kind = event.WhichOneof("kind")
        if kind == "table_opened":
            deck = mask_of(deck_cards(event.table_opened.settings.deck))
        elif kind == "dealt":
            memory = _dealt(event.dealt, seat, deck)
            for later in history[number + 1 :]:
                memory.see(later)
            return memory
    raise ValueError("nothing was dealt yet")


def _dealt(event: Dealt, seat: int, deck: CardMask) -> Memory:
    """What is seen of the deal. Where it used up the deck, the trump card is in a hand (R3.3)."""
    return Memory(
        seat=seat,
        deck=deck,
        trump_card=event.trump_card,
        known=[mask_of(card for card in hand.cards if card != NO_CARD) for hand in event.hands],
        counts=[len(hand.cards) for hand in event.hands],
        stock_count=len(event.stock),
    )
