"""The terminal's part in the fair deal (R3.6): secrets on disk, a restart, and `check-deal`."""

from __future__ import annotations

import json
from pathlib import Path
from stat import S_IMODE

import pytest

from service.cli.exits import EXIT_FAILED, EXIT_UNPROVEN
from tests.terminal import Server, Terminal, kill, wait_for

ALWAYS_THE_FIRST = "1\n" * 2000
VERIFIED = "Deal verified with your secret"


@pytest.fixture(scope="module")
def match_id(shared_terminal: Terminal, shared_server: Server) -> str:
    """A finished match of Anna and Boris. Anna's terminal was killed before the reveal."""
    server = ("--server", shared_server.address)
    anna = shared_terminal.start("play", *server, "--name", "Anna", "--bots", "0")
    match_id = wait_for(anna, "--match ")[-1].split()[-1]
    kill(anna)
    boris = shared_terminal.start("play", *server, "--name", "Boris", "--join")
    anna = shared_terminal.start("play", *server, "--name", "Anna", "--match", match_id)
    for player in (anna, boris):
        assert player.stdin is not None
        player.stdin.write(ALWAYS_THE_FIRST)
        player.stdin.flush()
    try:
        for player in (anna, boris):
            wait_for(player, VERIFIED)
    finally:
        for player in (anna, boris):
            kill(player)
    return match_id


def check(terminal: Terminal, server: Server, match_id: str, name: str) -> tuple[int, str]:
    done = terminal.durak("check-deal", match_id, "--server", server.address, "--name", name)
    assert done.stderr == ""
    return done.returncode, done.stdout


def secrets(terminal: Terminal) -> list[Path]:
    return sorted((terminal.folder / "secrets").iterdir())


@pytest.mark.parametrize("name", ["Anna", "Boris"])
def test_R3_6_a_terminal_that_was_restarted_reveals_and_each_player_verifies_the_deal(
    shared_terminal: Terminal, shared_server: Server, match_id: str, name: str
) -> None:
    code, said = check(shared_terminal, shared_server, match_id, name)
    assert (code, said.partition(":")[0]) == (0, VERIFIED)


def test_R3_6_files_of_secrets_are_readable_by_their_owner_only(
    shared_terminal: Terminal, match_id: str
) -> None:
    files = secrets(shared_terminal)
    assert [file.name[:36] for file in files] == [match_id, match_id]
    assert [S_IMODE(file.stat().st_mode) for file in files] == [0o600, 0o600]
    assert S_IMODE(files[0].parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("promise", ["secret", "server_seed_hash", "client_seed_hashes"])
def test_R3_6_a_deal_that_does_not_follow_from_what_the_player_kept_is_false(
    shared_terminal: Terminal, shared_server: Server, match_id: str, promise: str
) -> None:
    """The server shows another secret or promise than before the reveal: the deal is false."""
    files = secrets(shared_terminal)
    genuine = {file: file.read_text("utf-8") for file in files}
    for file, text in genuine.items():
        content = json.loads(text)
        if promise == "secret":
            content["secret"] = "00" * 32
        elif promise == "server_seed_hash":
            content["known"][promise] = "00" * 32
        else:
            content["known"][promise].reverse()
        file.write_text(json.dumps(content), "utf-8")
    try:
        code, said = check(shared_terminal, shared_server, match_id, "Anna")
    finally:
        for file, text in genuine.items():
            file.write_text(text, "utf-8")
    assert code == EXIT_FAILED
    assert said.startswith("THE DEAL IS FALSE: ")


def test_R3_6_without_the_secret_the_deal_is_not_checked(
    shared_terminal: Terminal, shared_server: Server, match_id: str
) -> None:
    kept = shared_terminal.folder / "secrets"
    hidden = kept.rename(kept.with_name("hidden"))
    try:
        code, said = check(shared_terminal, shared_server, match_id, "Anna")
    finally:
        hidden.rename(kept)
    assert code == EXIT_UNPROVEN
    assert said.startswith("The deal cannot be checked: ")
