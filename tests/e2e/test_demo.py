"""The first commands of a newcomer: `durak demo`, then reading the log of its match."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from service.cli.main import COMMANDS, durak
from tests.conftest import Database, execute
from tests.terminal import Terminal


@pytest.fixture
def terminal(database: Database, tmp_path: Path) -> Terminal:
    return Terminal(database, tmp_path)


@pytest.mark.timeout(120)
def test_the_demo_replays_its_match_and_the_log_can_be_read(terminal: Terminal) -> None:
    demo = terminal.converse("demo")

    assert demo.returncode == 0, demo.stderr
    first, *transcript, verified, last = demo.stdout.splitlines()
    assert verified == "deal verified with the secrets of Anna, Boris, Vera, Gleb"
    verdict = re.fullmatch(r"replay identical: (\d+) events", last)
    assert verdict is not None
    events = int(verdict[1])
    numbers = [int(line[:5]) for line in transcript if line[:5].strip().isdigit()]
    assert numbers == list(range(1, events + 1))
    bouts = [int(bout) for bout in re.findall(r"^Bout (\d+): ", demo.stdout, re.MULTILINE)]
    assert bouts == list(range(1, len(bouts) + 1)) != []
    assert re.search(r"is the durak|A draw between", transcript[-1])

    match_id = first.removeprefix("match ")
    assert match_id in terminal.durak("matches").stdout
    replayed = terminal.durak("replay", match_id, "--spectator")
    assert replayed.stdout.splitlines() == transcript

    exported = terminal.durak("export", match_id).stdout.splitlines()
    assert [json.loads(line)["version"] for line in exported] == list(range(1, events + 1))

    shown = terminal.durak("show", match_id, "--at", "10").stdout
    hands = re.findall(r"Hand of \w+: (.*)", shown)
    assert [len(hand.replace("│ ", "").split()) for hand in hands] == [6, 6, 6, 6]
    closed = terminal.durak("show", match_id, "--at", "10", "--as", "0").stdout
    assert f"Your hand: {hands[0]}" in closed
    assert not any(hand in closed for hand in hands[1:])
    open_to_all = terminal.durak("show", match_id, "--at", "10", "--spectator").stdout
    assert not any(hand in open_to_all for hand in hands)


@pytest.mark.timeout(120)
def test_the_demo_of_a_staked_tricky_table_counts_its_coins_and_replays(
    terminal: Terminal,
) -> None:
    demo = terminal.converse("demo", "--stake", "100", "--tricky")

    assert demo.returncode == 0, demo.stderr
    *transcript, _, coins, last = demo.stdout.splitlines()
    assert re.fullmatch(r"replay identical: \d+ events", last)
    assert "Coins paid out: Anna " in transcript[-1]
    balances = re.fullmatch(r"coins: Anna (\d+), Boris (\d+), Vera (\d+), Gleb (\d+)", coins)
    assert balances is not None
    granted = sum(map(int, balances.groups()))
    assert granted == 4 * (1000 + 100), "each player gets a grant that covers the stake"
    # Boris never says "take". He plays any card he holds, and every second one is challenged.
    assert "Boris says “take”" not in demo.stdout
    challenges = set(re.findall(r"\w+ challenges what .*", demo.stdout))
    assert challenges == {"Anna challenges what Boris played: it was illegal."}


def test_a_log_that_was_changed_is_not_replayed(terminal: Terminal) -> None:
    match_id = terminal.converse("demo").stdout.splitlines()[0].removeprefix("match ")
    asyncio.run(
        execute(
            terminal.database.owner_dsn,
            "ALTER TABLE events DISABLE TRIGGER USER",
            "UPDATE events SET record = record || '\\x00' "
            f"WHERE stream_id = '{match_id}' AND version = 7",
        )
    )

    replayed = terminal.durak("replay", match_id)

    assert (replayed.returncode, replayed.stdout) == (1, "")
    assert replayed.stderr == "durak: the log is corrupt: the hash chain breaks at version 7\n"


def test_a_missing_match_gives_one_clear_sentence(terminal: Terminal) -> None:
    missing = "00000000-0000-8000-8000-000000000000"

    shown = terminal.durak("show", missing)

    assert shown.returncode == 1
    assert shown.stderr == f"durak: there is no match {missing} in this database\n"


def test_an_unreachable_database_gives_exit_code_3(tmp_path: Path) -> None:
    away = Terminal(Database("away", "", "postgresql://nobody@127.0.0.1:1/none"), tmp_path)

    shown = away.durak("show", "00000000-0000-8000-8000-000000000000")

    assert shown.returncode == 3
    assert shown.stderr.startswith("durak: the database cannot be reached")


def test_a_malformed_database_address_gives_one_clear_sentence(tmp_path: Path) -> None:
    shown = Terminal(Database("none", "", "no address"), tmp_path).durak("matches")

    assert shown.returncode == 1
    assert shown.stderr.startswith("durak: the database address is not valid")


def test_a_wrong_setting_is_named_and_gives_exit_code_2(terminal: Terminal) -> None:
    served = terminal.durak("serve", "--port", "70000")

    assert served.returncode == 2
    assert "--port" in served.stderr


def test_durak_token_prints_only_a_token_of_three_parts(terminal: Terminal) -> None:
    made = terminal.durak("token", "anna", "--role", "auditor")

    assert made.returncode == 0, made.stderr
    header, claims, signature = made.stdout.strip().split(".")
    assert header
    assert claims
    assert signature


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    helped = CliRunner().invoke(durak, [command, "--help"])

    assert helped.exit_code == 0
    assert helped.output.startswith(f"Usage: durak {command} ")
