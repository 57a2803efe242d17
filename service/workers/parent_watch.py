"""Child processes that exit when their parent does, however it ends.

Children are spawned and not forked: gRPC does not survive a fork. A child of a process pool waits
for work forever, even after its parent was killed. So each child watches a pipe whose other end
only the parent holds.
"""

import os
import threading
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final

SPAWN: Final = get_context("spawn")


def parent_pipe() -> tuple[Connection, Connection]:
    """Return the end to pass to children and the end to keep. Closing the latter ends them."""
    return SPAWN.Pipe(duplex=False)


def exit_with_parent(end: Connection) -> None:
    """End this process at once when the parent's end of the pipe is closed or gone."""
    threading.Thread(target=_watch, args=(end,), daemon=True).start()


def _watch(end: Connection) -> None:
    with suppress(EOFError, OSError):
        end.recv_bytes()
    os._exit(0)
