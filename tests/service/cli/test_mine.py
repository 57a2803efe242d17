"""`durak practice --mine` on matches of bots, of the database and of files."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

import pytest

from domain.practice import Puzzle, parse_puzzles
from eventstore import EventStore
from tests.conftest import execute
from tests.domain.practice.test_mining import gave_away
from tests.service.matches.test_review import stored
from tests.terminal import Terminal

BOTS = ("--matches", "40")


def puzzles_of(file: Path) -> list[Puzzle]:
    return parse_puzzles(tomllib.loads(file.read_text()))


def store(terminal: Terminal) -> str:
    """Store a match in which a player gave a win away."""

    async def stored_match() -> str:
        async with await EventStore.open(terminal.database.app_dsn) as opened:
            return await stored(opened, gave_away())

    return asyncio.run(stored_match())


def test_puzzles_of_bot_matches_depend_only_on_the_seed(terminal: Terminal) -> None:
    files = [terminal.folder / name for name in ("one", "same", "other")]
    for file, seed in zip(files, "112", strict=True):
        done = terminal.durak(
            "practice", "--mine", *BOTS, "--count", "5", "--seed", seed, "-o", str(file)
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr.endswith("5 puzzles from 40 matches\n")
        assert len(puzzles_of(file)) == 5
    one, same, other = (file.read_text() for file in files)
    assert one == same != other


def test_a_service_offers_the_mined_puzzles(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = terminal.folder / "more.toml"
    done = terminal.durak("practice", "--mine", *BOTS, "--seed", "2", "-o", str(file))
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("DURAK_PRACTICE_PUZZLES", str(file))
    with terminal.serving() as server:
        listed = terminal.durak("practice", "--list", "--server", server.address)
    assert {puzzle.id for puzzle in puzzles_of(file)} <= set(listed.stdout.split())

    file.write_text("[broken]\ndifficulty = 1\n")
    done = terminal.converse("serve", "--port", "0")
    assert done.returncode == 1
    assert done.stderr.endswith(f"durak: {file}: broken: KeyError('trump')\n")


def test_puzzles_of_the_matches_in_the_database(terminal: Terminal) -> None:
    first, corrupt = store(terminal), store(terminal)
    change = f"UPDATE events SET record = record || 'x' WHERE stream_id = '{corrupt}'"
    trigger = "ALTER TABLE events DISABLE TRIGGER events_append_only"
    asyncio.run(execute(terminal.database.owner_dsn, trigger, change))
    done = terminal.durak("practice", "--mine", "--source", "database")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        f"durak: match {corrupt} is corrupt and was left out",
        "1 puzzles from 1 matches",
    ]
    assert first not in done.stdout
    assert len(parse_puzzles(tomllib.loads(done.stdout))) == 1


def test_puzzles_of_an_exported_match(terminal: Terminal) -> None:
    transcript, output = terminal.folder / "match", terminal.folder / "puzzles.toml"
    done = terminal.durak("audit", "export", store(terminal), "-o", str(transcript))
    assert done.returncode == 0, done.stderr
    arguments = ("practice", "--mine", "--source", str(transcript), "-o", str(output))
    done = terminal.durak(*arguments)
    assert (done.returncode, done.stderr) == (0, "1 puzzles from 1 matches\n")
    assert len(puzzles_of(output)) == 1

    transcript.write_bytes(transcript.read_bytes().replace(b"player-A", b"player-X"))
    done = terminal.durak(*arguments)
    assert done.returncode == 1
    assert "is not a transcript of a match: the hash chain breaks" in done.stderr


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("/nowhere", "durak: /nowhere cannot be read: No such file or directory\n"),
        ("/dev/null", "durak: /dev/null is not a transcript of a match: "),
        ("database", "durak: no puzzles in 0 finished matches of two seats\n"),
    ],
)
def test_a_source_without_puzzles_is_refused(
    terminal: Terminal, source: str, complaint: str
) -> None:
    done = terminal.durak("practice", "--mine", "--source", source)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(complaint)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--count", "5"), "--count is for --mine only"),
        (("last-transfer", "--mine"), "--mine takes no PUZZLE"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    terminal: Terminal, arguments: tuple[str, ...], complaint: str
) -> None:
    done = terminal.durak("practice", *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
