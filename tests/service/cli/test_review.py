"""`durak review` as a player and an auditor, against a server."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator

import pytest

from eventstore import EventStore
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import Table, opened, settings
from tests.service.matches.test_review import stored
from tests.terminal import COMMAND, SECONDS, Server, Terminal


class Desk:
    """A terminal and a server."""

    def __init__(self, terminal: Terminal, server: Server) -> None:
        self.terminal = terminal
        self.server = server

    def put(self, table: Table) -> str:
        """Store the match of a table, and return its id."""
        return asyncio.run(self._put(table))

    async def _put(self, table: Table) -> str:
        async with await EventStore.open(self.terminal.database.app_dsn) as store:
            return await stored(store, table)

    def run(self, who: str, match_id: str, *more: str) -> subprocess.CompletedProcess[str]:
        place = ("--server", self.server.address, "--name", who)
        return self.terminal.durak("review", match_id, *place, *more)


@pytest.fixture
def desk(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("DURAK_REVIEW_SECONDS_MAX", "25")  # for a busy machine
    with terminal.serving() as server:
        yield Desk(terminal, server)


def lost() -> Table:
    """Return a match in which A leads the wrong card.

    No card of B beats K♦, so B would have to take it, and A would go out with 6♣.
    """
    table = endgame_table("6♣ K♦", "9♣ K♥", trump="♠")
    table.play("A: 6♣", "B: 9♣ beats 6♣", "A: pass", "B: K♥", "A: take")
    return table


def rows(output: str) -> list[list[str]]:
    """Return the cells of each line."""
    return [re.split(r" {2,}", line.strip()) for line in output.splitlines()]


def test_the_move_that_gave_the_win_away_is_shown(desk: Desk) -> None:
    match_id = desk.put(lost())
    done = desk.run("player-A", match_id)
    assert done.returncode == 0, done.stderr
    heads, *moves = rows(done.stdout)
    assert heads == ["Version", "Player", "Move", "Best result", "Better"]
    first = next(at for at, cells in enumerate(moves) if "play 6♣" in cells)
    assert moves[first][2:] == ["play 6♣", "win → loss", "play K♦"]
    assert [cells[2:] for cells in moves[first + 1 : -2]] == [
        ["beat 6♣ with 9♣", "win"],
        ["pass", "loss"],
        ["play K♥", "win"],
        ["take", "loss"],
    ]
    [summary] = moves[-2]
    assert re.fullmatch(r"\S+: kept the result \d+, gave it away [1-9]\d*, not decided 0", summary)
    assert desk.run("olga", match_id, "--role", "auditor").stdout == done.stdout
    russian = desk.run("player-A", match_id, "--language", "ru").stdout
    assert "победа → поражение" in russian
    assert "сыграть К♦" in russian  # a Cyrillic letter, for король


def test_cards_are_coloured_at_a_terminal(desk: Desk) -> None:
    match_id = desk.put(lost())
    words = ("review", match_id, "--server", desk.server.address, "--name", "player-A")
    coloured = subprocess.run(
        [*COMMAND, *words],
        env=desk.terminal.environment({"FORCE_COLOR": "1", "TERM": "xterm"}),
        stdout=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=True,
    ).stdout
    assert re.search(r"\x1b\[1;32m6♣", coloured)
    assert re.search(r"\x1b\[1;34mK♦", coloured)


def test_a_refusal_is_one_sentence_with_an_exit_code(desk: Desk) -> None:
    over, waiting = desk.put(lost()), desk.put(opened(settings()))
    for who, match_id, more in (
        ("eve", over, ()),
        ("olga", waiting, ("--role", "auditor")),
    ):
        done = desk.run(who, match_id, *more)
        assert done.returncode == 1, done.stdout
        assert not done.stdout
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr


def test_a_match_without_an_endgame_has_nothing_to_review(desk: Desk) -> None:
    table = endgame_table("6♥", "7♥ 10♦", "9♣", trump="♠")
    table.play("A: leave")
    done = desk.run("player-A", desk.put(table))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("There is nothing to review")
