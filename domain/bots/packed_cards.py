"""Cards packed in order of strength, for bots that simulate many matches.

Bit ``3 * (rank - 2) + s`` is a plain card, where ``s`` is 0 to 2 for the plain suits in ascending
order. Bit ``39 + rank - 2`` is a trump. The lowest bit of a hand is therefore its weakest card, and
the tables below are the same for every trump suit.

>>> from domain.cards import CARD_BY_NAME, card_name
>>> hand = pack_cards([CARD_BY_NAME["6♠"], CARD_BY_NAME["A♥"]], trump_suit=3)
>>> [card_name(unpack(card, trump_suit=3)) for card in split(hand)]
['A♥', '6♠']
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from domain.cards import CARDS, RANK_OF, SUIT_OF, Card, CardMask, cards_in

Packed: TypeAlias = int
"""A packed card, or a set of packed cards."""

PLAIN: Final = (1 << 39) - 1
TRUMPS: Final = ((1 << 13) - 1) << 39


def _packed_by_card(trump_suit: int) -> tuple[Packed, ...]:
    """Return the packed form of each card, indexed by card number."""
    plain_suits = [suit for suit in range(4) if suit != trump_suit]
    packed = [0]
    for card in CARDS:
        rank, suit = RANK_OF[card] - 2, SUIT_OF[card]
        place = 39 + rank if suit == trump_suit else 3 * rank + plain_suits.index(suit)
        packed.append(1 << place)
    return tuple(packed)


_PACKED: Final = tuple(_packed_by_card(suit) for suit in range(4))
_UNPACKED: Final[tuple[dict[Packed, Card], ...]] = tuple(
    {packed[card]: card for card in CARDS} for packed in _PACKED
)

_ALL: Final = tuple(1 << place for place in range(52))

RANK_INDEX: Final = {
    card: place // 3 if place < 39 else place - 39 for place, card in enumerate(_ALL)
}
"""By packed card: 0 for a two up to 12 for an ace."""

SAME_RANK: Final = {
    card: sum(other for other in _ALL if RANK_INDEX[other] == RANK_INDEX[card]) for card in _ALL
}
"""By packed card: all cards of its rank, itself included."""

BEATERS_OF: Final = {
    card: sum(1 << higher for higher in range(place + 3, 39, 3)) | TRUMPS
    if place < 39
    else TRUMPS & ~((2 << place) - 1)
    for place, card in enumerate(_ALL)
}
"""By packed card: all cards that beat it (R1.3)."""


def pack_mask(cards: CardMask, trump_suit: int) -> Packed:
    """Pack a mask of `domain.cards`. ``trump_suit`` is 0 to 3."""
    return pack_cards(cards_in(cards), trump_suit)


def pack_cards(cards: Iterable[Card], trump_suit: int) -> Packed:
    """Pack distinct cards into one set. ``trump_suit`` is 0 to 3."""
    packed = _PACKED[trump_suit]
    return sum(packed[card] for card in cards)


def unpack(card: Packed, trump_suit: int) -> Card:
    """Return the card number of a single packed card."""
    return _UNPACKED[trump_suit][card]


def split(cards: Packed) -> list[Packed]:
    """Return the single cards of a set, weakest first."""
    found = []
    while cards:
        card = cards & -cards
        found.append(card)
        cards ^= card
    return found
