"""Cards numbered by strength, for bots that play many matches in their heads.

Bit ``3 * (rank - 2) + s`` is a plain card, where ``s`` is 0 to 2 for the three plain suits in the
order of their numbers; bit ``39 + rank - 2`` is a trump. So the lowest bit of a hand is its
weakest card, and what beats what is the same whichever suit is trumps.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from domain.cards import CARDS, RANK_OF, SUIT_OF, Card, CardMask, cards_in

Packed: TypeAlias = int
"""A set of cards, or one card, as bits by strength."""

PLAIN: Final = (1 << 39) - 1
TRUMPS: Final = ((1 << 13) - 1) << 39


def _bits(trump_suit: int) -> tuple[Packed, ...]:
    plain_suits = [suit for suit in range(4) if suit != trump_suit]
    bits = [0]
    for card in CARDS:
        rank, suit = RANK_OF[card] - 2, SUIT_OF[card]
        place = 39 + rank if suit == trump_suit else 3 * rank + plain_suits.index(suit)
        bits.append(1 << place)
    return tuple(bits)


_BITS: Final = tuple(_bits(suit) for suit in range(4))
_CARDS: Final[tuple[dict[Packed, Card], ...]] = tuple(
    {bits[card]: card for card in CARDS} for bits in _BITS
)

_EVERY: Final = tuple(1 << place for place in range(52))

RANK_INDEX: Final = {
    bit: place // 3 if place < 39 else place - 39 for place, bit in enumerate(_EVERY)
}
"""By card: 0 for a two, up to 12 for an ace."""

SAME_RANK: Final = {
    bit: sum(b for b in _EVERY if RANK_INDEX[b] == RANK_INDEX[bit]) for bit in _EVERY
}
"""By card: all cards of its rank, itself included."""

BEATERS_OF: Final = {
    bit: sum(1 << higher for higher in range(place + 3, 39, 3)) | TRUMPS
    if place < 39
    else TRUMPS & ~((2 << place) - 1)
    for place, bit in enumerate(_EVERY)
}
"""By card: all cards that beat it (R1.3)."""


def pack_mask(cards: CardMask, trump_suit: int) -> Packed:
    """A mask of card numbers as bits by strength; ``trump_suit`` is 0 to 3."""
    return pack_cards(cards_in(cards), trump_suit)


def pack_cards(cards: Iterable[Card], trump_suit: int) -> Packed:
    """The same for cards one by one."""
    bits = _BITS[trump_suit]
    return sum(bits[card] for card in cards)


def unpack(bit: Packed, trump_suit: int) -> Card:
    """The number of one card."""
    return _CARDS[trump_suit][bit]


def split(cards: Packed) -> list[Packed]:
    """The cards of a set, weakest first."""
    found = []
    while cards:
        bit = cards & -cards
        found.append(bit)
        cards ^= bit
    return found
