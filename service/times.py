"""Times: microseconds since the Unix epoch, and the clock that reads them."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

MICROSECONDS: Final = 1_000_000
"""Microseconds in a second."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Now: TypeAlias = Callable[[], int]
"""A clock: returns the time now, in microseconds since the epoch."""


def system_now_us() -> int:
    """Return the time of the system's clock, in microseconds since the epoch."""
    return time.time_ns() // 1000


def to_datetime(time_us: int) -> datetime:
    """Return a time in microseconds since the epoch as the store takes it."""
    return EPOCH + timedelta(microseconds=time_us)


def to_us(time: datetime) -> int:
    """Return a time in microseconds since the epoch. The opposite of `to_datetime`."""
    return (time - EPOCH) // timedelta(microseconds=1)
