"""More servers for a test: a standby, and clusters that hold a restored backup."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eventstore import EmbeddedPostgres
from eventstore.postgres.roles import OWNER_ROLE
from eventstore.postgres.server_port import choose_free_port


def run(server: EmbeddedPostgres, program: str, *arguments: str | Path) -> str:
    """Run a program of PostgreSQL as the owner of the embedded server. Returns its output."""
    password = (server.folder / f"{OWNER_ROLE}.password").read_text().strip()
    done = server.user.run(server.bin_dir / program, *arguments, env={"PGPASSWORD": password})
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def standby_of(primary: EmbeddedPostgres) -> Iterator[tuple[str, int]]:
    """A read-only standby of a server, with streaming replication. Yields its host and port."""
    port = choose_free_port()
    folder = primary.folder / "standby"
    folder.mkdir(mode=0o700)
    primary.user.own(folder)
    settings = folder / "durak.conf"  # which the copied settings include
    settings.write_text(
        f"listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = ''\n"
        "max_connections = 200\n"
    )
    primary.user.own(settings)
    data = folder / "data"
    host = ("-h", "127.0.0.1", "-p", str(primary.status().port), "-U", OWNER_ROLE)
    run(primary, "pg_basebackup", *host, "-D", data, "-R", "-X", "stream", "-c", "fast")
    run(primary, "pg_ctl", "start", "-s", "-w", "-D", data, "-l", folder / "log")
    try:
        yield "127.0.0.1", port
    finally:
        run(primary, "pg_ctl", "stop", "-s", "-w", "-m", "immediate", "-D", data)
