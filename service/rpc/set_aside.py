"""What background work cannot handle is set aside, so that it does not stop the rest."""

import time
from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from service.rpc.failures import Failures, Work

Key = TypeVar("Key", bound=Hashable)

PAUSE_SECONDS_MIN: Final = 5.0
PAUSE_SECONDS_MAX: Final = 600.0
KEYS_MAX: Final = 10_000
"""More are not remembered: they are tried again each time."""


class _Pause(NamedTuple):
    seconds: float
    end: float


class SetAside(Generic[Key]):
    """The rows or files that failed, each with a pause that doubles until it works again."""

    def __init__(
        self, work: Work, failures: Failures, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Report under the name of this work. `clock` is in seconds."""
        self._work = work
        self._failures = failures
        self._clock = clock
        self._pauses: dict[Key, _Pause] = {}

    def __len__(self) -> int:
        return len(self._pauses)

    def add(self, key: Key, error: Exception) -> None:
        """Set something aside. It is logged and counted the first time that it fails."""
        before = self._pauses.get(key)
        if before is None:
            self._failures.report(self._work, error, set_aside=name_of(key))
            if len(self._pauses) >= KEYS_MAX:
                return
        seconds = (
            PAUSE_SECONDS_MIN if before is None else min(2 * before.seconds, PAUSE_SECONDS_MAX)
        )
        self._pauses[key] = _Pause(seconds, self._clock() + seconds)
        self._failures.note_set_aside(self._work, len(self._pauses))

    def remove(self, key: Key) -> None:
        """Forget what works again, or is gone."""
        if self._pauses.pop(key, None) is not None:
            self._failures.note_set_aside(self._work, len(self._pauses))

    def list_waiting(self) -> list[Key]:
        """Return what must not be tried now."""
        now = self._clock()
        return [key for key, pause in self._pauses.items() if now < pause.end]


def name_of(key: Hashable) -> str:
    """Return a key as the log shows it."""
    return key.hex() if isinstance(key, bytes) else str(key)
