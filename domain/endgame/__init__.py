"""Exact endgames for two seats with an empty stock (RULES R4–R9, R14.4).

Build a `Position` from what both hands and the table hold, then `solve` it or `evaluate_moves` in
it.
"""

from domain.endgame.position import (
    Ending,
    Move,
    MoveKind,
    Position,
    Role,
    legal_moves,
    play,
)
from domain.endgame.solve import MoveValue, Solution, Value, evaluate_moves, solve

__all__ = [
    "Ending",
    "Move",
    "MoveKind",
    "MoveValue",
    "Position",
    "Role",
    "Solution",
    "Value",
    "evaluate_moves",
    "legal_moves",
    "play",
    "solve",
]
