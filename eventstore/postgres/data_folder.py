"""The folder of one embedded server: its data, settings, locks, passwords, port and log.

The folder (mode 0700) belongs to the account that runs the server. It holds `data/`, the socket in
`run/`, and single files.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from eventstore.errors import EmbeddedPostgresError
from eventstore.postgres.server_user import ServerUser

SOCKET_FOLDER_BYTES_MAX = 85
"""The longest path of `run/` that the server gets a socket in; others are served on loopback only.

The kernel accepts socket paths of 107 bytes, and `/.s.PGSQL.65535` is added to the folder.
"""


class Postmaster(NamedTuple):
    """The server process, as its pid file describes it. `port` is None while it starts."""

    pid: int
    port: int | None
    is_ready: bool


class DataFolder:
    """The files of one embedded server."""

    def __init__(self, path: Path, user: ServerUser) -> None:
        self.path = path
        self.data = path / "data"
        self.sockets = path / "run"
        self.log = path / "log"
        self.users_lock = path / "users.lock"
        self.start_lock = path / "start.lock"
        self._user = user

    def create(self, roles: tuple[str, ...]) -> None:
        """Create the folder, its lock files and the passwords of the roles, where missing.

        Raises EmbeddedPostgresError if other accounts can read the folder.
        """
        for folder in (self.path, self.sockets):
            if not folder.exists():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._user.own(folder)
        if self.path.stat().st_mode & 0o077:
            raise EmbeddedPostgresError(
                f"{self.path} is open to other accounts; close it with `chmod 0700`"
            )
        for file in (self.users_lock, self.start_lock, self.log):
            self.write(file.name, "", overwrite=False)
        for role in roles:
            self.write(self.password_file(role).name, secrets.token_urlsafe(24), overwrite=False)

    def write(self, name: str, text: str, *, overwrite: bool = True) -> None:
        """Write a whole file with mode 0600 at once. Readers never see a part of it."""
        path = self.path / name
        if path.exists() and not overwrite:
            return
        handle, partial = tempfile.mkstemp(dir=self.path, prefix=".new-")
        with os.fdopen(handle, "w") as file:
            file.write(text)
        self._user.own(Path(partial))
        if overwrite:
            Path(partial).replace(path)
            return
        with contextlib.suppress(FileExistsError):
            os.link(partial, path)
        Path(partial).unlink()

    def has(self, name: str) -> bool:
        """Return whether a file exists."""
        return (self.path / name).exists()

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def password_file(self, role: str) -> Path:
        """Return the file with the password of a role."""
        return self.path / f"{role}.password"

    def read_password(self, role: str) -> str:
        """Return the password of a role."""
        return self.password_file(role).read_text().strip()

    def read_port(self) -> int | None:
        """Return the port of the server, or None if none is recorded."""
        try:
            return int((self.path / "port").read_text())
        except (FileNotFoundError, ValueError):
            return None

    @property
    def has_socket(self) -> bool:
        """Whether the path is short enough for a Unix socket."""
        return len(os.fsencode(self.sockets)) <= SOCKET_FOLDER_BYTES_MAX

    def make_dsn(self, role: str, database: str, *, with_password: bool = True) -> str:
        """Return the address of a database for a role.

        Leave the password out where the address becomes an argument of a process, which every
        local user can read. Raises EmbeddedPostgresError if the server was never started.
        """
        port = self.read_port()
        if port is None:
            raise EmbeddedPostgresError(f"no server was ever started on {self.path}")
        host = str(self.sockets) if self.has_socket else "127.0.0.1"
        query = urlencode({"host": host, "port": port})
        user = role
        if with_password:
            user += f":{quote(self.read_password(role), safe='')}"
        return f"postgresql://{user}@/{quote(database, safe='')}?{query}"

    def read_postmaster(self) -> Postmaster | None:
        """Return the process of the server's pid file, or None if it is not alive."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            pid = int(lines[0])
        except (FileNotFoundError, IndexError, ValueError):
            return None
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            pass  # it is alive and belongs to another account
        port = int(lines[3]) if len(lines) > 3 else None
        return Postmaster(pid, port, len(lines) > 7 and lines[7].strip() == "ready")
