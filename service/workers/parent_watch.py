"""Processes of our own that end with this one, however it ends.

They are spawned and not forked: gRPC does not survive a fork. A process of a pool waits for work
for ever, also when whoever would give it was killed; so each watches a pipe that ends here.
"""

import os
import threading
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final

SPAWN: Final = get_context("spawn")


def lifeline() -> tuple[Connection, Connection]:
    """The end for the processes (`end_with`), and the one to hold; closing that ends them."""
    return SPAWN.Pipe(duplex=False)


def end_with(end: Connection) -> None:
    """End this process, whatever it does, when the other end of the pipe is closed or gone."""
    threading.Thread(target=_watch, args=(end,), daemon=True).start()


def _watch(end: Connection) -> None:
    with suppress(EOFError, OSError):
        end.recv_bytes()
    os._exit(0)
