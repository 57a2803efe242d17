"""What a seat has seen: which cards it knows to be where (R14.1, R14.4).

Folded from the events shown to that seat and nothing else. Whatever was ever open is remembered:
the table, the discard pile, cards that somebody took, the card that showed the trumps. What is left
is unseen: it lies in other hands or in the stock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.cards import (
    BEATERS,
    BIT_OF,
    NO_CARD,
    SUIT_OF,
    Card,
    CardMask,
    cards_in,
    deck_cards,
    mask_of,
)
from durak.v1.events_pb2 import Dealt, Defended, Event


@dataclass(slots=True)
class CardMemory:
    """The cards of a match as one seat knows them; lists are by seat.

    ``known`` are the cards that are certainly in a hand (for the own seat that is all of them),
    ``counts`` how many cards a hand holds, known or not. ``missing`` are cards that a hand seems
    not to hold: it spent a trump or took, where each of them would have beaten. That is said of
    the hidden cards that it held then, not of the ``fresh`` ones that it may have drawn since.
    """

    seat: int
    deck: CardMask
    trump_card: Card
    known: list[CardMask]
    counts: list[int]
    stock_count: int
    on_table: CardMask = 0
    discarded: CardMask = 0
    unbeaten: CardMask = 0
    missing: list[CardMask] = field(init=False)
    fresh: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Nothing is suspected of any hand."""
        self.missing = [0] * len(self.counts)
        self.fresh = [0] * len(self.counts)

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
                self.unbeaten |= BIT_OF[event.attacked.card]
            case "defended":
                self._defend(event.defended)
            case "transferred":
                self._play(event.transferred.seat, event.transferred.card)
                self.unbeaten |= BIT_OF[event.transferred.card]
            case "take_declared":
                self._suspect(event.take_declared.seat, self.unbeaten)
            case "took":
                self._take(event.took.seat)
            case "discarded":
                self.discarded |= self.on_table
                self.on_table = self.unbeaten = 0
            case "drew":
                for draw in event.drew.draws:
                    self._draw(draw.seat, draw.cards)

    def _play(self, seat: int, card: Card) -> None:
        self.known[seat] &= ~BIT_OF[card]
        self.counts[seat] -= 1
        self.fresh[seat] = min(self.fresh[seat], self.hidden(seat))
        self.on_table |= BIT_OF[card]

    def _defend(self, defended: Defended) -> None:
        self._play(defended.seat, defended.card)
        attack = BIT_OF[defended.attack_card]
        self.unbeaten &= ~attack
        if SUIT_OF[defended.card] != SUIT_OF[defended.attack_card]:
            self._suspect(defended.seat, attack)

    def _suspect(self, seat: int, unbeaten: CardMask) -> None:
        """Whoever leaves the only card that is unbeaten seems to hold nothing of its suit above."""
        if unbeaten.bit_count() == 1:
            card = next(cards_in(unbeaten))
            self.missing[seat] |= BEATERS[SUIT_OF[card]][card]
            self.fresh[seat] = 0

    def _take(self, seat: int) -> None:
        self.known[seat] |= self.on_table
        self.counts[seat] += self.on_table.bit_count()
        self.on_table = self.unbeaten = 0

    def _draw(self, seat: int, cards: Sequence[Card]) -> None:
        self.known[seat] |= mask_of(card for card in cards if card != NO_CARD)
        self.counts[seat] += len(cards)
        self.fresh[seat] = min(self.fresh[seat] + len(cards), self.hidden(seat))
        self.stock_count -= len(cards)


def remember_cards(history: Sequence[Event], seat: int) -> CardMemory:
    """What ``seat`` knows after the events that it was shown, from the first of the match on.

    Raises `ValueError` where nothing was dealt yet.
    """
    deck: CardMask = 0
    for number, event in enumerate(history):
        kind = event.WhichOneof("kind")
        if kind == "table_opened":
            deck = mask_of(deck_cards(event.table_opened.settings.deck))
        elif kind == "dealt":
            memory = _memory_of_deal(event.dealt, seat, deck)
            for later in history[number + 1 :]:
                memory.see(later)
            return memory
    raise ValueError("nothing was dealt yet")


def _memory_of_deal(event: Dealt, seat: int, deck: CardMask) -> CardMemory:
    """What is seen of the deal. Where it used up the deck, the trump card is in a hand (R3.3)."""
    return CardMemory(
        seat=seat,
        deck=deck,
        trump_card=event.trump_card,
        known=[mask_of(card for card in hand.cards if card != NO_CARD) for hand in event.hands],
        counts=[len(hand.cards) for hand in event.hands],
        stock_count=len(event.stock),
    )
