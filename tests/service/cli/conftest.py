"""Terminals and servers for the tests of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import EmbeddedPostgres
from tests.conftest import Database, fresh_database
from tests.terminal import Server, Terminal


@pytest.fixture
def terminal(database: Database, tmp_path: Path) -> Terminal:
    """A terminal with a database and a data folder of the test."""
    return Terminal(database, tmp_path)


@pytest.fixture
def server(terminal: Terminal) -> Iterator[Server]:
    """A server of the test."""
    with terminal.serving() as running:
        yield running


@pytest.fixture(scope="module")
def shared_terminal(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal]:
    """A terminal whose database and data folder all tests of a module share."""
    with fresh_database(postgres) as database:
        yield Terminal(database, tmp_path_factory.mktemp("durak"))


@pytest.fixture(scope="module")
def shared_server(shared_terminal: Terminal) -> Iterator[Server]:
    """A server that all tests of a module share."""
    with shared_terminal.serving() as running:
        yield running
