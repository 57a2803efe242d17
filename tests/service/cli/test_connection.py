"""Advice to callers that the service refuses."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest

from tests.terminal import Server, Terminal

NOWHERE = "00000000-0000-8000-8000-000000000000"


def test_a_caller_under_the_login_name_learns_that_name(
    shared_terminal: Terminal, shared_server: Server
) -> None:
    grant = (
        "grant",
        "anna",
        "5",
        "--reason",
        "a prize",
        "--role",
        "player",
        "--server",
        shared_server.address,
    )
    refused = shared_terminal.durak(*grant)
    assert refused.returncode == 1
    text, advice = refused.stderr.splitlines()
    assert text == "durak: Your account may not do this."
    assert advice.startswith(f"durak: You called as {getpass.getuser()}, your login name, ")
    assert "You called as" not in shared_terminal.durak(*grant, "--name", "anna").stderr


def test_a_token_of_another_key_names_the_folder_of_that_key(
    shared_terminal: Terminal, shared_server: Server, tmp_path: Path
) -> None:
    other = ("--data-dir", str(tmp_path))
    assert shared_terminal.durak("token", "anna", *other).returncode == 0
    refused = shared_terminal.durak(
        "coins", "--name", "anna", "--server", shared_server.address, *other
    )
    assert refused.returncode == 1
    assert f"signed with the development key in {tmp_path}." in refused.stderr


def test_a_missing_series_explains_the_id(shared_terminal: Terminal, shared_server: Server) -> None:
    refused = shared_terminal.durak("series", NOWHERE, "--server", shared_server.address)
    assert refused.returncode == 1
    assert "Give the id of the first match of a series" in refused.stderr


@pytest.mark.parametrize(("letters", "code"), [(42, 0), (43, 2)])
def test_a_name_of_more_than_42_cyrillic_letters_is_too_long(
    shared_terminal: Terminal, shared_server: Server, letters: int, code: int
) -> None:
    name = "Я" * letters
    asked = shared_terminal.durak("coins", "--name", name, "--server", shared_server.address)
    assert asked.returncode == code
    assert ("the name is too long" in asked.stderr) == (code == 2)
