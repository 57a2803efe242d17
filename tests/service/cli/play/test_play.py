"""`durak play`: whole matches, lost connections, Ctrl-C, colours, refusals."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Database
from tests.terminal import Server, Terminal, interrupt, kill, wait_for

ALWAYS_THE_FIRST = "1\n" * 2000
RESULT = r"is the durak|A draw between"


def play(terminal: Terminal, server: Server, *more: str) -> subprocess.Popen[str]:
    return terminal.start("play", "--server", server.address, "--name", "Anna", *more)


def answer(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{text}\n")
    process.stdin.flush()


def test_a_script_plays_a_whole_match_against_bots(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    played = shared_terminal.converse(
        "play", "--server", shared_server.address, "--name", "Anna", "--seats", "3", "--transfer",
        answers=ALWAYS_THE_FIRST,
    )  # fmt: skip

    assert played.returncode == 0, played.stderr
    assert re.search(RESULT, played.stdout)
    assert "\x1b" not in played.stdout  # no colours without a terminal
    listed = shared_terminal.durak("matches").stdout
    assert re.search(r" ended +Anna, Bot 1 \(easy\), Bot 2 \(easy\)  \(36 cards, 3 seats", listed)


def test_two_people_meet_at_a_table_and_see_the_same_moves(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    anna = play(shared_terminal, shared_server, "--bots", "0")
    match_id = wait_for(anna, "--match ")[-1].split()[-1]
    listed = shared_terminal.durak(
        "play", "--server", shared_server.address, "--name", "Vera", "--list"
    )
    assert listed.stdout.startswith(f"{match_id}  1 free  Anna")
    boris = shared_terminal.start(
        "play", "--server", shared_server.address, "--name", "Boris", "--join"
    )
    for player in (anna, boris):
        answer(player, ALWAYS_THE_FIRST)
    shown = [wait_for(player, RESULT) for player in (anna, boris)]
    kill(anna)
    kill(boris)

    moves = [
        [line for line in lines if re.match(r"(Anna|Boris) (leads|beats|throws|transfers)", line)]
        for lines in shown
    ]
    assert moves[0] == moves[1] != []


def test_R10_6_a_match_goes_on_after_a_lost_connection(shared_terminal: Terminal) -> None:
    with shared_terminal.serving() as server:
        anna = play(shared_terminal, server)
        wait_for(anna, "^Your move")
        server.process.kill()
        server.process.wait()
        wait_for(anna, "The connection is lost")
    with shared_terminal.serving(server.port):
        answer(anna, ALWAYS_THE_FIRST)
        lines = wait_for(anna, RESULT)
        kill(anna)
    assert "The connection is back." in lines
    versions = [line for line in lines if line.startswith("Bout ")]
    assert len(versions) == len(set(versions))  # nothing is shown twice


def test_ctrl_c_leaves_the_terminal_with_the_command_to_come_back(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    anna = play(shared_terminal, shared_server)
    wait_for(anna, "^Your move")
    said = interrupt(anna)
    assert anna.returncode == 130
    match_id = said.split()[-1]
    # The command repeats the name: another player has no seat at this table.
    assert f"durak play --server {shared_server.address} --name Anna --match {match_id}" in said

    back = shared_terminal.converse(
        "play", "--server", shared_server.address, "--name", "Anna", "--match", match_id,
        answers="leave\nleave\n",
    )  # fmt: skip
    assert back.returncode == 0, back.stderr
    assert "The match is abandoned: Anna left." in back.stdout


def test_R11_1_help_explains_tricky_tables(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    asked = "?\nquit\n"
    for options, is_explained in (((), False), (("--tricky",), True)):
        played = shared_terminal.converse(
            "play", "--server", shared_server.address, "--name", "Anna", *options, answers=asked
        )
        assert "Type the number of a move" in played.stdout
        assert ("This table is tricky: " in played.stdout) == is_explained


def test_the_match_goes_on_after_the_end_of_the_input(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    played = shared_terminal.converse("play", "--server", shared_server.address, "--name", "Anna")
    assert played.returncode == 0
    assert "The match goes on without this terminal." in played.stdout


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_cards_are_coloured_at_a_terminal_unless_NO_COLOR_is_set(
    shared_terminal: Terminal, shared_server: Server, no_color: str, *, coloured: bool
) -> None:
    colours = {"NO_COLOR": no_color, "TERM": "xterm-256color"}
    with shared_terminal.person(
        "play", "--server", shared_server.address, "--name", "Anna", **colours
    ) as anna:
        anna.read_to("Your move")
        anna.type("quit")
        shown = anna.read_to_the_end()
    suits = re.findall(r"\x1b\[(?:\d+;)*3[124]m", shown)
    assert bool(suits) == coloured


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--deck", "24", "--seats", "6"), 1, "This deck is too small"),
        (("--match", "00000000-0000-8000-8000-000000000000"), 1, "There is no such match"),
        (("--token", "nonsense"), 1, "Your sign-in was not accepted"),
        (("--seats", "2", "--bots", "2"), 2, "leave no seat for you"),
    ],
)
def test_a_refusal_is_one_sentence_and_an_exit_code(
    shared_terminal: Terminal,
    shared_server: Server,
    arguments: tuple[str, ...],
    code: int,
    sentence: str,
) -> None:
    refused = shared_terminal.durak(
        "play", "--server", shared_server.address, "--name", "Anna", *arguments
    )
    assert refused.returncode == code
    assert sentence in refused.stderr
    assert "Traceback" not in refused.stderr


def test_an_unreachable_server_has_exit_code_3(shared_terminal: Terminal) -> None:
    away = shared_terminal.durak("play", "--server", "127.0.0.1:1", "--token", "any")
    assert away.returncode == 3
    assert "no answer from 127.0.0.1:1" in away.stderr
    assert "durak serve" in away.stderr


def test_without_a_key_the_error_says_how_to_get_a_token(
    database: Database, tmp_path: Path
) -> None:
    lost = Terminal(database, tmp_path).durak("play", "--server", "127.0.0.1:1")
    assert lost.returncode == 1
    assert "start a server with `durak serve`" in lost.stderr
