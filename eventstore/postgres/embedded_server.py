"""Run one PostgreSQL server, and stop it when no process uses it. Needs only Python itself.

Every process that uses the server holds a shared lock on one file. The kernel releases the lock
when the process dies for any reason. This process waits for the exclusive lock, which it gets after
the last user is gone. It is the parent of the server, so that a killed server is reaped at once: a
zombie keeps its process id, and PostgreSQL would then report that the data folder is in use.

Usage: embedded_server.py LOCK_FILE LOG_FILE POSTGRES DATA_FOLDER [UID GID]
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def main(
    lock_file: str,
    log_file: str,
    postgres: str,
    data: str,
    uid: str | None = None,
    gid: str | None = None,
) -> None:
    """Run the server until it ends by itself or no other process holds the lock file."""
    with Path(log_file).open("ab") as log:
        server = subprocess.Popen(
            [postgres, "-D", data],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=None if uid is None else int(uid),
            group=None if gid is None else int(gid),
            extra_groups=None if uid is None else [],
            umask=0o077,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": "/"},
            cwd="/",
        )

    def stop_when_unused() -> None:
        with Path(lock_file).open("rb") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            server.send_signal(signal.SIGINT)  # the fast shutdown of PostgreSQL
            server.wait()  # a new user waits for the lock, and so for the end of the shutdown

    threading.Thread(target=stop_when_unused, daemon=True).start()
    os._exit(server.wait())


if __name__ == "__main__":
    main(*sys.argv[1:])
