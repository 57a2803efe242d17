"""Plays out a choice in a puzzle, with best play by both sides after it."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from domain.cards import RANK_OF, SUIT_MASK
from domain.endgame import (
    EndgameMove,
    MoveKind,
    Position,
    Terminal,
    Value,
    apply_move,
    evaluate_moves,
    legal_moves,
)
from domain.endgame.conversion import to_move_message
from domain.match.commands import Play, by_bot
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.refusal import Refusal
from domain.match.view import table_view
from domain.practice.puzzle import PLAYER, Puzzle, PuzzleMatch, play_move
from durak.v1.events_pb2 import Record
from durak.v1.table_pb2 import Move, TableView

# The order of equally good moves: WAIT first, then as in MoveKind.
_KINDS: Final = MappingProxyType({kind: kind % MoveKind.WAIT for kind in MoveKind})


@dataclass(frozen=True, slots=True)
class Attempt:
    """The consequences of a choice. Values are for the player.

    Attributes:
        right: the choice keeps the best result.
        value: the value of the choice.
        best: the value of the best choice.
        steps: the records up to the player's next choice or the end.
        view: the table after these steps.
        opponent_hand: the opponent's cards after these steps, as a mask.
        continuation: the records from there to the end.
    """

    right: bool
    value: Value
    best: Value
    steps: tuple[Record, ...]
    view: TableView
    opponent_hand: int
    continuation: tuple[Record, ...]


def find_choice(started: PuzzleMatch, wanted: Move | None) -> EndgameMove | Refusal | None:
    """Return the choice that a `Move` message selects, or the refusal of an illegal move.

    ``wanted`` is None for waiting. Returns None if waiting is not one of the choices.
    """
    for choice in legal_moves(started.position):
        if to_move_message(choice) == wanted:
            return choice
    if wanted is None:
        return None
    refusal = decide(started.match, by_bot(PLAYER), Play(wanted))
    assert isinstance(refusal, Refusal), "every legal move is one of the choices"
    return refusal


def make_attempt(puzzle: Puzzle, started: PuzzleMatch, choice: EndgameMove) -> Attempt:
    """Make a choice and play on to the end with best play by both sides.

    The solver runs once for each move of the line. ``started`` is not changed.
    """
    values = evaluate_moves(started.position)
    line = _Line(started)
    steps = line.make(choice)
    steps += line.run(until=line.is_player_choice)
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
    """A line of play: a copy of the match, continued by the solver."""

    def __init__(self, started: PuzzleMatch) -> None:
        self.match: Match = started.match.copy()
        self._position: Position | Terminal = started.position

    def make(self, move: EndgameMove) -> list[Record]:
        """Make a move of the seat to move and return its records. WAIT makes no record.

        The defender acts next if both seats may: the values of moves count on that.
        """
        assert isinstance(self._position, Position)
        seat = self._position.seat_to_move
        after = apply_move(self._position, move)
        self._position = after if isinstance(after, Terminal) else after.defender_first()
        wanted = to_move_message(move)
        return [] if wanted is None else play_move(self.match, seat, wanted)

    def run(self, until: Callable[[Position], bool]) -> list[Record]:
        """Play best moves until the match ends or ``until`` is true. Return the records."""
        records: list[Record] = []
        while isinstance(self._position, Position) and not until(self._position):
            records += self.make(_best(self._position))
        return records

    @staticmethod
    def is_player_choice(position: Position) -> bool:
        """Return whether the player has several moves and the best one is not just WAIT."""
        if position.seat_to_move != PLAYER or len(legal_moves(position)) == 1:
            return False
        return _best(position).kind is not MoveKind.WAIT


def _best(position: Position) -> EndgameMove:
    """Return the cheapest of the best moves, as a human player would choose."""
    moves = legal_moves(position)
    if len(moves) == 1:
        return moves[0]
    values = evaluate_moves(position)
    best = max(found.value for found in values.values())
    trumps = SUIT_MASK[position.trump_suit]

    def price(move: EndgameMove) -> tuple[int, bool, int]:
        return _KINDS[move.kind], bool(move.card & trumps), RANK_OF[move.card.bit_length()]

    return min((move for move in moves if values[move].value is best), key=price)
