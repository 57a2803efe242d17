"""Practice: endings of two seats to be solved, each on a match dealt and played by the rules.

`parse` a puzzle from its plain data, `start` its match, and `attempt` a choice in it.
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
