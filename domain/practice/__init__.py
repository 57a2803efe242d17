"""Practice puzzles: one choice in a two-seat endgame, on a match that follows the rules.

Call `parse_puzzle` with the plain data, `start_puzzle` for its match, `make_attempt` for a choice.
"""

from domain.practice.attempt import Attempt, find_choice, make_attempt
from domain.practice.puzzle import (
    OPPONENT,
    PLAYER,
    Puzzle,
    PuzzleError,
    PuzzleMatch,
    parse_puzzle,
    start_puzzle,
)

__all__ = [
    "OPPONENT",
    "PLAYER",
    "Attempt",
    "Puzzle",
    "PuzzleError",
    "PuzzleMatch",
    "find_choice",
    "make_attempt",
    "parse_puzzle",
    "start_puzzle",
]
