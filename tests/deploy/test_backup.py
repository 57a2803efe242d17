"""Case O05: a backup is restored into a new cluster without roles, checked, and serves."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from eventstore import EmbeddedPostgres, EventStore
from tests.conftest import Database, execute, postgres_bin
from tests.eventstore.support import Writer
from tests.service.stored_matches import store_random
from tests.terminal import Terminal, interrupt

SCRIPTS = Path(__file__).parents[2] / "deploy/backup"
SECONDS = 300


def variables(dsn: str, server: EmbeddedPostgres) -> dict[str, str]:
    """The variables of libpq for an address, and the programs of the server."""
    parts = urlsplit(dsn)
    query = parse_qs(parts.query)
    return {
        "PGHOST": query["host"][0],
        "PGPORT": query["port"][0],
        "PGUSER": parts.username or "",
        "PGPASSWORD": unquote(parts.password or ""),
        "PGDATABASE": parts.path.removeprefix("/"),
        "PATH": f"{server.bin_dir}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }


def script(
    name: str, file: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPTS / name, file],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


async def fill(dsn: str) -> None:
    async with await EventStore.open(dsn) as store:
        await store_random(store, 1, seats=2)


async def add(dsn: str) -> None:
    async with await EventStore.open(dsn) as store:
        await Writer(store).add(b"after the restore")


def test_O05_drill_a_backup_is_restored_into_a_new_cluster_without_roles(
    database: Database, postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    asyncio.run(fill(database.app_dsn))
    backup = tmp_path / "durak.dump"
    done = script("backup.sh", backup, variables(database.owner_dsn, postgres))
    assert done.returncode == 0, done.stderr
    assert backup.stat().st_mode & 0o077 == 0
    again = script("backup.sh", backup, variables(database.owner_dsn, postgres))
    assert (again.returncode, again.stderr) == (1, f"backup.sh: {backup} exists already\n")

    with tempfile.TemporaryDirectory(prefix="durak-test-") as folder:
        Path(folder).chmod(0o755)
        with EmbeddedPostgres(Path(folder) / "postgres", postgres_bin()) as other:
            asyncio.run(
                execute(other.owner_dsn(), "DROP OWNED BY durak_app", "DROP ROLE durak_app")
            )
            target = {**variables(other.owner_dsn(), other), "DURAK_DATA_DIR": str(tmp_path)}
            done = script("restore.sh", backup, target)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "ok      rights\n" in done.stdout
            full = script("restore.sh", backup, target)
            assert full.returncode == 1
            assert full.stderr.startswith("restore.sh: the database is not empty")
            asyncio.run(add(other.owner_dsn()))
            restored = Database("durak", other.owner_dsn(), other.owner_dsn())
            with Terminal(restored, tmp_path).serving() as server:
                interrupt(server.process)
            assert server.process.returncode in (0, 130)


def test_a_file_that_is_no_backup_restores_nothing(
    own_postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    asyncio.run(execute(own_postgres.owner_dsn("postgres"), "CREATE DATABASE empty"))
    broken = tmp_path / "durak.dump"
    broken.write_bytes(b"PGDMP")
    done = script("restore.sh", broken, variables(own_postgres.owner_dsn("empty"), own_postgres))
    assert done.returncode != 0
    assert "pg_restore" in done.stderr
