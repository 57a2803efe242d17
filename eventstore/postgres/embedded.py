"""A real PostgreSQL server in a folder of the project, for newcomers and tests.

    with EmbeddedPostgres(Path(".durak/postgres")) as postgres:
        postgres.owner_dsn(), postgres.app_dsn()

The server listens on a Unix socket in that folder and on loopback only, asks for a password
(SCRAM), and syncs every commit to disk.

All processes that use the same folder share one server. Each holds a shared lock on `users.lock`.
The last process to release the lock stops the server. `embedded_server.py` does this for processes
that were killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from eventstore.errors import EmbeddedPostgresError
from eventstore.postgres import embedded_server
from eventstore.postgres.binaries import find_bin_dir, find_reachable_bin_dir, read_major_version
from eventstore.postgres.data_folder import DataFolder
from eventstore.postgres.roles import APP_ROLE, OWNER_ROLE
from eventstore.postgres.server_port import choose_free_port, is_listening, wait_until_free
from eventstore.postgres.server_user import choose_server_user, find_reachable_folder

DATABASE = "durak"
START_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The server of a folder. `pid` and `port` are None if none is running."""

    folder: Path
    pid: int | None
    port: int | None

    @property
    def running(self) -> bool:
        """Whether a server is running."""
        return self.pid is not None


