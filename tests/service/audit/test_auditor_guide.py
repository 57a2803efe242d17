"""The commands of docs/auditor.md, run in order, print the output in the guide.

DURAK_TEST_WRITE_GUIDE=1 writes their output into the guide instead, to be reviewed.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest

from domain.audit import Kind
from durak.v1.events_pb2 import Record
from durak.v1.transcript_pb2 import Transcript
from eventstore import EventStore
from service.checkpoints import signing_keys
from service.checkpoints.checkpointer import Checkpointer
from service.checkpoints.signing_keys import NoteKeyError
from service.config import Config
from tests.conftest import Database, execute
from tests.domain.audit.audit_matches import PlayedMatch, random_match
from tests.service.audit.examples import (
    CHALLENGE_SEED,
    PAYOUT_SEED,
    challenge_story,
    payout_story,
    play,
)
from tests.service.stored_matches import store_match
from tests.terminal import Terminal, durak

DOCS = Path(__file__).resolve().parents[3] / "docs"
GUIDE = DOCS / "auditor.md"
LOG_NAME = "durak.example/log"
DAY = "86400"
NO_END = "31536000"
"""Seconds: the matches of the examples ended when they were recorded."""
_PART = re.compile(r"<!-- here: (?P<happens>.*?) -->|```console\n(?P<block>.*?)```", re.DOTALL)
# These differ between runs: times, ids of disputes, keys, signatures, and hashes of the tree, in
# which disputes are leaves.
_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
_KEY = rf"{LOG_NAME}\+[0-9a-f]{{8}}\+[A-Za-z0-9+/=]+"
_SIGNATURE = rf"— {LOG_NAME} [A-Za-z0-9+/=]+"
_ROOT = r"(?<=\n)[A-Za-z0-9+/]{43}=(?=\n)"
_SIBLING = r"(?<=\n)  [0-9a-f]{64}(?=\n)"
_CHANGING = re.compile(f"({_TIME})|({_UUID})|({_KEY})|({_SIGNATURE})|({_ROOT})|({_SIBLING})")
_KINDS = dict(enumerate((_TIME, _UUID, _KEY, _SIGNATURE, _ROOT, _SIBLING), start=1))


def example(name: str) -> PlayedMatch:
    """Return a match of docs/examples from its transcript."""
    transcript = Transcript.FromString((DOCS / "examples" / f"{name}.transcript").read_bytes())
    played = PlayedMatch(transcript.match_id)
    for stored in transcript.records:
        record = Record.FromString(stored.record)
        played.records.append(record)
        played.match.apply(record)
    return played


STAKED, TRICKY = example("staked"), example("tricky")


class Reader:
    """A reader of the guide, who types its commands."""

    def __init__(self, terminal: Terminal, server: str) -> None:
        self.database = terminal.database
        self.folder = terminal.folder
        self.environment = {**terminal.environment(), "DURAK_SERVER": server}
        matches = [str(UUID(bytes=played.match_id)) for played in (STAKED, TRICKY)]
        self.names = dict(zip(matches, matches, strict=True))
        """Ids of the guide → those of this run."""

    def types(self, command: str) -> str:
        """Run a command and return both of its outputs."""
        for theirs, ours in self.names.items():
            command = command.replace(theirs, ours)
        command, _, file = command.partition(" > ")
        program, *arguments = shlex.split(command)
        if program == "durak":
            done = durak(*arguments, environment=self.environment)
            assert done.returncode in {0, 1}, f"{command}\n{done.stdout}{done.stderr}"
        else:
            done = subprocess.run(
                [{"python": sys.executable}[program], *arguments],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        asyncio.run(sign(self.database, self.folder))
        if file:
            Path(file).write_text(done.stdout)
            return done.stderr
        return done.stdout + done.stderr

    def agrees(self, written: str, said: str) -> bool:
        """Return whether the guide has the same output, apart from values that differ between runs.

        Ids of disputes in the output are remembered for later commands.
        """
        pattern = ""
        at = 0
        theirs = []
        for found in _CHANGING.finditer(written):
            pattern += re.escape(written[at : found.start()])
            at = found.end()
            if found[2]:
                theirs.append(found[2])
                pattern += f"({self.names.get(found[2], _UUID)})"
            else:
                pattern += _KINDS[found.lastindex or 0]
        pattern += re.escape(written[at:])
        match = re.fullmatch(pattern, said)
        if match is not None:
            self.names |= dict(zip(theirs, match.groups(), strict=True))
        return match is not None

    def as_written(self, said: str) -> str:
        """Return the output of a command with the ids of the guide."""
        for theirs, ours in self.names.items():
            said = said.replace(ours, theirs)
        return said

    def happens(self, what: str) -> None:
        """Make happen what the guide describes between two commands."""
        if what == "another match ends":
            asyncio.run(self._another_match())
        elif what == "somebody changes the ledger":
            asyncio.run(self._change_ledger())
        else:
            raise AssertionError(what)

    async def _another_match(self) -> None:
        async with await EventStore.open(self.database.app_dsn) as store:
            await store_match(store, random_match(4))
        await sign(self.database, self.folder)

    async def _change_ledger(self) -> None:
        """Move 50 coins from the winner to the second, in the transfers and the balances."""
        match_id = UUID(bytes=STAKED.match_id)
        changes = [
            f"UPDATE {table} SET {column} = {column} {change} WHERE player = '{player}' {where}"
            for player, change in (("Boris", "- 50"), ("Vera", "+ 50"))
            for table, column, where in (
                ("transfers", "coins", f"AND source_id = '{match_id}' AND kind = 5"),
                ("accounts", "available_coins", ""),
            )
        ]
        tables = ("transfers", "accounts")
        disabled = [f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in tables]
        await execute(self.database.owner_dsn, *disabled, *changes)


@pytest.fixture
def reader(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    monkeypatch.setenv("DURAK_DISPUTE_WINDOW_SECONDS", NO_END)
    monkeypatch.setenv("DURAK_CHECKPOINT_INTERVAL_SECONDS", DAY)
    monkeypatch.setenv("COLUMNS", "100")
    shutil.copytree(DOCS, tmp_path / "docs")
    monkeypatch.chdir(tmp_path / "docs" / "examples")
    terminal = Terminal(database, tmp_path)
    signing_keys.make(Config(data_dir=tmp_path).note_key_file, LOG_NAME)
    asyncio.run(_stored(terminal))
    with terminal.serving() as server:
        yield Reader(terminal, server.address)


async def _stored(terminal: Terminal) -> None:
    async with await EventStore.open(terminal.database.app_dsn) as store:
        for played in (STAKED, TRICKY):
            await store_match(store, played)
    await sign(terminal.database, terminal.folder)


async def sign(database: Database, folder: Path) -> None:
    """Sign what the tree lacks: here, so that the leaves of a run are those of the guide."""
    async with await EventStore.open(database.app_dsn) as store:
        with suppress(NoteKeyError):  # after a rotation nothing is signed until it is on record
            await Checkpointer(store, Config(data_dir=folder)).work()


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a block and its output."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, said = part.partition("\n")
        yield command, said


@pytest.mark.timeout(600)
def test_every_command_of_the_guide_prints_the_output_in_the_guide(reader: Reader) -> None:
    guide = GUIDE.read_text("utf-8")
    is_writing = bool(os.environ.get("DURAK_TEST_WRITE_GUIDE"))
    written, at, count = "", 0, 0
    for part in _PART.finditer(guide):
        written += guide[at : part.start()]
        at = part.end()
        if part["happens"]:
            reader.happens(part["happens"])
            written += part[0]
            continue
        block = ""
        for command, expected in commands(part["block"]):
            said = reader.types(command)
            count += 1
            agrees = reader.agrees(expected, said)
            assert agrees or is_writing, f"{command}\n{said}"
            block += f"$ {command}\n{reader.as_written(said)}"
        written += f"```console\n{block}```"
    assert count > 20
    if is_writing:
        GUIDE.write_text(written + guide[at:], "utf-8")


@pytest.mark.parametrize(
    ("name", "story", "seed"),
    [("staked", payout_story, PAYOUT_SEED), ("tricky", challenge_story, CHALLENGE_SEED)],
)
def test_the_matches_of_the_guide_are_what_their_script_makes(
    name: str, story: Callable[[PlayedMatch], bool], seed: int
) -> None:
    played = play(seed)
    assert story(played)
    assert [record for _, record, _ in played.stored] == [
        record.SerializeToString() for record in example(name).records
    ]


def test_the_guide_lists_every_kind_of_finding() -> None:
    guide = GUIDE.read_text("utf-8")
    assert {kind for kind in Kind if f"| `{kind.value}` |" not in guide} == set()
