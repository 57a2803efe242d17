"""Finds puzzles in finished matches: positions where exactly one move keeps the result.

A position becomes a puzzle if somebody missed its move: the player of the match, or a bot. The
puzzle has the cards and the moves of one bout and nothing else of the match. Positions that differ
only in the names of their suits are one puzzle.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import permutations, zip_longest
from math import log2
from typing import Final, TypeAlias

from domain.cards import CardMask
from domain.endgame import EndgameMove, MoveKind, Position, Role, legal_moves
from domain.endgame.conversion import move_of_event
from domain.endgame.review import PlayedMove, endgame_moves
from domain.endgame.solver import Solver
from domain.practice.attempt import make_attempt
from domain.practice.puzzle import (
    OPPONENT,
    PLAYER,
    MinedAnswer,
    Puzzle,
    PuzzleError,
    PuzzleMatch,
    start_puzzle,
)
from durak.v1.events_pb2 import Record

Advisers: TypeAlias = Callable[[PuzzleMatch], Sequence[EndgameMove]]
"""Returns the moves that bots would play."""
POSITIONS_MAX: Final = 50_000
"""Positions that the solver visits for a position of a match. Larger endings are left out."""
_POINTS: Final = (6, 10, 14, 18, 23)
"""The points from which a position has difficulty 1, 2, 3, 4 and 5."""
_SUIT_CARDS: Final = 13
_Key: TypeAlias = tuple[object, ...]


@dataclass(slots=True)
class _Find:
    """A position with one right move, and how often it was missed.

    ``visited`` is the number of positions that the solver visited.
    """

    puzzle: Puzzle
    started: PuzzleMatch
    match: int
    visited: int
    asked: int = 0
    missed: int = 0


class Miner:
    """Collects the puzzles of matches, one match after the other."""

    def __init__(self, advisers: Advisers, known: Iterable[Puzzle] = ()) -> None:
        """Start without matches. Positions of the ``known`` puzzles are not found again."""
        self.matches = 0
        self._advisers = advisers
        self._known = {_key(start_puzzle(puzzle).position) for puzzle in known}
        self._finds: dict[_Key, _Find] = {}

    def add(self, records: Sequence[Record]) -> None:
        """Take the positions of a match, if it has ended and had two seats and an honest table.

        ``records`` are all records of the match. Raises CorruptLogError.
        """
        if not records or not records[-1].event.HasField("finished"):
            return
        settings = records[0].event.table_opened.settings
        if settings.seats != 2 or settings.tricky:
            return
        self.matches += 1
        bout: list[PlayedMove] = []
        for played in endgame_moves(records):
            assert played.position is not None, "the table is not tricky"
            if not played.position.unbeaten | played.position.beaten:
                bout = []
            self._add(played, played.position, bout, settings.deck)
            bout.append(played)

    def choose(self, count: int, seed: int) -> list[Puzzle]:
        """Return at most ``count`` puzzles, rated, the easiest first.

        They are as different as the matches allow: of every difficulty, with and without transfers,
        with right moves of every kind, and no two of one match. ``seed`` decides among equal ones.
        """
        shelves: dict[tuple[int, ...], list[Puzzle]] = {}
        for puzzle in self._rated(seed):
            [right] = puzzle.right
            shelves.setdefault((puzzle.difficulty, puzzle.transfer, right.kind), []).append(puzzle)
        rounds = zip_longest(*(shelves[shelf] for shelf in sorted(shelves)))
        chosen = [puzzle for each in rounds for puzzle in each if puzzle is not None][:count]
        return sorted(chosen, key=lambda puzzle: (puzzle.difficulty, puzzle.id))

    def _add(
        self, played: PlayedMove, position: Position, bout: Sequence[PlayedMove], deck: int
    ) -> None:
        """Count how a position was played, and keep it if it is a puzzle."""
        moves = legal_moves(position)
        key = _key(position)
        if len(moves) == 1 or any(move.kind is MoveKind.WAIT for move in moves):
            return
        if key in self._known:
            return
        try:
            draft = _draft(played, position, bout, deck, key)
            started = start_puzzle(draft)
        except PuzzleError:  # too many cards, or hands without a past: see deal_reconstruction
            return
        solver = Solver(started.position)
        values = solver.evaluate_moves(POSITIONS_MAX)
        best = max(found.value for found in values.values())
        right = [move for move, found in values.items() if found.value is best]
        if len(right) > 1 or not all(found.exact for found in values.values()):
            return
        asked = [*self._advisers(started), *([] if played.by_clock else [played.move])]
        missed = [move for move in asked if move != right[0]]
        if missed:
            mined = MinedAnswer(best, Counter(missed).most_common(1)[0][0])
            puzzle = replace(draft, right=frozenset(right), mined=mined)
            found = _Find(puzzle, started, self.matches, solver.visited)
            found = self._finds.setdefault(key, found)
            found.missed += len(missed)
        if key in self._finds:
            self._finds[key].asked += len(asked)

    def _rated(self, seed: int) -> Iterator[Puzzle]:
        """Yield one puzzle of each match, without those that are too easy, in the seed's order."""
        used: set[int] = set()
        for find in sorted(self._finds.values(), key=lambda find: _digest(seed, find.puzzle.id)):
            if find.match not in used and (difficulty := _difficulty(find)):
                used.add(find.match)
                yield replace(find.puzzle, difficulty=difficulty)


