"""Exact endgames for two seats with an empty stock (RULES R4–R9, R14.4).

Build a `Position` from what both hands and the table hold, then `solve` it or `evaluate_moves` in
it.
"""

from domain.endgame.position import (
    EndgameMove,
    EndgameResult,
    MoveKind,
    Position,
    Role,
    apply_move,
    legal_moves,
)
from domain.endgame.solver import MoveValue, Solution, Value, evaluate_moves, solve

__all__ = [
    "EndgameMove",
    "EndgameResult",
    "MoveKind",
    "MoveValue",
    "Position",
    "Role",
    "Solution",
    "Value",
    "apply_move",
    "evaluate_moves",
    "legal_moves",
    "solve",
]
