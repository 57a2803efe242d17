"""The events that expired deadlines start (R10)."""

from domain.match.fold import Match
from durak.v1.events_pb2 import Event, Left, LeftReason, TimedOut
from durak.v1.table_pb2 import PHASE_REVEALING, PHASE_WAITING


def time_out(match: Match, now_us: int) -> Event | None:
    """Return the initiating event for the first seat whose time is over, or None.

    A table that did not fill within the idle limit is cancelled (R10.8), and so is one whose
    promised secrets were not all revealed in time (R3.6). ``now_us`` is the time now, in
    microseconds since the Unix epoch.
    """
    deadline_us = match.deadline_us()
    if deadline_us is None or now_us < deadline_us:
        return None
    if match.phase == PHASE_WAITING:
        return Event(finished=match.result_due())
    if match.phase == PHASE_REVEALING:
        return Event(finished=match.prevented_deal(match.table.to_reveal))
    on_clock = match.on_clock()
    seat = (on_clock & -on_clock).bit_length() - 1  # the lowest bit
    if not match.table.turn_us:
        return Event(left=Left(seat=seat, reason=LeftReason.LEFT_REASON_IDLE))
    return Event(timed_out=TimedOut(seat=seat))
