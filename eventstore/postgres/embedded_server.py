"""Runs one Postgres server and stops it when nobody uses it any more; needs nothing but Python.

Everyone who uses the server holds a shared lock on one file, which the kernel lets go of when they
die, however they die. This process waits for the exclusive lock, which it gets when the last of
them is gone. It is the server's parent, so that a server that was killed is reaped at once: while a
zombie keeps its process id, Postgres takes the data folder for being in use.

Usage: lifeline.py LOCK_FILE LOG_FILE POSTGRES DATA_FOLDER [UID GID]
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
    """Run the server until it ends by itself or the lock file has no other holder."""
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
            server.send_signal(signal.SIGINT)  # Postgres' fast shutdown
            server.wait()  # whoever comes now waits for the lock, so for the end of the shutdown

    threading.Thread(target=stop_when_unused, daemon=True).start()
    os._exit(server.wait())


if __name__ == "__main__":
    main(*sys.argv[1:])
