"""Cards at a terminal: written, in colour, and read back from what a person types.

>>> parse_card("10h") == parse_card("10♥") == parse_card("10ч")
True
>>> spell([parse_card("Вп"), 0])
'J♠ ▮'
"""

import re
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Final, cast

from rich.text import Text

from domain.cards import RANK_OF, SUIT_OF, SUIT_SYMBOLS, Card, card_name

FACE_DOWN: Final = "▮"

# Jack, queen, king and ace also by their Russian and Greek letters: валет, дама, король, туз;
# βαλές, ντάμα, ρήγας, άσος. The Latin T is not read as a ten: it looks like the Russian ace.
_RANKS: Final = MappingProxyType(
    {str(rank): rank for rank in range(2, 11)}
    | dict.fromkeys("jвβ", 11)
    | dict.fromkeys("qдν", 12)
    | dict.fromkeys("kкρ", 13)
    | dict.fromkeys("aатα", 14)
)
# Suits also by their Russian letters: трефы, бубны, черви, пики.
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
_WRITTEN: Final = re.compile(
    rf"(?<!\w)(?:{'|'.join(rank.upper() for rank in _RANKS)})([{SUIT_SYMBOLS}])"
)

# Four colours, so that suits differ at a glance. Spades have the terminal's own colour.
_STYLES: Final = ("green", "blue", "red", "")


def parse_card(text: str) -> Card | None:
    """The card that somebody typed, or None: ``6h``, ``6♥``, ``10s``, ``Qd``, ``Дб``, ``тп``."""
    match = _CARD.fullmatch(text.strip().casefold().replace("\ufe0f", ""))
    if match is None:
        return None
    return cast("Card", 1 + 13 * _SUITS[match[2]] + _RANKS[match[1]] - 2)


def spell(cards: Iterable[Card]) -> str:
    """Cards as people write them, a hidden one as a card face down."""
    return " ".join(card_name(card) if card else FACE_DOWN for card in cards)


def by_strength(cards: Iterable[Card], trump_suit: int) -> list[Card]:
    """Plain cards by rank, then trumps by rank. `trump_suit` counts from 0; -1: none yet."""
    return sorted(cards, key=lambda card: (SUIT_OF[card] == trump_suit, RANK_OF[card], card))


def format_hand(cards: Sequence[Card], trump_suit: int) -> str:
    """A hand by strength, the trumps apart: so they can be told without colour."""
    plain = [card for card in cards if SUIT_OF[card] != trump_suit]
    trumps = [card for card in cards if SUIT_OF[card] == trump_suit]
    groups = (spell(by_strength(group, trump_suit)) for group in (plain, trumps) if group)
    return " │ ".join(groups)


def colour_cards(text: str, trump_suit: int = -1) -> Text:
    """A text with the cards in it in the colours of their suits, trumps underlined."""
    coloured = Text(text)
    for match in _WRITTEN.finditer(text):
        suit = SUIT_SYMBOLS.index(match[1])
        style = " ".join(("bold", _STYLES[suit], "underline" if suit == trump_suit else ""))
        coloured.stylize(style.strip(), match.start(), match.end())
    return coloured
