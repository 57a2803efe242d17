"""What the server does when time runs out (R10)."""

from domain.match.consequences import with_consequences
from domain.match.fold import Match
from durak.v1.events_pb2 import Event, Left, LeftReason, TimedOut
from durak.v1.table_pb2 import PHASE_WAITING


def time_out(match: Match, now_us: int) -> list[Event]:
    """The events of the first seat whose time is over; none when nothing is due.

    Several seats can be due at once: fold these events, and ask again until none are left. A table
    that did not fill within the idle limit is cancelled (R10.8).

    Args:
        match: the table as it stands.
        now_us: the time now, microseconds since the Unix epoch.
    """
    deadline_us = match.deadline_us()
    if deadline_us is None or now_us < deadline_us:
        return []
    if match.phase == PHASE_WAITING:
        return [Event(finished=match.result_due())]
    seat = _first_on_clock(match)
    if not match.table.turn_us:
        left = Left(seat=seat, reason=LeftReason.LEFT_REASON_IDLE)
        return with_consequences(match, Event(left=left))
    return with_consequences(match, Event(timed_out=TimedOut(seat=seat)))


def _first_on_clock(match: Match) -> int:
    on_clock = match.on_clock()
    return next(seat for seat in range(len(match.hands)) if on_clock >> seat & 1)
