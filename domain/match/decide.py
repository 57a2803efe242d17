"""Decides a command: returns the events that it makes, or the refusal that names its rule.

>>> from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
>>> settings = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL)
>>> opening = OpenTable(
...     settings, server_seed=bytes(32), idle_limit_seconds=3600, reveal_limit_seconds=30
... )
>>> outcome = decide(Match(match_id=bytes(16)), by_player("ann"), opening)
>>> [event.WhichOneof("kind") for event in outcome.events]  # to store
['table_opened']
>>> outcome.after.version  # the match after these events
1
>>> refusal = decide(outcome.after, by_player("bob"), Leave())
>>> Reason.Name(refusal.reason)
'ERROR_REASON_NOT_SEATED'

Players, bots and the clock all go through `decide`. The event of the command itself, the initiating
event, is followed by all that the rules make of it: the bout closes, seats draw and go out, the
match ends.
"""

from typing import Final, assert_never

from domain.match import moves, seating
from domain.match.commands import (
    Actor,
    CancelTable,
    Command,
    Leave,
    OpenTable,
    Play,
    Rematch,
    RemovePlayer,
    RevealSeed,
    SeatBot,
    TakeSeat,
    TimeOut,
    by_player,
)
from domain.match.consequences import add_with_consequences
from domain.match.fold import Match
from domain.match.outcome import Outcome
from domain.match.refusal import Refusal, match_not_found
from domain.match.timeouts import time_out
from durak.v1.errors_pb2 import ErrorReason as Reason
from durak.v1.events_pb2 import Event

_NOT_SEATED: Final = Refusal(Reason.ERROR_REASON_NOT_SEATED)


def decide(match: Match, actor: Actor, command: Command) -> Outcome | Refusal:
    """Return what a command makes of a match, or why it is refused. The match does not change.

    An outcome without events means that there is nothing to do: no deadline has passed.
    """
    if isinstance(command, Rematch):
        return _rematch(match, actor, command)
    if not match.version and not isinstance(command, OpenTable):
        return match_not_found(match.match_id)
    event = _initiating_event(match, actor, command)
    if isinstance(event, Refusal):
        return event
    outcome = Outcome(match)
    if event is not None:
        add_with_consequences(outcome, event)
    return outcome


def _initiating_event(
    match: Match,
    actor: Actor,
    command: OpenTable
    | TakeSeat
    | SeatBot
    | RevealSeed
    | Leave
    | RemovePlayer
    | CancelTable
    | Play
    | TimeOut,
) -> Event | Refusal | None:
    match command:
        case Play(move):
            seat = _seat_of(match, actor)
            return _NOT_SEATED if seat is None else moves.initiating_event(match, seat, move)
        case TakeSeat():
            return seating.take_seat(match, actor, command)
        case SeatBot():
            return seating.seat_bot(match, actor, command)
        case RevealSeed():
            seat = _seat_of(match, actor)
            return _NOT_SEATED if seat is None else seating.reveal_seed(match, seat, command)
        case Leave():
            seat = _seat_of(match, actor)
            return _NOT_SEATED if seat is None else seating.leave(match, seat)
        case RemovePlayer(player_id):
            return seating.remove_player(match, actor, player_id)
        case CancelTable():
            return seating.cancel_table(match, actor)
        case TimeOut(now_us):
            return time_out(match, now_us)
        case OpenTable():
            return seating.open_table(match, actor, command)
        case _:
            assert_never(command)


def _seat_of(match: Match, actor: Actor) -> int | None:
    return match.table.seat_of(actor.player_id) if actor.seat is None else actor.seat


def _rematch(match: Match, actor: Actor, command: Rematch) -> Outcome | Refusal:
    """Open the table and seat its bots, if that is still to be done, and sit the actor down."""
    refusal = seating.check_rematch(actor, command.old)
    if refusal is not None:
        return refusal
    outcome = Outcome(match)
    if not match.version:
        outcome.add(seating.open_rematch(command))
        owner = by_player(command.old.table.owner_id)
        for seat_bot in seating.bots_of(command.old):
            bot_seated = seating.seat_bot(outcome.after, owner, seat_bot)
            if isinstance(bot_seated, Refusal):
                return bot_seated
            outcome.add(bot_seated)
    taking = TakeSeat(command.display_name, client_seed_hash=command.client_seed_hash)
    taken = seating.take_seat(outcome.after, actor, taking)
    if isinstance(taken, Refusal):
        return taken
    add_with_consequences(outcome, taken)
    return outcome
