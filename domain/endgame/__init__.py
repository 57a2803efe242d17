"""The exact solver for endgames: two seats in play and an empty stock (R4 to R9, R14.4).

Build a `Position` by hand or with `domain.endgame.conversion`, then call `solve` or
`evaluate_moves`. `domain.endgame.review` judges the moves of a finished match.
"""

from domain.endgame.position import (
    EndgameMove,
    MoveKind,
    Position,
    Role,
    Terminal,
    apply_move,
    legal_moves,
)
from domain.endgame.solver import MoveValue, Solution, Value, evaluate_moves, solve

__all__ = [
    "EndgameMove",
    "MoveKind",
    "MoveValue",
    "Position",
    "Role",
    "Solution",
    "Terminal",
    "Value",
    "apply_move",
    "evaluate_moves",
    "legal_moves",
    "solve",
]
