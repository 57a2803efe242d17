"""The operating system account that runs the embedded PostgreSQL server.

PostgreSQL refuses to run as root. Root therefore runs it under an unprivileged account, which must
be able to reach the programs and the data folder.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from eventstore.errors import EmbeddedPostgresError

SHARED_ROOT = Path("/var/lib/durak")
"""Where root puts files that its unprivileged account must reach: programs and data folders."""


@dataclass(frozen=True, slots=True)
class ServerUser:
    """The account that runs the server. `uid` and `gid` are None for the current account."""

    uid: int | None = None
    gid: int | None = None

    def run(
        self, *command: str | Path, env: dict[str, str] | None = None, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command under this account and return its result, whatever its exit code."""
        return subprocess.run(
            [str(part) for part in command],
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "LC_ALL": "C",
                "HOME": "/",
                **(env or {}),
            },
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            cwd="/",
            umask=0o077,
            check=False,
        )

    def can_reach(self, folder: Path) -> bool:
        """Return whether this account can enter the folder."""
        return self.uid is None or self.run("test", "-x", folder).returncode == 0

    def own(self, path: Path) -> None:
        """Make this account the owner of one file or folder."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


def choose_server_user(folder: Path) -> ServerUser:
    """Return the current account. For root, return the owner of the folder, `postgres` or `nobody`.

    Raises EmbeddedPostgresError if none of them exists.
    """
    if os.geteuid() != 0:
        return ServerUser()
    if folder.exists() and (owner := folder.stat()).st_uid != 0:
        return ServerUser(owner.st_uid, owner.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServerUser(entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresError(
        "PostgreSQL does not run as root, and there is no account `postgres` or `nobody`"
    )


def find_reachable_folder(folder: Path) -> Path:
    """Return a data folder that the server's account can reach.

    This is the given folder. If root's unprivileged account cannot reach it, the folder becomes a
    link to one below SHARED_ROOT, and that one is returned.
    """
    folder = folder.absolute()
    if folder.exists():
        return folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    user = choose_server_user(folder)
    if user.can_reach(folder.parent):
        return folder.parent.resolve() / folder.name
    SHARED_ROOT.mkdir(mode=0o755, parents=True, exist_ok=True)
    target = Path(tempfile.mkdtemp(prefix="postgres-", dir=SHARED_ROOT))
    user.own(target)
    folder.unlink(missing_ok=True)  # a link to a folder that was removed
    folder.symlink_to(target)
    return target
