"""The clock of a replica, which follows that of the database where the two differ too much.

Deadlines that a replica with a wrong clock hands out would bind all others.
"""

import time
from collections.abc import Callable
from typing import Final

import structlog

from service.times import MICROSECONDS, Now, system_now_us

ROUND_TRIP_SECONDS_MAX: Final = 1.0
"""A comparison that took longer says too little about the moment of the database's answer."""

_log = structlog.get_logger(__name__)


_BOOT_CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux has a clock that goes on while the machine sleeps. On macOS the other one does."""


def _elapsed_seconds() -> float:
    """Return the seconds since the machine started, with those in which it slept."""
    return time.clock_gettime(_BOOT_CLOCK)


class SharedClock:
    """The time of this replica: its own clock, unless that differs too much from the database's.

    Jumps of the own clock are seen at once: the time since the last comparison is measured by a
    clock that does not jump.
    """

    def __init__(
        self,
        offset_seconds_max: float,
        own_us: Now = system_now_us,
        elapsed_seconds: Callable[[], float] = _elapsed_seconds,
    ) -> None:
        """Accept a difference of `offset_seconds_max`. The other two are the clocks to read."""
        self._offset_us_max = round(offset_seconds_max * MICROSECONDS)
        self._own_us = own_us
        self.elapsed_seconds = elapsed_seconds
        self._database_start_us: int | None = None
        """The time of the database when `elapsed_seconds` was 0; None before a comparison."""
        self._is_right = True

    @property
    def offset_us(self) -> int:
        """How far the own clock is ahead of the database's, in microseconds."""
        return 0 if self._database_start_us is None else self._own_us() - self._database_us()

    def now_us(self) -> int:
        """Return the time in microseconds since the epoch."""
        own_us = self._own_us()
        if self._database_start_us is None:
            return own_us
        database_us = self._database_us()
        return own_us if abs(own_us - database_us) <= self._offset_us_max else database_us

    def compare(self, database_us: int, asked_seconds: float, answered_seconds: float) -> None:
        """Take over the time of the database, which it had between two readings of `elapsed`."""
        if answered_seconds - asked_seconds > ROUND_TRIP_SECONDS_MAX:
            return
        middle_us = round((asked_seconds + answered_seconds) / 2 * MICROSECONDS)
        self._database_start_us = database_us - middle_us
        offset_us = self.offset_us
        is_right = abs(offset_us) <= self._offset_us_max
        if is_right != self._is_right:
            self._is_right = is_right
            seconds = round(offset_us / MICROSECONDS, 3)
            if is_right:
                _log.info("clock is right again", ahead_seconds=seconds)
            else:
                _log.error("clock is wrong: using that of the database", ahead_seconds=seconds)

    def _database_us(self) -> int:
        assert self._database_start_us is not None, "compared before"
        return self._database_start_us + round(self.elapsed_seconds() * MICROSECONDS)
