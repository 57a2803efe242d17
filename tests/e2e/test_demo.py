"""The front door as a newcomer opens it: `durak demo`, then the log of its match."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Database


def durak(*arguments: str, database: Database, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "DURAK_DATABASE_URL": database.app_dsn,
        "DURAK_DATA_DIR": str(folder),
    }
    command = [sys.executable, "-c", "from service.cli.main import main; main()", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=100, check=False
    )


@pytest.mark.timeout(120)
def test_the_demo_replays_its_match_and_the_log_can_be_read(
    database: Database, tmp_path: Path
) -> None:
    demo = durak("demo", database=database, folder=tmp_path)

    assert demo.returncode == 0, demo.stderr
    first, *transcript, last = demo.stdout.splitlines()
    told = re.fullmatch(r"replay identical: (\d+) events", last)
    assert told is not None
    events = int(told[1])
    assert [int(line[:5]) for line in transcript] == list(range(1, events + 1))
    assert "finished:" in transcript[-1]

    match_id = first.removeprefix("match ")
    replayed = durak("replay", match_id, "--spectator", database=database, folder=tmp_path)
    assert replayed.stdout.splitlines() == transcript

    exported = durak("export", match_id, database=database, folder=tmp_path).stdout.splitlines()
    assert [json.loads(line)["version"] for line in exported] == list(range(1, events + 1))

    shown = durak("show", match_id, "--at", "6", database=database, folder=tmp_path).stdout
    hands = re.findall(r"hand of seat \d: (.*)", shown)
    assert [len(hand.split()) for hand in hands] == [6, 6, 6, 6]
    closed = durak("show", match_id, "--at", "6", "--as", "0", database=database, folder=tmp_path)
    assert hands[0] in closed.stdout
    assert not any(hand in closed.stdout for hand in hands[1:])


def test_a_match_that_is_not_there_is_one_clear_sentence(
    database: Database, tmp_path: Path
) -> None:
    missing = "00000000-0000-8000-8000-000000000000"

    shown = durak("show", missing, database=database, folder=tmp_path)

    assert shown.returncode == 1
    assert shown.stderr == f"Error: there is no match {missing} in this database\n"


def test_a_database_that_is_away_is_exit_code_3(tmp_path: Path) -> None:
    away = Database("away", "", "postgresql://nobody@127.0.0.1:1/none")

    shown = durak("show", "00000000-0000-8000-8000-000000000000", database=away, folder=tmp_path)

    assert shown.returncode == 3
    assert shown.stderr.startswith("durak: the database cannot be reached")


def test_a_wrong_setting_is_named_and_is_exit_code_2(database: Database, tmp_path: Path) -> None:
    served = durak("serve", "--port", "70000", database=database, folder=tmp_path)

    assert served.returncode == 2
    assert "--port" in served.stderr


def test_a_token_has_three_parts_and_nothing_else_is_printed(
    database: Database, tmp_path: Path
) -> None:
    made = durak("token", "anna", "--role", "auditor", database=database, folder=tmp_path)

    assert made.returncode == 0, made.stderr
    header, claims, signature = made.stdout.strip().split(".")
    assert header
    assert claims
    assert signature
