"""The memory that a live match takes, as an estimate: to count the objects would take too long.

The figures are rounded up from the resident memory of a service (tests/bench/memory.py): a match of
two players takes 21 KB when it is dealt, 53 KB after ten moves and 63 KB at its end.
"""

from typing import Final

from domain.match.fold import Match

SIZE_MIN: Final = 56 * 1024
"""The state, the states of the last answers, and the task and the queue of the jobs."""
_EVENT: Final = 256
"""A request id, and the version that it led to."""
_EVENT_OF_BOTS: Final = 128
"""An event in the histories of bots."""
_EVENT_OF_BOT: Final = 16
"""A reference to it for each bot, and for some events a redacted copy."""


def size_of(match: Match) -> int:
    """Return the bytes that a match takes in memory.

    >>> size_of(Match()) // 1024
    56
    """
    bots = sum(seat is not None and seat.is_bot for seat in match.table.seats)
    event = _EVENT + (_EVENT_OF_BOTS + _EVENT_OF_BOT * bots if bots else 0)
    return SIZE_MIN + match.version * event
