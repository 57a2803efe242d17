"""Cards as small ints and hands as bit masks (R1).

A card is its number in the contract, 1 ... 52: ``1 + 13 * suit + (rank - 2)``. A set of cards is an
int whose bit ``1 << (card - 1)`` stands for a card, so union, difference and "is it held" are
single operations.

>>> name(SIX_OF_SPADES := 1 + 13 * 3 + (6 - 2))
'6♠'
>>> [name(card) for card in cards_in(bit(SIX_OF_SPADES) | bit(1))]
['2♣', '6♠']
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias, cast

if TYPE_CHECKING:
    from durak.v1.cards_pb2 import Card as CardEnum

    Card: TypeAlias = CardEnum.ValueType
else:
    Card = int
CardMask: TypeAlias = int

CARDS: Final = cast("tuple[Card, ...]", tuple(range(1, 53)))
SUIT_SYMBOLS: Final = "♣♦♥♠"
RANK_NAMES: Final = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")

DECKS: Final = (24, 36, 52)  # R1.2
NO_CARD: Final = cast("Card", 0)

# Indexed by card number; entry 0 is no card.
SUIT_OF: Final = (-1, *((card - 1) // 13 for card in CARDS))
RANK_OF: Final = (-1, *(2 + (card - 1) % 13 for card in CARDS))
BIT_OF: Final = (0, *(1 << (card - 1) for card in CARDS))

SUIT_MASK: Final = tuple(
    sum(BIT_OF[card] for card in CARDS if SUIT_OF[card] == suit) for suit in range(4)
)
# Indexed by rank, 2 ... 14.
RANK_MASK: Final = tuple(
    sum(BIT_OF[card] for card in CARDS if RANK_OF[card] == rank) for rank in range(15)
)

# Indexed by card number: every card of its rank.
RANK_MASK_OF: Final = (0, *(RANK_MASK[RANK_OF[card]] for card in CARDS))
ALL_CARDS: Final = (1 << 52) - 1


def bit(card: Card) -> CardMask:
    """The mask that holds just this card."""
    return BIT_OF[card]


def mask_of(cards: Iterable[Card]) -> CardMask:
    """The mask of these cards. A card given twice counts once."""
    mask = 0
    for card in cards:
        mask |= BIT_OF[card]
    return mask


def cards_in(mask: CardMask) -> Iterator[Card]:
    """The cards of a mask, by rising number."""
    while mask:
        low = mask & -mask
        yield low.bit_length()  # type: ignore[misc] # the bit's place is the card's number
        mask ^= low


_DECK_CARDS: Final = {
    size: tuple(card for card in CARDS if RANK_OF[card] >= 15 - size // 4) for size in DECKS
}


def deck_cards(size: int) -> list[Card]:
    """The deck of 24, 36 or 52 cards in canonical order, which is by rising number (R1.2)."""
    return [*_DECK_CARDS[size]]


def _beaters(card: Card, trump_suit: int) -> CardMask:
    higher = SUIT_MASK[SUIT_OF[card]] & ~((BIT_OF[card] << 1) - 1)
    return higher if SUIT_OF[card] == trump_suit else higher | SUIT_MASK[trump_suit]


# BEATERS[trump suit][card]: every card that beats that card (R1.3).
BEATERS: Final = tuple(
    (0, *(_beaters(card, trump_suit) for card in CARDS)) for trump_suit in range(4)
)


def lowest_plain_first(mask: CardMask, trump_suit: int) -> Card:
    """The lowest plain card of a hand, or its lowest trump where it has no other (R10.2).

    Of cards of one rank it is the one of the lowest suit.
    """
    choice = mask & ~SUIT_MASK[trump_suit] or mask
    return min(cards_in(choice), key=RANK_OF.__getitem__)


def card_name(card: Card) -> str:
    """The card as people write it, as in ``10♥``."""
    return RANK_NAMES[RANK_OF[card] - 2] + SUIT_SYMBOLS[SUIT_OF[card]]
