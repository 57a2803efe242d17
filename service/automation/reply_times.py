"""When a bot moves: at a time that does not depend on its hand (R14.1).

A hard bot has an answer at once where one move is legal, and after some time where it has to think.
If its moves came when they are ready, everyone at the table could distinguish the two cases.
"""

from math import ceil
from typing import Final

_FRACTION_BITS: Final = 53


def reply_time(started: float, ready: float, seed: int, seconds_min: float) -> float:
    """Return when to make a move that was thought about from ``started`` to ``ready``.

    The time is drawn from ``seed``, from one to two times ``seconds_min`` after ``started``. The
    seed is secret until the match ends. A move that is ready later waits for the end of the next
    interval of ``seconds_min``. All times are seconds of one clock.

    >>> reply_time(10.0, 10.001, seed=0, seconds_min=0.5)
    10.5
    >>> reply_time(10.0, 10.499, seed=0, seconds_min=0.5)
    10.5
    >>> reply_time(10.0, 10.501, seed=0, seconds_min=0.5)
    11.0
    """
    fraction = (seed & (1 << _FRACTION_BITS) - 1) / (1 << _FRACTION_BITS)
    at = started + seconds_min * (1 + fraction)
    if ready > at and seconds_min:
        at += seconds_min * ceil((ready - at) / seconds_min)
    return at
