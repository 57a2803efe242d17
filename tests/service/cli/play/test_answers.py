"""Answers typed at `durak play`, compared with the match on the server."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from grpc import aio
from pydantic import SecretStr

from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Outcome
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_PLAYING, TableView
from service.config import Config
from service.server import Running, running
from tests.conftest import Database
from tests.terminal import COMMAND

DEADLINE_S = 60.0
ALWAYS_THE_FIRST = "1\n" * 1000  # more answers than a match has moves


def config(database: Database, folder: Path) -> Config:
    return Config(listen_port=0, data_dir=folder, database_url=SecretStr(database.app_dsn))


@asynccontextmanager
async def playing(server: Running, *options: str) -> AsyncIterator[Person]:
    """Run `durak play` as Ann. Kills it at the end if it still runs."""
    folder = str(server.config.data_dir)
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, "play", *options),
        *("--server", server.address, "--data-dir", folder, "--name", "ann"),
        env={name: value for name, value in os.environ.items() if not name.startswith("DURAK_")},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Person(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


class Person:
    """A player who types answers and reads the terminal."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.shown = ""
        self.errors = ""

    def type(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())

    async def read_to(self, text: str) -> str:
        """Read lines up to the first one that contains a text, and return it."""
        assert self.process.stdout is not None
        async with asyncio.timeout(DEADLINE_S):
            while line := (await self.process.stdout.readline()).decode():
                self.shown += line
                if text in line:
                    return line
        raise AssertionError(f"never shown: {text}\n{self.shown}")

    async def end(self, text: str = "") -> int:
        """Type the last answers and close the input. Returns the exit code."""
        async with asyncio.timeout(DEADLINE_S):
            rest, errors = await self.process.communicate(text.encode())
        self.shown += rest.decode()
        self.errors += errors.decode()
        assert self.process.returncode is not None
        return self.process.returncode


async def only_match(server: Running) -> TableView:
    """Return the only match of the server, as Ann sees it."""
    assert server.development_key is not None
    token = server.development_key.mint(
        "ann",
        issuer=server.config.token_issuer,
        audience=server.config.token_audience,
        lifetime_seconds=600,
    )
    metadata = (("authorization", f"Bearer {token}"),)
    async with aio.insecure_channel(server.address) as channel:
        stub: Any = MatchServiceStub(channel)
        (match,) = (await stub.ListMatches(api.ListMatchesRequest(), metadata=metadata)).matches
        request = api.GetMatchRequest(match_id=match.match_id)
        view: TableView = (await stub.GetMatch(request, metadata=metadata)).view
    return view


def result_sentence(view: TableView) -> str:
    """Return the sentence that the terminal must show at the end of a match."""
    names = ["ann", "Bot 1 (easy)"]
    if view.result.outcome == Outcome.OUTCOME_DRAW:
        return "A draw between "
    assert view.result.outcome == Outcome.OUTCOME_PLAYED_OUT
    durak = view.result.durak
    return f"{names[durak]} is the durak. Places: 1. {names[1 - durak]}"


async def test_a_wrong_answer_changes_nothing_and_a_typed_card_is_played(
    database: Database, tmp_path: Path
) -> None:
    async with running(config(database, tmp_path)) as server, playing(server) as person:
        await person.read_to("Your move")
        first = await person.read_to(" 1  ")
        before = await only_match(server)
        for nonsense in ("castle", "99"):
            person.type(nonsense)
            line = await person.read_to("is not a move")
            assert line == f"“{nonsense}” is not a move. Type ? for help.\n"
        assert (await only_match(server)).version == before.version

        # The first choice is to lead, to beat, or to take if no card beats (R4.1, R4.2, R7.2).
        cards = re.findall(r"(?:10|[2-9JQKA])[♣♦♥♠]", first)
        person.type(cards[-1] if cards else "take")
        verb = "leads" if before.your_seat == before.attacker else "beats"
        line = await person.read_to(f"ann {verb}" if cards else "ann says")
        assert not cards or cards[-1] in line
        assert (await only_match(server)).version > before.version


async def test_a_player_can_come_back_after_the_end_of_the_input(
    database: Database, tmp_path: Path
) -> None:
    async with running(config(database, tmp_path)) as server:
        async with playing(server) as person:
            await person.read_to("Your move")
            assert await person.end() == 0, person.errors
        left = await only_match(server)
        assert left.phase == PHASE_PLAYING
        folder = server.config.data_dir
        who = f"--server {server.address} --name ann --data-dir {folder}"
        command = f"durak play {who} --match {left.match_id}"
        assert person.shown.endswith(f"Come back with:\n{command}\n")

        async with playing(server, "--match", left.match_id) as person:
            assert await person.end(ALWAYS_THE_FIRST) == 0, person.errors
        ended = await only_match(server)
    assert ended.phase == PHASE_ENDED
    assert result_sentence(ended) in person.shown
    assert [seat.player_id for seat in ended.seats] == ["ann", ""]
    assert len(ended.seats[0].client_secret) == 32
    assert ended.seats[1].bot_level == BotLevel.BOT_LEVEL_EASY
    assert person.errors == ""
