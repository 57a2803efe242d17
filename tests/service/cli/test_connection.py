"""Advice to callers that the service refuses."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import EmbeddedPostgres
from tests.terminal import Server, Terminal, terminal_of_module

NOWHERE = "00000000-0000-8000-8000-000000000000"


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


def test_a_caller_under_the_login_name_learns_that_name(terminal: Terminal, server: Server) -> None:
    grant = ("grant", "anna", "5", "--role", "player", "--server", server.address)
    refused = terminal.durak(*grant)
    assert refused.returncode == 1
    text, advice = refused.stderr.splitlines()
    assert text == "durak: Your account may not do this."
    assert advice.startswith(f"durak: You called as {getpass.getuser()}, your login name, ")
    assert "You called as" not in terminal.durak(*grant, "--name", "anna").stderr


def test_a_token_of_another_key_names_the_folder_of_that_key(
    terminal: Terminal, server: Server, tmp_path: Path
) -> None:
    other = ("--data-dir", str(tmp_path))
    assert terminal.durak("token", "anna", *other).returncode == 0
    refused = terminal.durak("coins", "--name", "anna", "--server", server.address, *other)
    assert refused.returncode == 1
    assert f"signed with the development key in {tmp_path}." in refused.stderr


def test_a_missing_series_explains_the_id(terminal: Terminal, server: Server) -> None:
    refused = terminal.durak("series", NOWHERE, "--server", server.address)
    assert refused.returncode == 1
    assert "Give the id of the first match of a series" in refused.stderr


@pytest.mark.parametrize(("letters", "code"), [(42, 0), (43, 2)])
def test_a_name_of_more_than_42_cyrillic_letters_is_too_long(
    terminal: Terminal, server: Server, letters: int, code: int
) -> None:
    name = "Я" * letters
    asked = terminal.durak("coins", "--name", name, "--server", server.address)
    assert asked.returncode == code
    assert ("the name is too long" in asked.stderr) == (code == 2)
