"""`durak practice` and `durak rules`, without a token."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from eventstore import EmbeddedPostgres
from tests.terminal import Server, Terminal, interrupt, terminal_of_module, wait_for


@pytest.fixture(scope="module")
def terminal(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal]:
    with terminal_of_module(postgres, tmp_path_factory) as made:
        yield made


@pytest.fixture(scope="module")
def server(terminal: Terminal) -> Iterator[Server]:
    with terminal.serving() as running:
        yield running


def test_a_puzzle_is_chosen_and_solved_at_the_second_try(
    terminal: Terminal, server: Server
) -> None:
    # the first puzzle, take, the same again, not a number, beat, leave
    answers = "1\n2\n2\nsix\n1\n5\n"
    done = terminal.converse("practice", "--server", server.address, answers=answers)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["Puzzles, the easiest first:", "  1. The last trump (difficulty 1)"]
    assert "Not the best. You lose." in lines
    assert "Type a number from 1 to 2." in lines
    right = lines.index("Right. It is a draw.")
    assert lines[right - 4 : right] == [
        "  You beat A♥ with 6♠.",
        "  2 cards go to the discard pile.",
        "  Both hands are empty.",
        "  A draw.",
    ]
    assert "\x1b" not in done.stdout


def test_a_full_match_against_a_bot_follows_a_puzzle(terminal: Terminal, server: Server) -> None:
    # wait; then a match with always the first legal move
    answers = "2\n4\n" + "1\n" * 2000
    done = terminal.converse(
        "practice", "throw-in-later", "--server", server.address, "--name", "Anna",
        answers=answers,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Right. With best play by both, you win from here." in done.stdout
    assert re.search(r"is the durak|A draw between", done.stdout)
    assert re.search(r"Anna, Bot 1 \(easy\)", terminal.durak("matches").stdout)


def test_puzzles_in_russian_have_russian_cards(terminal: Terminal, server: Server) -> None:
    done = terminal.converse(
        "practice", "last-trump-win", "--server", server.address, "--language", "ru",
        answers="1\n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "  1. Побить Т♥ картой 6♠" in done.stdout
    assert "Верно. Вы выиграли." in done.stdout
    assert "  4. Полная партия против бота" in done.stdout


def test_the_list_of_puzzles_and_a_missing_puzzle(terminal: Terminal, server: Server) -> None:
    listed = terminal.durak("practice", "--list", "--server", server.address)
    assert re.match(r"last-trump-draw +1  The last trump\n", listed.stdout)
    missing = terminal.durak("practice", "no-such", "--server", server.address)
    assert missing.returncode == 1
    assert missing.stderr == "durak: There is no such puzzle. Choose one from the list.\n"


def test_ctrl_c_ends_practice(terminal: Terminal, server: Server) -> None:
    practising = terminal.start("practice", "last-trump-draw", "--server", server.address)
    wait_for(practising, "Take")
    assert "Traceback" not in interrupt(practising)
    assert practising.returncode == 130


def test_rules_of_a_table_show_its_settings(terminal: Terminal, server: Server) -> None:
    done = terminal.durak(
        "rules", "--server", server.address, "--seats", "4", "--stake", "10", "--transfer",
        "--clauses",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "Durak\n36 cards · 4 players · perevodnoy (with transfers) · everybody throws in · "
    )
    assert "21 coins for place 1, 13 coins for place 2, 6 coins for place 3." in done.stdout
    assert "  1. The attacker leads any card from their hand" in done.stdout
    assert "(R12.7)" in done.stdout


def test_presets_are_listed_and_have_rules(terminal: Terminal, server: Server) -> None:
    listed = terminal.durak("rules", "--presets", "--server", server.address, "--language", "el")
    assert re.search(r"^duraka-net +Κλασικό για δύο: Δύο παίκτες", listed.stdout)
    done = terminal.durak("rules", "--preset", "duraka-net", "--server", server.address)
    assert "The rules come from the preset “Classic for two”" in done.stdout
    refused = terminal.durak(
        "rules", "--preset", "duraka-net", "--seats", "3", "--server", server.address
    )
    assert refused.returncode == 1
