"""Cards at a terminal: formatted, coloured, and parsed from what a person types.

>>> parse_card("10h") == parse_card("10♥") == parse_card("10ч")
True
>>> format_cards([parse_card("Вп"), 0])
'J♠ ▮'
"""

import re
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Final, cast

from rich.text import Text

from domain.cards import RANK_OF, SUIT_OF, SUIT_SYMBOLS, Card, card_name

FACE_DOWN: Final = "▮"

# Jack, queen, king and ace also have Russian and Greek letters: валет, дама, король, туз; βαλές,
# ντάμα, ρήγας, άσος. The Latin T is not a ten, because it looks like the Russian ace.
_RANKS: Final = MappingProxyType(
    {str(rank): rank for rank in range(2, 11)}
    | dict.fromkeys("jвβ", 11)
    | dict.fromkeys("qдν", 12)
    | dict.fromkeys("kкρ", 13)
    | dict.fromkeys("aатα", 14)
)
# Suits also have Russian letters: трефы, бубны, черви, пики.
_SUITS: Final = MappingProxyType(
    {
        letter: suit
        for suit, letters in enumerate(("c♣♧т", "d♦♢б", "h♥♡ч", "s♠♤п"))
        for letter in letters
    }
)
_CARD: Final = re.compile(
    rf"({'|'.join(sorted(_RANKS, key=len, reverse=True))})([{''.join(_SUITS)}])"
)
_CARD_IN_TEXT: Final = re.compile(
    rf"(?<!\w)(?:{'|'.join(rank.upper() for rank in _RANKS)})([{SUIT_SYMBOLS}])"
)

# Four colours, so that suits differ at a glance. Spades keep the terminal's own colour.
_STYLES: Final = ("green", "blue", "red", "")


def parse_card(text: str) -> Card | None:
    """Parse a typed card such as ``6h``, ``6♥``, ``Qd``, ``Дб``; None for other texts."""
    match = _CARD.fullmatch(text.strip().casefold().replace("\ufe0f", ""))
    if match is None:
        return None
    return cast("Card", 1 + 13 * _SUITS[match[2]] + _RANKS[match[1]] - 2)


def format_cards(cards: Iterable[Card]) -> str:
    """Return cards as people write them, hidden cards as `FACE_DOWN`."""
    return " ".join(card_name(card) if card else FACE_DOWN for card in cards)


def sort_by_strength(cards: Iterable[Card], trump_suit: int) -> list[Card]:
    """Return plain cards by rank, then trumps by rank. `trump_suit` is -1 before the deal."""
    return sorted(cards, key=lambda card: (SUIT_OF[card] == trump_suit, RANK_OF[card], card))


def format_hand(cards: Sequence[Card], trump_suit: int) -> str:
    """Return a hand by strength, with a bar before the trumps: readable without colour.

    >>> format_hand([parse_card(card) for card in ("As", "Kh", "6s", "7d")], trump_suit=3)
    '7♦ K♥ │ 6♠ A♠'
    """
    plain = [card for card in cards if SUIT_OF[card] != trump_suit]
    trumps = [card for card in cards if SUIT_OF[card] == trump_suit]
    groups = (
        format_cards(sort_by_strength(group, trump_suit)) for group in (plain, trumps) if group
    )
    return " │ ".join(groups)


def colour_cards(text: str, trump_suit: int = -1) -> Text:
    """Return a text with its cards in the colours of their suits, trumps underlined."""
    coloured = Text(text)
    for match in _CARD_IN_TEXT.finditer(text):
        suit = SUIT_SYMBOLS.index(match[1])
        style = " ".join(("bold", _STYLES[suit], "underline" if suit == trump_suit else ""))
        coloured.stylize(style.strip(), match.start(), match.end())
    return coloured
