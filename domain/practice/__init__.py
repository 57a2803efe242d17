"""Practice: endings of two seats to be solved, each on a match dealt and played by the rules.

`parse` a puzzle from its plain data, `start` its match, and `attempt` a choice in it.
"""

from domain.practice.attempt import Attempt, attempt, choice_of
from domain.practice.puzzle import OPPONENT, YOU, Puzzle, PuzzleError, Started, parse, start

__all__ = [
    "OPPONENT",
    "YOU",
    "Attempt",
    "Puzzle",
    "PuzzleError",
    "Started",
    "attempt",
    "choice_of",
    "parse",
    "start",
]