class EmbeddedPostgres:
    """One user of the server of a folder.

    All methods block. Call them from a coroutine with `asyncio.to_thread`.
    """

    def __init__(self, folder: Path, bin_dir: Path | None = None) -> None:
        """Take the folder, and the folder of the PostgreSQL programs if not the default."""
        self.folder = find_reachable_folder(folder)
        self.user = choose_server_user(self.folder)
        self.bin_dir = find_reachable_bin_dir(find_bin_dir(bin_dir), self.user)
        self._files = DataFolder(self.folder, self.user)
        self._users: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

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
        """The data directory of PostgreSQL."""
        return self._files.data

    def start(self) -> Self:
        """Create the folder if it is missing, and start the server unless it is running.

        Raises EmbeddedPostgresError.
        """
        self._files.create((OWNER_ROLE, APP_ROLE))
        if self._users is None:
            self._users = self._files.users_lock.open("rb")
            fcntl.flock(self._users, fcntl.LOCK_SH)  # waits for a shutdown that is in progress
        try:
            with self._lock_start():
                self._initialise()
                if not self.status().running:
                    self._launch()
                self._create_roles()
        except BaseException:
            self.release()
            raise
        return self

    def release(self) -> None:
        """Stop using the server. Without other users, the server has stopped on return."""
        if self._users is None:
            return
        with self._users as users:
            self._users = None
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # Another process uses the server, or its parent process is stopping it. In the
                # second case this waits for the end of the shutdown.
                fcntl.flock(users, fcntl.LOCK_SH)
            else:
                self.stop()
        if self._process is not None:
            if self.status().running:
                self._process.returncode = 0  # prevents a warning: it outlives this process
            else:
                self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Stop the server for all users, if it is running."""
        if not self.status().running:
            return
        answer = self.user.run(
            self.bin_dir / "pg_ctl", "stop", "-s", "-w", "-m", "fast", "-D", self.data
        )
        if answer.returncode != 0 and self.status().running:
            raise EmbeddedPostgresError(f"PostgreSQL does not stop: {answer.stderr.strip()}")

    def status(self) -> ServerStatus:
        """Return the process and port of the running server."""
        process = self._files.read_postmaster()
        # A killed server leaves its pid file behind, and another process may have its pid by now.
        if (
            process is None
            or process.port is None
            or not is_listening(process.port, START_TIMEOUT_SECONDS)
        ):
            return ServerStatus(self.folder, None, None)
        return ServerStatus(self.folder, process.pid, process.port)

    def owner_dsn(self, database: str = DATABASE) -> str:
        """Return the address for migrations. Its role owns the tables."""
        return self._files.make_dsn(OWNER_ROLE, database)

    def app_dsn(self, database: str = DATABASE) -> str:
        """Return the address for the service. Its role may append events and read them."""
        return self._files.make_dsn(APP_ROLE, database)

    @contextlib.contextmanager
    def _lock_start(self) -> Iterator[None]:
        with self._files.start_lock.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _initialise(self) -> None:
        """Create the data directory, or check that these programs can use the existing one."""
        ours = read_major_version(self.bin_dir, self.user)
        if (self.data / "PG_VERSION").exists():
            theirs = int((self.data / "PG_VERSION").read_text().split(".")[0])
            if theirs != ours:
                raise EmbeddedPostgresError(
                    f"{self.data} was made by PostgreSQL {theirs}, and the programs in "
                    f"{self.bin_dir} are PostgreSQL {ours}: use the programs of version {theirs}, "
                    "or another data folder, or move the data with pg_dump or pg_upgrade"
                )
            return
        partial = self.folder / "data.new"  # an interrupted set-up leaves it behind
        if partial.exists():
            shutil.rmtree(partial)
        answer = self.user.run(
            self.bin_dir / "initdb", "-D", partial, "-U", OWNER_ROLE,
            f"--pwfile={self._files.password_file(OWNER_ROLE)}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--data-checksums",
        )  # fmt: skip
        if answer.returncode != 0:
            raise EmbeddedPostgresError(
                f"initdb failed: {answer.stderr.strip() or answer.stdout.strip()}"
            )
        with (partial / "postgresql.conf").open("a") as settings:
            settings.write("\ninclude '../durak.conf'\n")
        partial.rename(self.data)

    def _launch(self) -> None:
        """Start the server and wait until it accepts connections."""
        if self._process is not None:
            self._process.wait()  # its server has ended
            self._process = None
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while True:
            self._write_settings()
            log_start = self._files.log.stat().st_size
            process = self._spawn()
            if self._wait_until_ready(process, deadline):
                self._process = process
                return
            reason = self._read_log(log_start)
            if time.monotonic() > deadline:
                self.stop()
                raise EmbeddedPostgresError(
                    f"PostgreSQL is not ready after {START_TIMEOUT_SECONDS:.0f} s on "
                    f"{self.data}: {reason}"
                )
            self._remove_obstacle(reason)

    def _spawn(self) -> subprocess.Popen[bytes]:
        command: list[str | Path] = [
            sys.executable,
            "-I",
            embedded_server.__file__,
            self._files.users_lock,
            self._files.log,
            self.bin_dir / "postgres",
            self.data,
        ]
        account = [] if self.user.uid is None else [str(self.user.uid), str(self.user.gid)]
        return subprocess.Popen(
            [*command, *account],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    def _wait_until_ready(self, process: subprocess.Popen[bytes], deadline: float) -> bool:
        while process.poll() is None and time.monotonic() < deadline:
            server = self._files.read_postmaster()
            if server is not None and server.is_ready:
                return True
            time.sleep(0.01)
        return False

    def _read_log(self, start: int) -> str:
        with self._files.log.open(errors="replace") as lines:
            lines.seek(start)
            return lines.read()[-2000:].strip()

    def _remove_obstacle(self, reason: str) -> None:
        """Prepare another start. Raises EmbeddedPostgresError if it would fail again."""
        if "could not create any TCP/IP sockets" in reason:
            self._files.remove("port")  # another program has taken it
        elif "shared memory block" in reason or "postmaster.pid" in reason:
            time.sleep(0.05)  # processes of a killed server are still ending
        else:
            raise EmbeddedPostgresError(f"PostgreSQL does not start on {self.data}: {reason}")

    def _choose_port(self) -> int:
        """Return the port of the last start if it is free, so that clients can reconnect."""
        port = self._files.read_port()
        if port is None or not wait_until_free(port):
            port = choose_free_port()
            self._files.write("port", str(port))
        return port

    def _write_settings(self) -> None:
        sockets = str(self._files.sockets).replace("'", "''") if self._files.has_socket else ""
        settings = {
            "listen_addresses": "'127.0.0.1'",
            "port": self._choose_port(),
            "unix_socket_directories": f"'{sockets}'",
            "unix_socket_permissions": "0700",
            "max_connections": 200,
            "shared_buffers": "128MB",
            "max_wal_size": "1GB",
            "fsync": "on",
            "synchronous_commit": "on",
            "log_min_messages": "warning",
        }
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        self._files.write("durak.conf", lines)

    def _create_roles(self) -> None:
        """Create the role of the service and the database, once per folder."""
        if self._files.has("ready"):
            return
        password = self._files.read_password(APP_ROLE)
        script = f"""
            SELECT 'CREATE ROLE {APP_ROLE}'
            WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APP_ROLE}') \\gexec
            ALTER ROLE {APP_ROLE} LOGIN PASSWORD '{password}';
            SELECT 'CREATE DATABASE {DATABASE}'
            WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '{DATABASE}') \\gexec
        """  # noqa: S608 - psql takes no parameters here, and the password has no special characters
        owner_dsn = self._files.make_dsn(OWNER_ROLE, "postgres", with_password=False)
        answer = self.user.run(
            self.bin_dir / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", owner_dsn,
            env={"PGPASSWORD": self._files.read_password(OWNER_ROLE)}, stdin=script,
        )  # fmt: skip
        if answer.returncode != 0:
            raise EmbeddedPostgresError(f"the roles cannot be created: {answer.stderr.strip()}")
        self._files.write("ready", "")
