"""The puzzles that ship with the service, ready to play."""

import asyncio
import tomllib
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from domain.endgame import EndgameMove
from domain.practice import (
    Attempt,
    Puzzle,
    PuzzleError,
    PuzzleMatch,
    make_attempt,
    parse_puzzle,
    parse_puzzles,
    start_puzzle,
)

_PACKAGE: Final = "domain.practice"
_FOLDER: Final = "puzzles"
_MINED: Final = "mined_puzzles.toml"
_SUFFIX: Final = ".toml"


class Puzzles:
    """All puzzles by id, easiest first, with a cache of attempts.

    Raises PuzzleError if a file is not a valid puzzle.
    """

    def __init__(self, more: Path | None, *, attempts_remembered_max: int) -> None:
        """Read the files, and fold the match of each puzzle up to its choice.

        `more` is a file of mined puzzles. One with the id of another puzzle is left out: it is the
        same position.
        """
        known = [*([] if more is None else read_mined(more)), *read_puzzles()]
        found = {puzzle.id: puzzle for puzzle in known}.values()
        self.by_id = {
            puzzle.id: puzzle
            for puzzle in sorted(found, key=lambda puzzle: (puzzle.difficulty, puzzle.id))
        }
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
    """Return the puzzles of the data files, sorted by id. Raises PuzzleError."""
    package = files(_PACKAGE)
    written = [
        parse_puzzle(file.name.removesuffix(_SUFFIX), tomllib.loads(file.read_text("utf-8")))
        for file in package.joinpath(_FOLDER).iterdir()
        if file.name.endswith(_SUFFIX)
    ]
    return sorted([*written, *read_mined(package / _MINED)], key=lambda puzzle: puzzle.id)


def read_mined(file: Path | Traversable) -> list[Puzzle]:
    """Return the puzzles of a file of `durak practice --mine`. Raises PuzzleError and OSError."""
    try:
        return parse_puzzles(tomllib.loads(file.read_text("utf-8")))
    except ValueError as error:
        raise PuzzleError(f"{file}: {error}") from error
