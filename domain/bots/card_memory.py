"""Tracks which cards a seat knows, and where they are (R14.1, R14.4).

The memory folds only the events shown to that seat. It keeps every card that was ever open: cards
on the table, in the discard pile, taken into a hand, and the trump card. All other cards are
unseen: they are in other hands or in the stock.
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
    """The cards of a match as one seat knows them. Lists are indexed by seat.

    Attributes:
        seat: the seat that remembers.
        deck: all cards of the deck.
        trump_card: the card that showed the trump suit.
        known: the cards that are certainly in each hand. For the own seat these are all its cards.
        hand_sizes: the number of cards in each hand, known or not.
        stock_count: the number of cards in the stock.
        on_table: the cards on the table.
        discarded: the cards in the discard pile.
        unbeaten: the attack cards on the table that are not beaten.
        missing: the cards that each hand probably does not hold: the seat took, or spent a trump,
            where any of them would have beaten. This applies to the hidden cards held then.
        drawn_since: the number of hidden cards that each seat may have drawn since then.
    """

    seat: int
    deck: CardMask
    trump_card: Card
    known: list[CardMask]
    hand_sizes: list[int]
    stock_count: int
    on_table: CardMask = 0
    discarded: CardMask = 0
    unbeaten: CardMask = 0
    missing: list[CardMask] = field(init=False)
    drawn_since: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.missing = [0] * len(self.hand_sizes)
        self.drawn_since = [0] * len(self.hand_sizes)

    @property
    def under_stock(self) -> CardMask:
        """The trump card while it lies under the stock, else no card (R3.2)."""
        return BIT_OF[self.trump_card] if self.stock_count else 0

    @property
    def unseen(self) -> CardMask:
        """The cards that may be in any other hand, or in the stock above the trump card."""
        seen = self.on_table | self.discarded | self.under_stock
        for cards in self.known:
            seen |= cards
        return self.deck & ~seen

    def hidden_count(self, seat: int) -> int:
        """Return the number of unknown cards in a hand."""
        return self.hand_sizes[seat] - self.known[seat].bit_count()

    def apply(self, event: Event) -> None:
        """Fold one event after the deal."""
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
                self._infer_missing(event.take_declared.seat, self.unbeaten)
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
        self.hand_sizes[seat] -= 1
        self.drawn_since[seat] = min(self.drawn_since[seat], self.hidden_count(seat))
        self.on_table |= BIT_OF[card]

    def _defend(self, defended: Defended) -> None:
        self._play(defended.seat, defended.card)
        attack = BIT_OF[defended.attack_card]
        self.unbeaten &= ~attack
        if SUIT_OF[defended.card] != SUIT_OF[defended.attack_card]:
            self._infer_missing(defended.seat, attack)

    def _infer_missing(self, seat: int, unbeaten: CardMask) -> None:
        """Note that a seat probably has no higher cards in the suit of a single unbeaten card."""
        if unbeaten.bit_count() == 1:
            card = next(cards_in(unbeaten))
            self.missing[seat] |= BEATERS[SUIT_OF[card]][card]
            self.drawn_since[seat] = 0

    def _take(self, seat: int) -> None:
        self.known[seat] |= self.on_table
        self.hand_sizes[seat] += self.on_table.bit_count()
        self.on_table = self.unbeaten = 0

    def _draw(self, seat: int, cards: Sequence[Card]) -> None:
        self.known[seat] |= mask_of(card for card in cards if card != NO_CARD)
        self.hand_sizes[seat] += len(cards)
        self.drawn_since[seat] = min(self.drawn_since[seat] + len(cards), self.hidden_count(seat))
        self.stock_count -= len(cards)


def remember_cards(history: Sequence[Event], seat: int) -> CardMemory:
    """Return what ``seat`` knows after all events shown to it since the start of the match.

    Raises ValueError if the cards are not dealt yet.
    """
    deck: CardMask = 0
    for number, event in enumerate(history):
        kind = event.WhichOneof("kind")
        if kind == "table_opened":
            deck = mask_of(deck_cards(event.table_opened.settings.deck))
        elif kind == "dealt":
            memory = _memory_of_deal(event.dealt, seat, deck)
            for later in history[number + 1 :]:
                memory.apply(later)
            return memory
    raise ValueError("the cards are not dealt yet")


def _memory_of_deal(event: Dealt, seat: int, deck: CardMask) -> CardMemory:
    """Return the memory after the deal. Without a stock the trump card is in a hand (R3.3)."""
    return CardMemory(
        seat=seat,
        deck=deck,
        trump_card=event.trump_card,
        known=[mask_of(card for card in hand.cards if card != NO_CARD) for hand in event.hands],
        hand_sizes=[len(hand.cards) for hand in event.hands],
        stock_count=len(event.stock),
    )
