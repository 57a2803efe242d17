"""What the moves of a match did to its result, where the solver can tell.

Such moves are those made with two seats in play and an empty stock: once the match is over all its
cards are known, and so is what either seat could still reach by its best play. On tricky tables
(R11) nothing is decided, since cheating and challenges are beyond the solver.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from domain.cards import bit
from domain.endgame import Ending, MoveKind, Position, Value, play, solve
from domain.endgame import Move as EndgameMove
from domain.endgame.standing import position_of
from domain.match.fold import Match
from domain.match.state import State
from durak.v1.events_pb2 import ActorKind, Event, Record
from durak.v1.table_pb2 import PHASE_PLAYING


@dataclass(frozen=True, slots=True)
class Played:
    """A move as it was made, at this version, and where: None on a tricky table."""

    version: int
    seat: int
    move: EndgameMove
    by_clock: bool
    position: Position | None


@dataclass(frozen=True, slots=True)
class Judged:
    """What a move did to its seat's result; None where that is not proven.

    ``before``: what the best move reached, ``after``: what this one did. ``better`` is given where
    a result was given away, and is such a best move.
    """

    before: Value | None = None
    after: Value | None = None
    better: EndgameMove | None = None


def endings_in(records: Iterable[Record]) -> list[Played]:
    """The moves of a match that were made with two seats in play and an empty stock, in order.

    ``records`` are all of its records. Raises CorruptLogError for what makes no match.
    """
    match = Match()
    found = []
    for record in records:
        if _is_ending(match):
            move = _move_of(record.event)
            if move is not None:
                found.append(_played(match, record, *move))
        match.apply(record)
    return found


def judge(played: Played, budget: int) -> Judged:
    """What a move did to the result, visiting at most ``budget`` positions before it and after."""
    position = played.position
    if position is None:
        return Judged()
    best = solve(position, budget=budget)
    if not best.exact:
        return Judged()
    if best.value is Value.LOSS or played.move == best.best_move:
        return Judged(best.value, best.value)
    after = _value_after(position, played.move, budget)
    better = best.best_move if after is not None and after < best.value else None
    return Judged(best.value, after, better)


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


def _played(match: State, record: Record, seat: int, move: EndgameMove) -> Played:
    by_clock = record.actor_kind == ActorKind.ACTOR_KIND_CLOCK
    position = None if match.table.tricky else position_of(match, seat)
    return Played(record.version, seat, move, by_clock, position)


def _value_after(position: Position, move: EndgameMove, budget: int) -> Value | None:
    """What the seat that makes a move reaches by it, if that is proven."""
    mover = position.seat_to_move
    after = play(position, move)
    if isinstance(after, Ending):
        if after.winner is None:
            return Value.DRAW
        return Value.WIN if after.winner == mover else Value.LOSS
    found = solve(after, budget=budget)
    if not found.exact:
        return None
    return found.value if after.seat_to_move == mover else Value(-found.value)
