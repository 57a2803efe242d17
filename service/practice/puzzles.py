"""The puzzles of domain/practice/puzzles, ready to play."""

import asyncio
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Final

from domain.endgame import EndgameMove
from domain.practice import Attempt, Puzzle, PuzzleMatch, make_attempt, parse_puzzle, start_puzzle

_PACKAGE: Final = "domain.practice"
_FOLDER: Final = "puzzles"
_SUFFIX: Final = ".toml"


class Puzzles:
    """All puzzles by id, easiest first, with a cache of attempts.

    Raises PuzzleError if a file is not a valid puzzle.
    """

    def __init__(self, *, attempts_remembered_max: int) -> None:
        """Read the files, and fold the match of each puzzle up to its choice."""
        found = sorted(read_puzzles(), key=lambda puzzle: (puzzle.difficulty, puzzle.id))
        self.by_id = {puzzle.id: puzzle for puzzle in found}
        self.started: dict[str, PuzzleMatch] = {puzzle.id: start_puzzle(puzzle) for puzzle in found}
        self._attempt = lru_cache(maxsize=attempts_remembered_max)(self._make_attempt)
        self._one_at_a_time = asyncio.Lock()

    async def attempt(self, puzzle: Puzzle, choice: EndgameMove) -> Attempt:
        """Return the result of a choice. It is computed in a thread, one choice at a time."""
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._attempt, puzzle.id, choice)

    def _make_attempt(self, puzzle_id: str, choice: EndgameMove) -> Attempt:
        return make_attempt(self.by_id[puzzle_id], self.started[puzzle_id], choice)


def read_puzzles() -> list[Puzzle]:
    """Return the puzzles of the data files, in the order of their names. Raises PuzzleError."""
    folder = files(_PACKAGE).joinpath(_FOLDER)
    return [
        parse_puzzle(file.name.removesuffix(_SUFFIX), tomllib.loads(file.read_text("utf-8")))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(_SUFFIX)
    ]
