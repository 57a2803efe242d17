"""A real PostgreSQL of our own, for newcomers and tests, in a data folder of ours.

    with EmbeddedPostgres(Path(".durak/postgres")) as postgres:
        postgres.owner_dsn(), postgres.app_dsn()

The folder (0700) belongs to the user who runs the server and holds `data/`, the socket in `run/`,
the log and the passwords. The server listens on that socket and on loopback only, asks everyone for
a password (SCRAM), and syncs every commit to disk.

A server is shared by all processes that use the same folder and lives as long as one of them does:
each holds a shared lock on `users.lock`. The last process to release it stops the server;
`embedded_server.py` does this for processes that were killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from urllib.parse import quote, urlencode

from eventstore.postgres import embedded_server
from eventstore.postgres.binaries import (
    EmbeddedPostgresError,
    find_bin_dir,
    major_version,
    reachable_bin_dir,
    reachable_folder,
    server_user,
)

DATABASE = "durak"
OWNER_ROLE = "durak_owner"
APP_ROLE = "durak_app"
SOCKET_PATH_LIMIT_BYTES = (
    100  # the kernel takes 107 with `.s.PGSQL.65535`; longer folders are served on loopback alone
)
START_TIMEOUT_S = 60.0
PORT_PATIENCE_S = 10.0
PORTS = range(16_384, 32_768)
"""Below those that systems give to whoever asks for any: one of these could be somebody else's by
the time a server that was killed is started again, and its clients know it by its port."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What runs on a data folder: `pid` and `port` are None when nothing does."""

    folder: Path
    pid: int | None
    port: int | None

    @property
    def running(self) -> bool:
        """Whether a server runs on the folder."""
        return self.pid is not None