def _draft(
    played: PlayedMove, position: Position, bout: Sequence[PlayedMove], deck: int, key: _Key
) -> Puzzle:
    """Return the puzzle of a position, without difficulty and answer."""
    hands = (position.attacker_hand, position.defender_hand)
    return Puzzle(
        id=f"mined-{_digest(*key)[:8]}",
        difficulty=0,
        deck=deck,
        trump_suit=position.trump_suit,
        transfer=position.transfer,
        draw_allowed=position.draw_allowed,
        hands=hands if position.turn is Role.ATTACKER else hands[::-1],
        bout=tuple((PLAYER if it.seat == played.seat else OPPONENT, it.move) for it in bout),
        right=frozenset(),
        texts={},
    )


def _difficulty(find: _Find) -> int:
    """Rate a find from 1 to 5: by its search, and by how often it was missed. 0: too easy.

    The search counts by the positions that the solver visits, the moves until the end of the match,
    and the choices.
    """
    line = make_attempt(find.puzzle, find.started, *find.puzzle.right)
    moves = sum(
        move_of_event(record.event) is not None for record in (*line.steps, *line.continuation)
    )
    points = (
        log2(1 + find.visited)
        + moves / 2
        + len(legal_moves(find.started.position))
        + 4 * find.missed / find.asked
    )
    return bisect(_POINTS, points)


def _key(position: Position) -> _Key:
    """Return what identifies a position, whatever the names of its suits are."""
    parts = (
        position.attacker_hand,
        position.defender_hand,
        position.unbeaten,
        position.beaten,
    )
    plain = [suit for suit in range(4) if suit != position.trump_suit]
    cards = min(
        tuple(_renamed(part, (*order, position.trump_suit)) for part in parts)
        for order in permutations(plain)
    )
    return (*cards, position.turn, position.taking, position.transfer, position.draw_allowed)


def _renamed(cards: CardMask, suits: Sequence[int]) -> CardMask:
    """Return the cards with their suits renumbered in the given order."""
    of_a_suit = (1 << _SUIT_CARDS) - 1
    return sum(
        (cards >> suit * _SUIT_CARDS & of_a_suit) << place * _SUIT_CARDS
        for place, suit in enumerate(suits)
    )


def _digest(*parts: object) -> str:
    return sha256(" ".join(map(str, parts)).encode()).hexdigest()
