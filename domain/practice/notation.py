"""Moves as puzzles write them, as the contract has them, and as the solver knows them.

``6♥`` leads or throws in, ``7♥ x 6♥`` beats, ``> 6♣`` transfers; ``take``, ``pass`` and ``wait``,
which leaves the next move to the defender, are words.
"""

import re
from types import MappingProxyType
from typing import Final

from domain.cards import CARDS, Card, bit, card_name
from domain.endgame import EndgameMove, MoveKind
from domain.match.move_messages import pass_turn
from durak.v1.table_pb2 import AttackMove, DefendMove, Move, TakeMove, TransferMove

CARD_NAMED: Final = MappingProxyType({card_name(card): card for card in CARDS})
_WORDS: Final = MappingProxyType(
    {"take": MoveKind.TAKE, "pass": MoveKind.PASS, "wait": MoveKind.WAIT}
)
_BEAT: Final = re.compile(r"(\S+) x (\S+)")


def parse_move(text: str) -> EndgameMove:
    """The move that a text means. Raises KeyError for a card that does not exist."""
    if text in _WORDS:
        return EndgameMove(_WORDS[text])
    if text.startswith("> "):
        return EndgameMove(MoveKind.TRANSFER, bit(CARD_NAMED[text[2:]]))
    if beat := _BEAT.fullmatch(text):
        card, target = (bit(CARD_NAMED[word]) for word in beat.groups())
        return EndgameMove(MoveKind.DEFEND, card, target)
    return EndgameMove(MoveKind.ATTACK, bit(CARD_NAMED[text]))


def to_move_message(move: EndgameMove) -> Move | None:
    """The move of the contract; None for waiting, which is no move of a match."""
    card = _card(move.card)
    match move.kind:
        case MoveKind.ATTACK:
            return Move(attack=AttackMove(card=card))
        case MoveKind.DEFEND:
            return Move(defend=DefendMove(attack_card=_card(move.target), card=card))
        case MoveKind.TRANSFER:
            return Move(transfer=TransferMove(card=card))
        case MoveKind.TAKE:
            return Move(take=TakeMove())
        case MoveKind.PASS:
            return pass_turn()
        case MoveKind.WAIT:
            return None


def _card(mask: int) -> Card:
    return (0, *CARDS)[mask.bit_length()]  # type: ignore[return-value] # 0 where there is no card
