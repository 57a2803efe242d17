"""The clients in docs/game-client.md play against a service, and their check of the deal works."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest

from durak.v1 import events_pb2
from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import BOT_LEVEL_EASY, DECK_36, THROW_IN_ALL, Settings
from tests.conftest import Database
from tests.terminal import SECONDS, Terminal

PROJECT = Path(__file__).parents[3]
GUIDE = (PROJECT / "docs/game-client.md").read_text()


class Service(NamedTuple):
    """A running service and a token for it."""

    address: str
    token: str


def code_of_guide(language: str, mark: str) -> str:
    """The only code block of the guide that contains `mark`."""
    blocks = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    (code,) = [block for block in blocks if mark in block]
    return str(code)


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[Service]:
    """A service, started as in the guide."""
    terminal = Terminal(database, tmp_path)
    with terminal.serving() as server:
        yield Service(server.address, terminal.durak("token", "anna").stdout.strip())


def played(command: list[str | Path], folder: Path) -> str:
    """The output of a client until its match has ended."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_client_plays_to_the_end(service: Service, tmp_path: Path) -> None:
    client = tmp_path / "client.py"
    client.write_text(code_of_guide("python", "def main("))
    assert "over: outcome: OUTCOME_" in played([sys.executable, client, *service], tmp_path)


def test_the_check_of_the_deal_accepts_an_honest_deal_and_rejects_a_changed_one(
    service: Service,
) -> None:
    guide: dict[str, Any] = {}
    exec(code_of_guide("python", "def deck_of("), guide)
    match_id, events = asyncio.run(events_of_a_match(service))
    deck = guide["check"](match_id, events)
    assert len(deck) == len(set(deck)) == DECK_36

    seed = bytearray(events[-1].finished.server_seed)
    seed[0] ^= 1
    events[-1].finished.server_seed = bytes(seed)
    with pytest.raises(AssertionError):
        guide["check"](match_id, events)


async def events_of_a_match(service: Service) -> tuple[str, list[events_pb2.Event]]:
    """Play a match of three bots. Return its id and its events, as shown to a spectator."""
    metadata = [("authorization", f"Bearer {service.token}")]
    async with grpc.aio.insecure_channel(service.address) as channel:
        stub = MatchServiceStub(channel)
        settings = Settings(deck=DECK_36, seats=3, throw_in=THROW_IN_ALL)
        opening = api.OpenTableRequest(request_id=str(uuid.uuid4()), settings=settings)
        match_id = (await stub.OpenTable(opening, metadata=metadata)).view.match_id
        for _ in range(3):
            seating = api.SeatBotRequest(match_id=match_id, level=BOT_LEVEL_EASY)
            seating.request_id = str(uuid.uuid4())
            await stub.SeatBot(seating, metadata=metadata)
        watch = api.WatchMatchRequest(match_id=match_id)
        messages = stub.WatchMatch(watch, metadata=metadata, timeout=SECONDS)
        return match_id, [
            message.event.event async for message in messages if message.HasField("event")
        ]


@pytest.mark.skipif(
    not (shutil.which("node") and "DURAK_TEST_NODE_MODULES" in os.environ),
    reason="needs node, and in DURAK_TEST_NODE_MODULES the packages that the guide names",
)
def test_the_javascript_client_plays_to_the_end(service: Service, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(os.environ["DURAK_TEST_NODE_MODULES"])
    client = tmp_path / "client.mjs"
    client.write_text(code_of_guide("js", "MatchService"))
    command: list[str | Path] = ["node", client, *service, PROJECT / "proto"]
    assert "over: {" in played(command, tmp_path)
