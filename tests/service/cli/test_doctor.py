"""`durak doctor`, and what commands say of a database that is wrong or away."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from eventstore.postgres.server_port import choose_free_port
from service.checkpoints import signing_keys
from tests.conftest import Database, execute
from tests.terminal import COMMAND, SECONDS, Terminal, durak

ALL_WELL = """\
ok      connection, role and primary
ok      version of PostgreSQL
ok      durability
ok      schema
ok      rights
ok      writes
ok      settings
ok      clock
ok      checkpoint keys
ok      published checkpoint
"""
READING_COMMANDS = (
    ("doctor",),
    ("migrate",),
    ("rebuild",),
    ("matches",),
    ("show", "00000000-0000-0000-0000-000000000001"),
    ("replay", "00000000-0000-0000-0000-000000000001"),
    ("export", "00000000-0000-0000-0000-000000000001"),
    ("audit", "--all"),
    ("audit", "payouts"),
    ("audit", "checkpoint"),
)


def database_lines(database: Database, *statements: str) -> None:
    asyncio.run(execute(database.owner_dsn, *statements))


@pytest.fixture
def terminal(database: Database, tmp_path: Path) -> Terminal:
    return Terminal(database, tmp_path)


def test_a_line_for_each_check_and_success(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DURAK_CHECKPOINT_FOLDER", str(terminal.folder / "published"))
    signing_keys.make(terminal.folder / "checkpoint-key", "durak.example/log")
    done = terminal.durak("doctor")
    assert (done.stdout, done.stderr, done.returncode) == (ALL_WELL, "", 0)


def test_what_the_service_can_do_without_is_advice(terminal: Terminal) -> None:
    done = terminal.durak("doctor")
    assert done.returncode == 0
    assert [line.partition(":")[0] for line in done.stdout.splitlines()[-2:]] == [
        "ADVICE  checkpoint keys",
        "ADVICE  published checkpoint",
    ]


@pytest.mark.parametrize(
    ("breaking", "line"),
    [
        ("REVOKE SELECT ON ratings FROM durak_app", "rights: durak_app lacks SELECT on ratings"),
        ("DELETE FROM schema_migrations WHERE version = 6", "schema: the database lacks migra"),
        (
            "ALTER DATABASE {name} SET default_transaction_read_only = on",
            "connection, role and primary: ",
        ),
        (
            "ALTER DATABASE {name} SET idle_session_timeout = '1min'",
            "settings: idle_session_timeout is 60000, and must be 0",
        ),
        (
            "ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'",
            "settings: default_transaction_isolation is serializable",
        ),
    ],
    ids=["right", "schema", "read_only", "idle", "isolation"],
)
def test_a_failed_check_names_the_fault(terminal: Terminal, breaking: str, line: str) -> None:
    database_lines(terminal.database, breaking.format(name=terminal.database.name))
    done = terminal.durak("doctor")
    if "read_only" in breaking:
        assert done.returncode == 3
        assert done.stderr.startswith("durak: the database cannot be reached: ")
        return
    assert done.returncode == 1
    assert f"FAILED  {line}" in done.stdout


@pytest.mark.parametrize("arguments", READING_COMMANDS, ids=" ".join)
def test_every_command_reports_a_database_that_is_away(
    terminal: Terminal, arguments: tuple[str, ...]
) -> None:
    done = durak(*arguments, environment={**terminal.environment(), "DURAK_DATABASE_URL": away()})
    assert done.returncode == 3
    assert done.stderr.startswith("durak: the database cannot be reached: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [("doctor",), ("migrate",), ("matches",)], ids=" ".join)
@pytest.mark.parametrize(
    ("part", "wrong", "reason"),
    [
        ("{name}", "nothing", "refused the login"),
        ("durak_app:", "durak_app:x", "refused the login"),
        ("postgresql://", "postgresql://[", "the database address is not valid"),
    ],
    ids=["name", "password", "address"],
)
def test_a_wrong_address_is_reported_in_one_line(
    terminal: Terminal, arguments: tuple[str, ...], part: str, wrong: str, reason: str
) -> None:
    database = terminal.database
    dsn = database.app_dsn.replace(part.format(name=database.name), wrong)
    done = durak(*arguments, environment={**terminal.environment(), "DURAK_DATABASE_URL": dsn})
    assert done.returncode == 1
    [line] = [line for line in f"{done.stdout}{done.stderr}".splitlines() if reason in line]
    assert line.startswith(("durak: ", "FAILED  connection"))
    assert "bug in durak" not in done.stderr


@pytest.mark.parametrize("command", ["serve", "doctor"])
def test_a_terminal_with_another_encoding_gets_a_line_and_no_traceback(
    terminal: Terminal, command: str
) -> None:
    done = subprocess.run(
        [*COMMAND, command],
        env=terminal.environment(
            {
                "DURAK_DATABASE_URL": away(),
                "LC_ALL": "C",
                "PYTHONIOENCODING": "latin-1",
                "PYTHONUTF8": "0",
                "TERM": "dumb",
            }
        ),
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.decode("ascii").startswith("durak: the database cannot be reached: ")
    assert b"Traceback" not in done.stderr


def away() -> str:
    """The address of a server that does not run."""
    return f"postgresql://durak_app@127.0.0.1:{choose_free_port()}/durak"
