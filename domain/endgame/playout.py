"""Estimates positions beyond the solver's budget by playing them out with a simple strategy."""

from __future__ import annotations

from domain.cards import RANK_OF, SUIT_MASK
from domain.endgame.position import (
    EndgameMove,
    MoveKind,
    Position,
    Role,
    Terminal,
    apply_move,
    legal_moves,
)


def playout(position: Position) -> Terminal:
    """Return the result if both seats play cheap cards, beat when they can and throw in no trumps.

    It terminates because R9.5 ends every match.
    """
    state: Position | Terminal = position
    while isinstance(state, Position):
        state = apply_move(state, simple_move(state))
    return state


def simple_move(position: Position) -> EndgameMove:
    """Return the move of the simple strategy."""
    moves = legal_moves(position)
    trumps = SUIT_MASK[position.trump_suit]

    def price(move: EndgameMove) -> tuple[bool, int, int]:
        return bool(move.card & trumps), RANK_OF[move.card.bit_length()], move.card

    cards = [move for move in moves if move.card]
    if position.turn is Role.ATTACKER and (position.unbeaten or position.beaten):
        cards = [move for move in cards if not move.card & trumps]
        if position.unbeaten and not position.taking:
            cards = []  # WAIT costs nothing
    if position.turn is Role.DEFENDER:
        first = position.unbeaten & -position.unbeaten
        cards = [m for m in cards if m.kind is MoveKind.TRANSFER or m.target == first]
    return min(cards, key=price) if cards else moves[-1]
