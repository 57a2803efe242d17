"""Practice puzzles: one choice in a two-seat endgame, on a match that follows the rules.

Call `parse_puzzle` with the plain data, `start_puzzle` for its match, `make_attempt` for a choice.
A `Miner` finds puzzles in the records of finished matches.
"""

from domain.practice.attempt import Attempt, find_choice, make_attempt
from domain.practice.mining import Miner
from domain.practice.puzzle import (
    OPPONENT,
    PLAYER,
    MinedAnswer,
    Puzzle,
    PuzzleError,
    PuzzleMatch,
    start_puzzle,
)
from domain.practice.puzzle_data import DIFFICULTY_MAX, format_puzzles, parse_puzzle, parse_puzzles

__all__ = [
    "DIFFICULTY_MAX",
    "OPPONENT",
    "PLAYER",
    "Attempt",
    "MinedAnswer",
    "Miner",
    "Puzzle",
    "PuzzleError",
    "PuzzleMatch",
    "find_choice",
    "format_puzzles",
    "make_attempt",
    "parse_puzzle",
    "parse_puzzles",
    "start_puzzle",
]
