"""Commands: what somebody asks of one match, ready to be decided.

A command is decided by a function of the match alone (and of the server seed, where it opens the
table), so deciding it again on the same state gives the same events. That is how a repeated request
is told from a request id used twice: see `LiveMatch.perform`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Final

from domain.match import seating
from domain.match.consequences import Outcome
from domain.match.decide import play as play_move
from domain.match.fold import Match
from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import ACTOR_KIND_PLAYER, ActorKind, Event
from durak.v1.table_pb2 import Move
from service.matches import requests
from service.rpc.call import Call
from service.rpc.validation import Target

Decision = list[Event] | Outcome | Refusal
Decide = Callable[[Match, bytes], Decision]
"""Decides a command on a match. The second argument is a server seed for a table yet to be opened;
empty where the table is there."""

_REUSED: Final = Refusal(reasons.ERROR_REASON_REQUEST_ID_REUSED)
_NOT_SEATED: Final = Refusal(reasons.ERROR_REASON_NOT_SEATED)


@dataclass(slots=True)
class Command:
    """One command. `opens`: it may be the first of its match. Ids are 16 bytes, or empty."""

    match_id: bytes
    decide: Decide
    actor_kind: ActorKind.ValueType
    actor_id: str = ""
    request_id: bytes = b""
    trace_id: bytes = b""
    expected_version: int | None = None
    opens: bool = False


# --- ids and seeds that follow from what is known ------------------------------------------------


def table_id(request_id: bytes, caller_id: str) -> bytes:
    """The id of the table that a request opens: the same for the same caller and request id.

    A UUID of version 8 (RFC 9562): the first 122 free bits of
    SHA-256("durak.v1.table" ‖ request id, 16 bytes ‖ caller id in UTF-8).
    """
    return _uuid8(b"durak.v1.table" + request_id + caller_id.encode())


def rematch_id(match_id: bytes) -> bytes:
    """The id of a match's rematch, where all its players meet.

    A UUID of version 8: the first 122 free bits of SHA-256("durak.v1.rematch" ‖ match id).
    """
    return _uuid8(b"durak.v1.rematch" + match_id)


def dispute_id(request_id: bytes, player_id: str) -> bytes:
    """The id of the dispute that a request opens: the same for the same player and request id.

    A UUID of version 8: the first 122 free bits of
    SHA-256("durak.v1.dispute" ‖ request id, 16 bytes ‖ player id in UTF-8).
    """
    return _uuid8(b"durak.v1.dispute" + request_id + player_id.encode())


def _uuid8(text: bytes) -> bytes:
    digest = bytearray(sha256(text).digest()[:16])
    digest[6] = 0x80 | digest[6] & 0x0F
    digest[8] = 0x80 | digest[8] & 0x3F
    return bytes(digest)


def bot_seed(match: Match) -> int:
    """The seed of a bot that sits down now: secret as the server seed is, and revealed with it.

    The first 8 bytes, big-endian, of SHA-256("durak.v1.bot" ‖ server seed ‖ version, 4 bytes).
    """
    text = b"durak.v1.bot" + match.table.server_seed + match.version.to_bytes(4)
    return int.from_bytes(sha256(text).digest()[:8])


# --- players' commands; each raises Refused MALFORMED_FIELD --------------------------------------


def open_table(
    request: api.OpenTableRequest, call: Call, idle_limit_seconds: int, prefix: str = ""
) -> Command:
    """Open a table."""
    request_id = requests.open_table(request, prefix)
    owner_id = call.caller.subject
    match_id = table_id(request_id, owner_id)

    def decide_opening(match: Match, server_seed: bytes) -> Decision:
        if match.version:
            return _REUSED
        return seating.open_table(
            request.settings,
            start_series=request.start_series,
            match_id=match_id,
            owner_id=owner_id,
            server_seed=server_seed,
            idle_limit_seconds=idle_limit_seconds,
        )

    return _players(Target(match_id, request_id, None), call, decide_opening, opens=True)


def take_seat(request: api.TakeSeatRequest, call: Call, prefix: str = "") -> Command:
    """Sit down."""
    target = requests.take_seat(request, prefix)
    caller = call.caller
    seat = request.seat if request.HasField("seat") else None

    def decide_seat(match: Match, _: bytes) -> Decision:
        return seating.take_seat(match, caller.subject, caller.name, seat, request.client_seed)

    return _players(target, call, decide_seat)


def seat_bot(request: api.SeatBotRequest, call: Call, prefix: str = "") -> Command:
    """Sit a bot down."""
    target = requests.seat_bot(request, prefix)
    seat = request.seat if request.HasField("seat") else None

    def decide_bot(match: Match, _: bytes) -> Decision:
        return seating.seat_bot(match, call.caller.subject, seat, request.level, bot_seed(match))

    return _players(target, call, decide_bot)


def leave_match(request: api.LeaveMatchRequest, call: Call, prefix: str = "") -> Command:
    """Give up the caller's seat."""
    target = requests.leave_match(request, prefix)

    def decide_leaving(match: Match, _: bytes) -> Decision:
        seat = match.table.seat_of(call.caller.subject)
        return _NOT_SEATED if seat is None else seating.leave(match, seat)

    return _players(target, call, decide_leaving)


def cancel_table(request: api.CancelTableRequest, call: Call, prefix: str = "") -> Command:
    """Close a table before the deal."""
    target = requests.cancel_table(request, prefix)
    return _players(target, call, lambda match, _: seating.cancel(match, call.caller.subject))


def play(request: api.PlayRequest, call: Call, prefix: str = "") -> Command:
    """Make a move."""
    target = requests.play(request, prefix)
    return _players(target, call, partial(_decide_play, call.caller.subject, request.move))


def _decide_play(player_id: str, move: Move, match: Match, _: bytes) -> Decision:
    seat = match.table.seat_of(player_id)
    return _NOT_SEATED if seat is None else play_move(match, seat, move)


def rematch(
    target: Target, client_seed: bytes, call: Call, old: Match, idle_limit_seconds: int
) -> Command:
    """Play `old` again: open the new table, bots seated, if it is not there; sit the caller down.

    `target` is that of the request, which names the old match.
    """
    match_id = rematch_id(target.match_id)
    caller = call.caller

    def decide_rematch(match: Match, server_seed: bytes) -> Decision:
        opening = seating.rematch_table(
            old,
            caller_id=caller.subject,
            server_seed=server_seed,
            idle_limit_seconds=idle_limit_seconds,
        )
        if isinstance(opening, Refusal):
            return opening
        events: list[Event] = []
        if not match.version:
            match = match.copy()
            match.match_id = match_id
            events = _fold(match, opening)
            for number, seat in enumerate(old.table.seats):
                if seat is None or not seat.is_bot:
                    continue
                seated = seating.seat_bot(
                    match, old.table.owner_id, number, seat.bot_level, bot_seed(match)
                )
                if isinstance(seated, Refusal):
                    return seated
                events += _fold(match, seated)
        taken = seating.take_seat(match, caller.subject, caller.name, None, client_seed)
        return taken if isinstance(taken, Refusal) else events + taken

    return _players(target._replace(match_id=match_id), call, decide_rematch, opens=True)


def _fold(trial: Match, events: list[Event]) -> list[Event]:
    for event in events:
        trial.fold_event(event)
    return events


def _players(target: Target, call: Call, decide: Decide, *, opens: bool = False) -> Command:
    return Command(
        target.match_id,
        decide,
        ACTOR_KIND_PLAYER,
        call.caller.subject,
        target.request_id,
        call.trace_id,
        target.expected_version,
        opens,
    )
