"""What the moves of a match did to its result, where the solver can tell.

Such moves are those made with two seats in play and an empty stock: once the match is over all its
cards are known, and so is what either seat could still reach by its best play. On tricky tables
(R11) nothing is decided, since cheating and challenges are beyond the solver.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from domain.cards import bit
from domain.endgame import EndgameMove, EndgameResult, MoveKind, Position, Value, apply_move, solve
from domain.endgame.conversion import position_from_match
from domain.match.fold import Match
from domain.match.state import State
from durak.v1.events_pb2 import ActorKind, Event, Record
from durak.v1.table_pb2 import PHASE_PLAYING


@dataclass(frozen=True, slots=True)
class PlayedMove:
    """A move as it was made, at this version, and where: None on a tricky table."""

    version: int
    seat: int
    move: EndgameMove
    by_clock: bool
    position: Position | None


@dataclass(frozen=True, slots=True)
class MoveReview:
    """What a move did to its seat's result; None where that is not proven.

    ``before``: what the best move reached, ``after``: what this one did. ``better`` is given where
    a result was given away, and is such a best move.
    """

    before: Value | None = None
    after: Value | None = None
    better: EndgameMove | None = None


def endgame_moves(records: Iterable[Record]) -> list[PlayedMove]:
    """The moves of a match that were made with two seats in play and an empty stock, in order.

    ``records`` are all of its records. Raises CorruptLogError for what makes no match.
    """
    match = Match()
    found = []
    for record in records:
        if _is_ending(match):
            move = _move_of(record.event)
            if move is not None:
                found.append(_played_move(match, record, *move))
        match.apply(record)
    return found


def review_move(played: PlayedMove, budget: int) -> MoveReview:
    """What a move did to the result, visiting at most ``budget`` positions before it and after."""
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


def _is_ending(match: State) -> bool:
    return match.phase == PHASE_PLAYING and not match.stock and match.in_play.bit_count() == 2


def _move_of(event: Event) -> tuple[int, EndgameMove] | None:
    """Who made which move, if the event is one; challenges apart."""
    match event.WhichOneof("kind"):
        case "attacked":
            return event.attacked.seat, EndgameMove(MoveKind.ATTACK, bit(event.attacked.card))
        case "defended":
            beaten, by = bit(event.defended.attack_card), bit(event.defended.card)
            return event.defended.seat, EndgameMove(MoveKind.DEFEND, by, beaten)
        case "transferred":
            card = bit(event.transferred.card)
            return event.transferred.seat, EndgameMove(MoveKind.TRANSFER, card)
        case "take_declared":
            return event.take_declared.seat, EndgameMove(MoveKind.TAKE)
        case "passed":
            return event.passed.seat, EndgameMove(MoveKind.PASS)
    return None


def _played_move(match: State, record: Record, seat: int, move: EndgameMove) -> PlayedMove:
    by_clock = record.actor_kind == ActorKind.ACTOR_KIND_CLOCK
    position = None if match.table.tricky else position_from_match(match, seat)
    return PlayedMove(record.version, seat, move, by_clock, position)


def _value_after(position: Position, move: EndgameMove, budget: int) -> Value | None:
    """What the seat that makes a move reaches by it, if that is proven."""
    mover = position.seat_to_move
    after = apply_move(position, move)
    if isinstance(after, EndgameResult):
        if after.winner is None:
            return Value.DRAW
        return Value.WIN if after.winner == mover else Value.LOSS
    found = solve(after, budget=budget)
    if not found.exact:
        return None
    return found.value if after.seat_to_move == mover else Value(-found.value)