class EmbeddedPostgres:
    """One user of the server on a data folder.

    All calls block; from a coroutine use `asyncio.to_thread`.
    """

    def __init__(self, folder: Path, bin_dir: Path | None = None) -> None:
        """Take the data folder and, if the default is not wanted, that of the Postgres programs."""
        self.folder = reachable_folder(folder)
        self.user = server_user(self.folder)
        self.bin_dir = reachable_bin_dir(find_bin_dir(bin_dir), self.user)
        self._users: IO[bytes] | None = None
        self._life: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    @property
    def data(self) -> Path:
        """The data directory as PostgreSQL knows it."""
        return self.folder / "data"

    def start(self) -> Self:
        """Set up the folder if it is new, and start the server unless it runs already.

        Raises EmbeddedPostgresError.
        """
        self._make_folder()
        if self._users is None:
            self._users = (self.folder / "users.lock").open("rb")
            fcntl.flock(self._users, fcntl.LOCK_SH)  # waits while a lifeline is stopping the server
        try:
            with self._starting():
                self._initialise()
                if not self.status().running:
                    self._launch()
                self._create_roles()
        except BaseException:
            self.release()
            raise
        return self

    def release(self) -> None:
        """Let go of the server. If nobody else uses it, it has stopped when this returns."""
        if self._users is None:
            return
        with self._users as users:
            self._users = None
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(
                    users, fcntl.LOCK_SH
                )  # others use it, or the lifeline was quicker: then wait for it
            else:
                self.stop()
        if self._life is not None:
            if self.status().running:
                self._life.returncode = 0  # it outlives us by intent: nothing to warn of
            else:
                self._life.wait()
            self._life = None

    def stop(self) -> None:
        """Stop the server now, whoever uses it. Does nothing when it does not run."""
        if not self.status().running:
            return
        answer = self.user.run(
            self.bin_dir / "pg_ctl", "stop", "-s", "-w", "-m", "fast", "-D", self.data
        )
        if answer.returncode != 0 and self.status().running:
            raise EmbeddedPostgresError(f"Postgres does not stop: {answer.stderr.strip()}")

    def status(self) -> ServerStatus:
        """Whether a server runs on the folder, and where."""
        pid, port, _ = self._postmaster()
        if pid is None or port is None:
            return ServerStatus(self.folder, None, None)
        with (
            socket.socket() as probe
        ):  # a killed server leaves its pid file, and somebody may have its pid by now
            probe.settimeout(START_TIMEOUT_S)
            answers = probe.connect_ex(("127.0.0.1", port)) == 0
        return (
            ServerStatus(self.folder, pid, port)
            if answers
            else ServerStatus(self.folder, None, None)
        )

    def _postmaster(self) -> tuple[int | None, int | None, bool]:
        """Process id, port and readiness by the server's pid file, if that process lives."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            pid = int(lines[0])
        except (FileNotFoundError, IndexError, ValueError):
            return None, None, False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None, None, False
        except PermissionError:
            pass  # alive, and somebody else's
        port = int(lines[3]) if len(lines) > 3 else None
        return pid, port, len(lines) > 7 and lines[7].strip() == "ready"

    def owner_dsn(self, database: str = DATABASE) -> str:
        """The address for migrations: the role that owns the tables."""
        return self._dsn(OWNER_ROLE, database)

    def app_dsn(self, database: str = DATABASE) -> str:
        """The address for the service: the role that may add events and read them, no more."""
        return self._dsn(APP_ROLE, database)

    def _dsn(self, role: str, database: str) -> str:
        port = self._port()
        place = {"host": str(self.folder / "run")} if self._has_socket() else {"host": "127.0.0.1"}
        query = urlencode({**place, "port": port})
        secret = quote(self._password(role), safe="")
        return f"postgresql://{role}:{secret}@/{quote(database, safe='')}?{query}"

    def _password(self, role: str) -> str:
        return (self.folder / f"{role}.password").read_text().strip()

    def _port(self) -> int:
        return int((self.folder / "port").read_text())

    def _has_socket(self) -> bool:
        return (
            len(os.fsencode(self.folder / "run")) + len("/.s.PGSQL.65535")
            <= SOCKET_PATH_LIMIT_BYTES
        )

    def _make_folder(self) -> None:
        for folder in (self.folder, self.folder / "run"):
            if not folder.exists():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self.user.own(folder)
        if self.folder.stat().st_mode & 0o077:
            raise EmbeddedPostgresError(
                f"{self.folder} is open to other users; it must be a folder of ours alone (0700)"
            )
        for name in ("users.lock", "start.lock"):
            self._write(name, "", overwrite=False)
        for role in (OWNER_ROLE, APP_ROLE):
            self._write(f"{role}.password", secrets.token_urlsafe(24), overwrite=False)

    def _write(self, name: str, text: str, *, overwrite: bool = True) -> None:
        path = self.folder / name
        if path.exists() and not overwrite:
            return
        handle, half = tempfile.mkstemp(
            dir=self.folder, prefix=".new-"
        )  # 0600, and never seen half written
        with os.fdopen(handle, "w") as file:
            file.write(text)
        self.user.own(Path(half))
        if overwrite:
            Path(half).replace(path)
            return
        with contextlib.suppress(FileExistsError):
            os.link(half, path)
        Path(half).unlink()

    @contextlib.contextmanager
    def _starting(self) -> Iterator[None]:
        with (self.folder / "start.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _initialise(self) -> None:
        ours = major_version(self.bin_dir, self.user)
        if (self.data / "PG_VERSION").exists():
            theirs = int((self.data / "PG_VERSION").read_text().split(".")[0])
            if theirs != ours:
                raise EmbeddedPostgresError(
                    f"{self.data} was made by PostgreSQL {theirs}, and the programs in "
                    f"{self.bin_dir} are PostgreSQL {ours}: use the programs of version {theirs}, "
                    "or another data folder, or move the data with pg_dump or pg_upgrade"
                )
            return
        half = (
            self.folder / "data.new"
        )  # a set-up that was cut short leaves this, never a half-made `data`
        if half.exists():
            shutil.rmtree(half)
        answer = self.user.run(
            self.bin_dir / "initdb", "-D", half, "-U", OWNER_ROLE,
            f"--pwfile={self.folder / f'{OWNER_ROLE}.password'}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--data-checksums",
        )  # fmt: skip
        if answer.returncode != 0:
            raise EmbeddedPostgresError(
                f"initdb failed: {answer.stderr.strip() or answer.stdout.strip()}"
            )
        with (half / "postgresql.conf").open("a") as settings:
            settings.write("\ninclude '../durak.conf'\n")
        half.rename(self.data)

    def _launch(self) -> None:
        if self._life is not None:
            self._life.wait()  # the server it ran is gone
            self._life = None
        log = self.folder / "log"
        self._write("log", "", overwrite=False)
        account = [] if self.user.uid is None else [str(self.user.uid), str(self.user.gid)]
        command: list[str | Path] = [
            sys.executable,
            "-I",
            embedded_server.__file__,
            self.folder / "users.lock",
            log,
            self.bin_dir / "postgres",
            self.data,
        ]
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            self._write_settings()
            seen = log.stat().st_size
            life = subprocess.Popen(
                [*command, *account],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
            while life.poll() is None and time.monotonic() < deadline:
                if self._postmaster()[2]:
                    self._life = life
                    return
                time.sleep(0.01)
            with log.open(errors="replace") as lines:
                lines.seek(seen)
                reason = lines.read()[-2000:].strip()
            if time.monotonic() > deadline:
                self.stop()
                raise EmbeddedPostgresError(
                    f"Postgres is not ready after {START_TIMEOUT_S:.0f} s on {self.data}: {reason}"
                )
            if (
                "could not create any TCP/IP sockets" in reason
            ):  # somebody took the port: find another
                (self.folder / "port").unlink(missing_ok=True)
            elif (
                "shared memory block" in reason or "postmaster.pid" in reason
            ):  # a killed server's processes are still leaving
                time.sleep(0.05)
            else:
                raise EmbeddedPostgresError(f"Postgres does not start on {self.data}: {reason}")

    def _settle_port(self) -> None:
        """Keep the port over restarts where it can be, so that clients find the server again."""
        # What is left of a server that was killed may hold it for a moment more.
        deadline = time.monotonic() + PORT_PATIENCE_S
        while (self.folder / "port").exists():
            with socket.socket() as probe, contextlib.suppress(OSError, ValueError):
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", self._port()))
                return
            if time.monotonic() > deadline:
                break  # somebody else has it
            time.sleep(0.05)
        self._write("port", str(_free_port()))

    def _write_settings(self) -> None:
        self._settle_port()
        directory = str(self.folder / "run").replace("'", "''") if self._has_socket() else ""
        settings = {
            "listen_addresses": "'127.0.0.1'",
            "port": self._port(),
            "unix_socket_directories": f"'{directory}'",
            "unix_socket_permissions": "0700",
            "max_connections": 200,
            "shared_buffers": "128MB",
            "max_wal_size": "1GB",
            "fsync": "on",
            "synchronous_commit": "on",
            "log_min_messages": "warning",
        }
        self._write(
            "durak.conf", "".join(f"{name} = {value}\n" for name, value in settings.items())
        )

    def _create_roles(self) -> None:
        if (self.folder / "ready").exists():
            return
        password = self._password(APP_ROLE)
        script = f"""
            SELECT 'CREATE ROLE {APP_ROLE}'
            WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APP_ROLE}') \\gexec
            ALTER ROLE {APP_ROLE} LOGIN PASSWORD '{password}';
            SELECT 'CREATE DATABASE {DATABASE}'
            WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '{DATABASE}') \\gexec
        """  # noqa: S608 - psql does not take parameters here; the password is of our own making
        answer = self.user.run(
            self.bin_dir / "psql",
            "-X",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            self.owner_dsn("postgres"),
            stdin=script,
        )
        if answer.returncode != 0:
            raise EmbeddedPostgresError(f"the roles cannot be created: {answer.stderr.strip()}")
        self._write("ready", "")


def _free_port() -> int:
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
