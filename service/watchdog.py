"""Finds out from a thread that the event loop or a background loop is stuck.

Each of them has a pulse. The thread counts the seconds without a beat in its own ticks, so that
time in which the whole process was stopped, or got no processor, does not count. A background loop
without a beat is cancelled first: its supervisor reports that and starts it again. If it does not
even end, or if the event loop itself is stuck, the process logs the stacks of all threads and ends.
Nothing is lost by that: whatever was answered had been stored before.
"""

import asyncio
import logging
import os
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Final

import structlog

TICK_SECONDS: Final = 1.0
ROUND_SECONDS_MAX: Final = 600.0
"""Time without a beat after which a background loop is cancelled. Every step of a loop has a
shorter time limit of its own, so that this is a last resort."""
CANCEL_SECONDS_MAX: Final = 60.0
"""Time that a cancelled background loop has to end."""
EXIT_STATUS: Final = 70
"""The status of a process that ended because it was stuck: EX_SOFTWARE of sysexits.h."""

_log = structlog.get_logger(__name__)


class Pulse:
    """The sign of life of a loop: it must beat before its seconds are over."""

    __slots__ = ("_seconds", "left", "name", "stop")

    def __init__(self, name: str, seconds: float, stop: Callable[[], None] | None = None) -> None:
        """`stop` is called from another thread when the loop was silent for too long."""
        self.name = name
        self.stop = stop
        self._seconds = seconds
        self.left = seconds

    def beat(self, rest_seconds: float = 0.0) -> None:
        """Note progress. The loop rests for `rest_seconds` now, which do not count."""
        self.left = self._seconds + rest_seconds


_pulse: ContextVar[Pulse | None] = ContextVar("pulse", default=None)


def progress() -> None:
    """Note that the background loop of this task makes progress, in the middle of a round."""
    pulse = _pulse.get()
    if pulse is not None:
        pulse.beat()


async def rest(seconds: float) -> None:
    """End a round of the background loop of this task, and sleep until the next one."""
    pulse = _pulse.get()
    if pulse is None:
        await asyncio.sleep(seconds)
        return
    pulse.beat(seconds)
    await asyncio.sleep(seconds)
    pulse.beat()


class Watchdog:
    """Watches pulses from a thread."""

    def __init__(
        self, stuck_seconds_max: float, end_process: Callable[[str], None] | None = None
    ) -> None:
        """End the process if the event loop is stuck for `stuck_seconds_max`. 0: never."""
        self._stuck_seconds_max = stuck_seconds_max
        self._end_process = end_process or _end_process
        self._pulses: set[Pulse] = set()
        self._stopped = threading.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch during the block, starting with the event loop that runs it."""
        if not self._stuck_seconds_max:
            yield
            return
        heart = Pulse("event loop", self._stuck_seconds_max)
        self._pulses.add(heart)

        async def beat() -> None:
            while True:
                heart.beat()
                await asyncio.sleep(TICK_SECONDS)

        beating = asyncio.create_task(beat(), name="watchdog")
        thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            beating.cancel()

    @contextmanager
    def watching(self, name: str) -> Iterator[None]:
        """Watch a background loop that runs as the current task during the block."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def stop() -> None:
            loop.call_soon_threadsafe(task.cancel)

        pulse = Pulse(name, ROUND_SECONDS_MAX, stop)
        _pulse.set(pulse)
        self._pulses.add(pulse)
        try:
            yield
        finally:
            self._pulses.discard(pulse)

    def tick(self) -> None:
        """Count a tick for each pulse, and act on those that are silent for too long."""
        for pulse in tuple(self._pulses):
            pulse.left -= TICK_SECONDS
            if pulse.left > 0:
                continue
            if pulse.stop is None:
                self._end_process(pulse.name)
            else:
                _log.error("no progress", loop=pulse.name)
                pulse.stop()
                pulse.stop = None
            pulse.left = CANCEL_SECONDS_MAX

    def _watch(self) -> None:
        while not self._stopped.wait(TICK_SECONDS):
            self.tick()


def _end_process(name: str) -> None:
    stacks = {
        thread.name: traceback.format_stack(sys._current_frames().get(thread.ident or 0))  # noqa: SLF001 - the documented way to other threads
        for thread in threading.enumerate()
    }
    text = "".join(f"{thread}:\n{''.join(lines)}" for thread, lines in stacks.items())
    _log.critical("stuck, the process ends", loop=name, stacks=text)
    for handler in logging.getLogger().handlers:
        handler.flush()
    os._exit(EXIT_STATUS)
