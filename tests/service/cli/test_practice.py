"""`durak practice` and `durak rules`, without a token."""

from __future__ import annotations

import re

from service.practice.puzzles import read_puzzles
from tests.terminal import Server, Terminal, interrupt, wait_for


def test_a_puzzle_is_chosen_and_solved_at_the_second_try(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    # the first puzzle, take, the same again, not a number, beat, leave
    answers = "1\n2\n2\nsix\n1\n5\n"
    done = shared_terminal.converse("practice", "--server", shared_server.address, answers=answers)
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


def test_a_full_match_against_a_bot_follows_a_puzzle(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    # wait; then a match with always the first legal move
    answers = "2\n4\n" + "1\n" * 2000
    done = shared_terminal.converse(
        "practice", "throw-in-later", "--server", shared_server.address, "--name", "Anna",
        answers=answers,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Right. With best play by both, you win from here." in done.stdout
    assert re.search(r"is the durak|A draw between", done.stdout)
    assert re.search(r"Anna, Bot 1 \(easy\)", shared_terminal.durak("matches").stdout)


def test_puzzles_in_russian_have_russian_cards(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    done = shared_terminal.converse(
        "practice", "last-trump-win", "--server", shared_server.address, "--language", "ru",
        answers="1\n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "  1. Побить Т♥ картой 6♠" in done.stdout
    assert "Верно. Вы выиграли." in done.stdout
    assert "  4. Полная партия против бота" in done.stdout


def test_the_list_of_puzzles_and_a_missing_puzzle(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    listed = shared_terminal.durak("practice", "--list", "--server", shared_server.address)
    assert re.match(r"last-trump-draw +1  The last trump\n", listed.stdout)
    assert len(listed.stdout.splitlines()) == len(read_puzzles()) > 120
    hard = shared_terminal.durak(
        "practice", "--list", "--difficulty", "5", "--server", shared_server.address
    )
    assert {line[26:27] for line in hard.stdout.splitlines()} == {"5"}
    missing = shared_terminal.durak("practice", "no-such", "--server", shared_server.address)
    assert missing.returncode == 1
    assert missing.stderr == "durak: There is no such puzzle. Choose one from the list.\n"


def test_ctrl_c_ends_practice(shared_terminal: Terminal, shared_server: Server) -> None:
    practising = shared_terminal.start(
        "practice", "last-trump-draw", "--server", shared_server.address
    )
    wait_for(practising, "Take")
    assert "Traceback" not in interrupt(practising)
    assert practising.returncode == 130


def test_rules_of_a_table_show_its_settings(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    done = shared_terminal.durak(
        "rules", "--server", shared_server.address, "--seats", "4", "--stake", "10", "--transfer",
        "--clauses",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "Durak\n36 cards · 4 players · perevodnoy (with transfers) · everybody throws in · "
    )
    assert "21 coins for place 1, 13 coins for place 2, 6 coins for place 3." in done.stdout
    assert "  1. The attacker leads any card from their hand" in done.stdout
    assert "(R12.7)" in done.stdout


def test_presets_are_listed_and_have_rules(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    listed = shared_terminal.durak(
        "rules", "--presets", "--server", shared_server.address, "--language", "el"
    )
    assert re.search(r"^duraka-net +Κλασικό για δύο: Δύο παίκτες", listed.stdout)
    done = shared_terminal.durak(
        "rules", "--preset", "duraka-net", "--server", shared_server.address
    )
    assert "The rules come from the preset “Classic for two”" in done.stdout
    refused = shared_terminal.durak(
        "rules", "--preset", "duraka-net", "--seats", "3", "--server", shared_server.address
    )
    assert refused.returncode == 1
