"""Reads and writes the notation of moves in puzzle files.

``6♥`` leads or throws in, ``7♥ x 6♥`` beats 6♥ with 7♥, ``> 6♣`` transfers with 6♣. The words
``take``, ``pass`` and ``wait`` are the moves without a card; ``wait`` lets the defender move first.
"""

import re
from types import MappingProxyType
from typing import Final

from domain.cards import CARD_BY_NAME, CardMask, bit, card_name, cards_in
from domain.endgame import EndgameMove, MoveKind

_WORDS: Final = MappingProxyType(
    {"take": MoveKind.TAKE, "pass": MoveKind.PASS, "wait": MoveKind.WAIT}
)
_BEAT: Final = re.compile(r"(\S+) x (\S+)")


def parse_move(text: str) -> EndgameMove:
    """Return the move that a text describes. Raises KeyError for an unknown card.

    >>> parse_move("7♥ x 6♥").kind
    <MoveKind.DEFEND: 2>
    """
    if text in _WORDS:
        return EndgameMove(_WORDS[text])
    if text.startswith("> "):
        return EndgameMove(MoveKind.TRANSFER, bit(CARD_BY_NAME[text[2:]]))
    if beat := _BEAT.fullmatch(text):
        card, target = (bit(CARD_BY_NAME[word]) for word in beat.groups())
        return EndgameMove(MoveKind.DEFEND, card, target)
    return EndgameMove(MoveKind.ATTACK, bit(CARD_BY_NAME[text]))


def format_move(move: EndgameMove) -> str:
    """Return the text of a move, as `parse_move` reads it.

    >>> format_move(parse_move("7♥ x 6♥"))
    '7♥ x 6♥'
    """
    match move.kind:
        case MoveKind.ATTACK:
            return format_cards(move.card)
        case MoveKind.DEFEND:
            return f"{format_cards(move.card)} x {format_cards(move.target)}"
        case MoveKind.TRANSFER:
            return f"> {format_cards(move.card)}"
        case kind:
            return kind.name.lower()


def format_cards(cards: CardMask) -> str:
    """Return the names of cards, with spaces between them."""
    return " ".join(card_name(card) for card in cards_in(cards))
