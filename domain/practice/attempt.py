"""What comes of a choice in a puzzle: events of its match, with best play by both from then on."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from domain.cards import RANK_OF, SUIT_MASK
from domain.endgame import (
    EndgameMove,
    EndgameResult,
    MoveKind,
    Position,
    Value,
    evaluate_moves,
    legal_moves,
)
from domain.endgame import apply_move as advance
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.refusal import Refusal
from domain.match.view import table_view
from domain.practice.notation import to_move_message
from domain.practice.puzzle import PLAYER, Puzzle, PuzzleMatch, play_move
from durak.v1.events_pb2 import Record
from durak.v1.table_pb2 import Move, TableView

# Of equal moves who attacks waits, then throws in; who defends beats, then transfers, then takes.
_KINDS: Final = MappingProxyType({kind: kind % MoveKind.WAIT for kind in MoveKind})


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a choice leads to; values are for you.

    `steps` are the events up to your next choice or the end, `view` and `opponent_hand` the table
    after them; `continuation` is how it goes on to the end.
    """

    right: bool
    value: Value
    best: Value
    steps: tuple[Record, ...]
    view: TableView
    opponent_hand: int
    continuation: tuple[Record, ...]


def find_choice(started: PuzzleMatch, wanted: Move | None) -> EndgameMove | Refusal | None:
    """The choice that a move of the contract (None: to wait) is; why it is not allowed.

    None where waiting is not among the choices.
    """
    for choice in legal_moves(started.position):
        if to_move_message(choice) == wanted:
            return choice
    if wanted is None:
        return None
    refusal = decide(started.match, PLAYER, wanted)
    assert isinstance(refusal, Refusal), "a legal move is among the choices"
    return refusal


def make_attempt(puzzle: Puzzle, started: PuzzleMatch, choice: EndgameMove) -> Attempt:
    """Make a choice, and play on to the end as both sides do best.

    Takes as long as the solver does for each move of the line; the started match is not changed.
    """
    values = evaluate_moves(started.position)
    line = _Line(started)
    steps = line.make(choice)
    steps += line.run(until=line.you_have_to_choose)
    view = table_view(line.match, PLAYER)
    view.ClearField("last_event_time")
    view.ClearField("deadline_time")
    opponent_hand = line.match.hands[1 - PLAYER]
    return Attempt(
        right=choice in puzzle.right,
        value=values[choice].value,
        best=max(found.value for found in values.values()),
        steps=tuple(steps),
        view=view,
        opponent_hand=opponent_hand,
        continuation=tuple(line.run(until=lambda _: False)),
    )


class _Line:
    """A match played on by the solver."""

    def __init__(self, started: PuzzleMatch) -> None:
        self.match: Match = started.match.copy()
        self._position: Position | EndgameResult = started.position

    def make(self, move: EndgameMove) -> list[Record]:
        """Make the move of whoever is to move. Waiting makes no event."""
        assert isinstance(self._position, Position)
        seat = self._position.seat_to_move
        self._position = advance(self._position, move)
        wanted = to_move_message(move)
        return [] if wanted is None else play_move(self.match, seat, wanted)

    def run(self, until: Callable[[Position], bool]) -> list[Record]:
        """Play best moves until the match is over, or `until` says so of the position."""
        records: list[Record] = []
        while isinstance(self._position, Position) and not until(self._position):
            records += self.make(_best(self._position))
        return records

    @staticmethod
    def you_have_to_choose(position: Position) -> bool:
        """It is your move, there are several, and just waiting is not as good as any."""
        if position.seat_to_move != PLAYER or len(legal_moves(position)) == 1:
            return False
        return _best(position).kind is not MoveKind.WAIT


def _best(position: Position) -> EndgameMove:
    """Of the moves that keep the result one that people would make: cheap cards first."""
    moves = legal_moves(position)
    if len(moves) == 1:
        return moves[0]
    values = evaluate_moves(position)
    best = max(found.value for found in values.values())
    trumps = SUIT_MASK[position.trump_suit]

    def price(move: EndgameMove) -> tuple[int, bool, int]:
        return _KINDS[move.kind], bool(move.card & trumps), RANK_OF[move.card.bit_length()]

    return min((move for move in moves if values[move].value is best), key=price)
