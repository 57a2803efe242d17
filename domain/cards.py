"""Cards as small integers and sets of cards as bit masks (R1).

A card is its number in the contract, 1 to 52: ``1 + 13 * suit + (rank - 2)``, with suits 0 to 3
(clubs, diamonds, hearts, spades) and ranks 2 to 14 (the ace). A set of cards is an int in which
card ``c`` is bit ``1 << (c - 1)``. Union, difference and membership are single operations.

>>> six_of_spades = 1 + 13 * 3 + (6 - 2)
>>> card_name(six_of_spades)
'6♠'
>>> hand = mask_of([six_of_spades, CARD_BY_NAME["A♥"]])
>>> [card_name(card) for card in cards_in(hand)]
['A♥', '6♠']
>>> bool(hand & BIT_OF[six_of_spades])
True
>>> [card_name(card) for card in cards_in(BEATERS[3][CARD_BY_NAME["Q♥"]] & hand)]
['A♥', '6♠']
"""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from durak.v1.cards_pb2 import Card as CardEnum

Card: TypeAlias = CardEnum.ValueType
CardMask: TypeAlias = int

CARDS: Final = cast("tuple[Card, ...]", tuple(range(1, 53)))
SUIT_SYMBOLS: Final = "♣♦♥♠"
RANK_NAMES: Final = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")

DECKS: Final = (24, 36, 52)  # R1.2
NO_CARD: Final = cast("Card", 0)

# Indexed by card number. Entry 0 belongs to NO_CARD.
SUIT_OF: Final = (-1, *((card - 1) // 13 for card in CARDS))
RANK_OF: Final = (-1, *(2 + (card - 1) % 13 for card in CARDS))
BIT_OF: Final = (0, *(1 << (card - 1) for card in CARDS))

SUIT_MASK: Final = tuple(
    sum(BIT_OF[card] for card in CARDS if SUIT_OF[card] == suit) for suit in range(4)
)
# Indexed by rank, 2 to 14.
RANK_MASK: Final = tuple(
    sum(BIT_OF[card] for card in CARDS if RANK_OF[card] == rank) for rank in range(15)
)

# Indexed by card number: all cards of its rank.
RANK_MASK_OF: Final = (0, *(RANK_MASK[RANK_OF[card]] for card in CARDS))
ALL_CARDS: Final = (1 << 52) - 1


def bit(card: Card) -> CardMask:
    """Return the mask of a single card."""
    return BIT_OF[card]


def mask_of(cards: Iterable[Card]) -> CardMask:
    """Return the mask of these cards. Repeated cards count once."""
    mask = 0
    for card in cards:
        mask |= BIT_OF[card]
    return mask


def cards_in(mask: CardMask) -> Iterator[Card]:
    """Yield the cards of a mask in ascending order.

    >>> list(cards_in(0b1011))
    [1, 2, 4]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length()  # type: ignore[misc] # bit n - 1 is card n
        mask ^= low


_DECK_CARDS: Final = {
    size: tuple(card for card in CARDS if RANK_OF[card] >= 15 - size // 4) for size in DECKS
}


def deck_cards(size: int) -> list[Card]:
    """Return the deck of 24, 36 or 52 cards in canonical order: by ascending number (R1.2).

    >>> [card_name(card) for card in deck_cards(24)][:7]
    ['9♣', '10♣', 'J♣', 'Q♣', 'K♣', 'A♣', '9♦']
    """
    return [*_DECK_CARDS[size]]


def _beaters(card: Card, trump_suit: int) -> CardMask:
    higher = SUIT_MASK[SUIT_OF[card]] & ~((BIT_OF[card] << 1) - 1)
    return higher if SUIT_OF[card] == trump_suit else higher | SUIT_MASK[trump_suit]


# BEATERS[trump suit][card]: all cards that beat the card (R1.3).
BEATERS: Final = tuple(
    (0, *(_beaters(card, trump_suit) for card in CARDS)) for trump_suit in range(4)
)


def lowest_plain_first(mask: CardMask, trump_suit: int) -> Card:
    """Return the lowest plain card of a hand, or its lowest trump if it has only trumps (R10.2).

    Among cards of equal rank the lowest suit comes first.

    >>> hand = mask_of(CARD_BY_NAME[name] for name in ("10♥", "7♦", "6♠"))
    >>> card_name(lowest_plain_first(hand, trump_suit=3))
    '7♦'
    """
    choice = mask & ~SUIT_MASK[trump_suit] or mask
    return min(cards_in(choice), key=RANK_OF.__getitem__)


def card_name(card: Card) -> str:
    """Return the card in its written form, such as ``10♥``."""
    return RANK_NAMES[RANK_OF[card] - 2] + SUIT_SYMBOLS[SUIT_OF[card]]


CARD_BY_NAME: Final = MappingProxyType({card_name(card): card for card in CARDS})
"""Card number by written form, such as ``10♥``."""
