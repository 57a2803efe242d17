"""Writes log lines to standard error from a thread of its own.

A pipe that nobody reads blocks the thread that writes to it. This must not be the event loop. So
lines wait here, up to a limit, and further lines are lost and counted.
"""

import fcntl
import logging
import os
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Final

PENDING_BYTES_MAX: Final = 4 * 1024 * 1024
_FLUSH_SECONDS: Final = 2.0
"""Time that the end of the process gives to the lines that still wait."""


class LogWriter(logging.Handler):
    """A handler that never blocks. `lost` counts the lines that did not fit or were refused."""

    def __init__(
        self, file: int, pending_bytes_max: int = PENDING_BYTES_MAX, *, is_shared: bool = False
    ) -> None:
        """Write to a file descriptor, which the handler does not close.

        If other processes write to the same file (`is_shared`), each line is written whole.
        """
        super().__init__()
        self.lost = 0
        self._file = file
        self._is_shared = is_shared
        self._pending_bytes_max = pending_bytes_max
        self._pending: deque[bytes] = deque()
        self._pending_bytes = 0
        self._changed = threading.Condition()
        threading.Thread(target=self._write_all, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line to those that wait, or count it as lost."""
        try:
            line = f"{self.format(record)}\n".encode("utf-8", "backslashreplace")
        except Exception:  # noqa: BLE001 - a line that cannot be formatted must not stop its caller
            self.handleError(record)
            return
        with self._changed:
            if self._pending_bytes + len(line) > self._pending_bytes_max:
                self.lost += 1
                return
            self._pending.append(line)
            self._pending_bytes += len(line)
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until all lines are written, but not long: nobody may be reading."""
        deadline = time.monotonic() + _FLUSH_SECONDS
        with self._changed:
            while self._pending and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)

    def _write_all(self) -> None:
        told = 0
        while True:
            with self._changed:
                while not self._pending:
                    self._changed.wait()
                line = self._pending[0]
            is_written = self._write(line)
            with self._changed:
                self._pending.popleft()
                self._pending_bytes -= len(line)
                self.lost += not is_written
                lost = self.lost
                self._changed.notify_all()
            if is_written and lost > told:
                told = lost
                logging.getLogger(__name__).warning("log lines lost: %d since the start", lost)

    def _write(self, line: bytes) -> bool:
        """Write a line and wait for its reader. Return whether that was possible."""
        rest = memoryview(line)
        with suppress(OSError):
            self._lock(fcntl.LOCK_EX)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        self._lock(fcntl.LOCK_UN)
        return not rest

    def _lock(self, operation: int) -> None:
        """Lock or unlock the file. A pipe takes only the first 4 KB of a line in one piece.

        The lock belongs to the process and ends with it.
        """
        if self._is_shared:
            with suppress(OSError):  # a file that knows no locks
                fcntl.lockf(self._file, operation)


def lost_lines() -> int:
    """Return how many log lines of this process were lost."""
    handlers = logging.getLogger().handlers
    return sum(handler.lost for handler in handlers if isinstance(handler, LogWriter))
