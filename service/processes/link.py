"""The link of a process to its parent: its reports, and the requests of the parent.

A process reports twice a second whether it accepts calls, and so also that its event loop runs. The
parent reports whether the other processes accept calls, and asks it to stop.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Final

from service.rpc.health import Health
from service.watchdog import rest

READY: Final = b"ready"
NOT_READY: Final = b"not ready"
STOP: Final = b"stop"
_REPORT_SECONDS: Final = 0.5


class ParentLink:
    """One process's end of the link. `number` identifies the process in logs and metrics."""

    def __init__(self, number: int, connection: Connection) -> None:
        self.number = number
        self._connection = connection
        self._health: Health | None = None
        self._others_ready = True
        os.set_blocking(connection.fileno(), False)  # a parent that does not read blocks nobody

    @contextmanager
    def reading(self, stop: asyncio.Event) -> Iterator[None]:
        """Follow the parent during the block. `stop` is set when it asks for the end."""
        loop, file = asyncio.get_running_loop(), self._connection.fileno()
        loop.add_reader(file, self._read, stop)
        try:
            yield
        finally:
            loop.remove_reader(file)

    async def report(self, health: Health) -> None:
        """Report without end whether this process accepts calls."""
        self._health = health
        health.set_others_ready(self._others_ready)
        while True:
            with suppress(BlockingIOError):
                self._connection.send_bytes(READY if health.is_ready else NOT_READY)
            await rest(_REPORT_SECONDS)

    def _read(self, stop: asyncio.Event) -> None:
        try:
            message = self._connection.recv_bytes()
        except (EOFError, OSError):  # the parent is gone, and parent_watch.py ends this process
            asyncio.get_running_loop().remove_reader(self._connection.fileno())
            return
        if message == STOP:
            stop.set()
            return
        self._others_ready = message == READY
        if self._health is not None:
            self._health.set_others_ready(self._others_ready)
