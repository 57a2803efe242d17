"""Child processes that exit when their parent does, however it ends.

Children are spawned and not forked: gRPC does not survive a fork. A child of a process pool waits
for work forever, even after its parent was killed. So each child watches a pipe whose other end
only the parent holds.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final

SPAWN: Final = get_context("spawn")


def parent_pipe() -> tuple[Connection, Connection]:
    """Return the end to pass to children and the end to keep. Closing the latter ends them."""
    return SPAWN.Pipe(duplex=False)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Let children that this thread starts ignore Ctrl-C, which is for their parent alone.

    A new process inherits what the thread blocks.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def exit_with_parent(end: Connection) -> None:
    """End this process at once when the parent's end of the pipe is closed or gone."""
    threading.Thread(target=_watch, args=(end,), daemon=True).start()


def _watch(end: Connection) -> None:
    with suppress(EOFError, OSError):
        end.recv_bytes()
    os._exit(0)
