"""A plain player for both seats: what to expect of a position that the budget did not reach."""

from __future__ import annotations

from domain.endgame.position import (
    SUIT,
    EndgameMove,
    EndgameResult,
    MoveKind,
    Position,
    Role,
    apply_move,
    legal_moves,
)


def playout(position: Position) -> EndgameResult:
    """Result if both seats play cheap cards, defend when they can and throw no trumps in.

    Ends, since R9.5 ends every match.
    """
    state: Position | EndgameResult = position
    while isinstance(state, Position):
        state = apply_move(state, plain_move(state))
    return state


def plain_move(position: Position) -> EndgameMove:
    """The move that the plain player makes."""
    moves = legal_moves(position)
    trumps = SUIT << 13 * position.trump_suit

    def price(move: EndgameMove) -> tuple[bool, int, int]:
        return bool(move.card & trumps), (move.card.bit_length() - 1) % 13, move.card

    cards = [move for move in moves if move.card]
    if position.turn is Role.ATTACKER and (position.unbeaten or position.beaten):
        cards = [move for move in cards if not move.card & trumps]
        if position.unbeaten and not position.taking:
            cards = []  # wait: nothing is lost by it
    if position.turn is Role.DEFENDER:
        first = position.unbeaten & -position.unbeaten
        cards = [m for m in cards if m.kind is MoveKind.TRANSFER or m.target == first]
    return min(cards, key=price) if cards else moves[-1]
