"""Reviews the moves of a finished match that were made in a two-seat endgame.

These are the moves with two seats in play and an empty stock. When the match is over all cards are
known, so the solver can say what each seat could still reach by best play. A move that is good only
if the other seat is slower is not called good (see `domain.endgame.search`). Moves on tricky tables
(R11) are not reviewed, because the solver does not model cheating and challenges.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from domain.endgame.conversion import move_of_event, position_from_match
from domain.endgame.position import EndgameMove, Position, Terminal, apply_move
from domain.endgame.solver import Value, solve
from domain.match.fold import Match
from durak.v1.events_pb2 import ActorKind, Record
from durak.v1.table_pb2 import PHASE_PLAYING


@dataclass(frozen=True, slots=True)
class PlayedMove:
    """A move that was made in an endgame.

    Attributes:
        version: the version of its record.
        seat: the seat that moved.
        move: the move.
        by_clock: the server made the move for the seat when its time ran out (R10.2).
        position: the position before the move; None on a tricky table.
    """

    version: int
    seat: int
    move: EndgameMove
    by_clock: bool
    position: Position | None


@dataclass(frozen=True, slots=True)
class MoveReview:
    """The effect of a move on the result of the seat that made it.

    Attributes:
        before: what the best move reaches; None if not proven.
        after: what the move that was made reaches; None if not proven.
        better: a best move, if the move that was made reaches less.
    """

    before: Value | None = None
    after: Value | None = None
    better: EndgameMove | None = None


def endgame_moves(records: Iterable[Record]) -> list[PlayedMove]:
    """Return the moves of a match that were made with two seats in play and an empty stock.

    ``records`` are all records of the match, and the moves are in their order. Raises
    CorruptLogError for records that are not a valid match.
    """
    match = Match()
    found = []
    for record in records:
        if _is_endgame(match):
            moved = move_of_event(record.event)
            if moved is not None:
                found.append(_played_move(match, record, *moved))
        match.apply(record)
    return found


def review_move(played: PlayedMove, budget: int) -> MoveReview:
    """Return the effect of a move on the result.

    ``budget`` is the maximum number of positions to visit, before the move and again after it.
    """
    position = played.position
    if position is None:
        return MoveReview()
    best = solve(position, budget=budget)
    if not best.exact:
        return MoveReview()
    if best.value is Value.LOSS or played.move == best.best_move:
        return MoveReview(best.value, best.value)
    after = _value_after(position, played.move, budget)
    better = best.best_move if after is not None and after < best.value else None
    return MoveReview(best.value, after, better)


def _is_endgame(match: Match) -> bool:
    return match.phase == PHASE_PLAYING and not match.stock and match.in_play.bit_count() == 2


def _played_move(match: Match, record: Record, seat: int, move: EndgameMove) -> PlayedMove:
    by_clock = record.actor_kind == ActorKind.ACTOR_KIND_CLOCK
    position = None if match.table.tricky else position_from_match(match, seat)
    return PlayedMove(record.version, seat, move, by_clock, position)


def _value_after(position: Position, move: EndgameMove, budget: int) -> Value | None:
    """Return the proven value of a move for the seat that makes it, or None if not proven."""
    mover = position.seat_to_move
    after = apply_move(position, move)
    if isinstance(after, Terminal):
        if after.winner is None:
            return Value.DRAW
        return Value.WIN if after.winner == mover else Value.LOSS
    after = after.defender_first()
    found = solve(after, budget=budget)
    if not found.exact:
        return None
    return found.value if after.seat_to_move == mover else Value(-found.value)
