"""Opening, listing, joining and leaving tables with `durak play`."""

import asyncio
import signal
import uuid
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from grpc import aio

from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import DECK_36, Settings
from durak.v1.table_pb2 import PHASE_WAITING
from tests.conftest import Database
from tests.terminal import Server, Terminal


async def waiting_rematch(address: str, tokens: list[str]) -> None:
    """Make a rematch that waits for one of its two players."""
    anna, boris = ((("authorization", f"Bearer {token}"),) for token in tokens)
    async with aio.insecure_channel(address) as channel:
        stub = MatchServiceStub(channel)

        def new_id() -> str:
            return str(uuid.uuid4())

        opening = api.OpenTableRequest(
            request_id=new_id(), settings=Settings(deck=DECK_36, seats=2)
        )
        match_id = (await stub.OpenTable(opening, metadata=anna)).view.match_id
        for player in (anna, boris):
            seat = api.TakeSeatRequest(match_id=match_id, request_id=new_id())
            await stub.TakeSeat(seat, metadata=player)
        leaving = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
        await stub.LeaveMatch(leaving, metadata=anna)
        again = api.RematchRequest(match_id=match_id, request_id=new_id())
        assert (await stub.Rematch(again, metadata=boris)).view.phase == PHASE_WAITING


def test_R13_1_a_rematch_is_not_offered_to_others(terminal: Terminal, server: Server) -> None:
    tokens = [terminal.durak("token", name).stdout.strip() for name in ("anna", "boris")]
    asyncio.run(waiting_rematch(server.address, tokens))
    vera = ("play", "--server", server.address, "--name", "Vera")
    listed = terminal.durak(*vera, "--list")
    joined = terminal.durak(*vera, "--join")
    assert (listed.returncode, listed.stdout) == (0, "")
    assert joined.returncode == 1
    assert "no table has a free seat" in joined.stderr


async def call(address: str, token: str, method: str, request: Message) -> Any:
    """Call the service once, with a token."""
    async with aio.insecure_channel(address) as channel:
        metadata = (("authorization", f"Bearer {token}"),)
        return await getattr(MatchServiceStub(channel), method)(request, metadata=metadata)


def test_a_player_with_too_many_tables_is_refused(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DURAK_CALLER_TABLES_MAX", "1")
    terminal = Terminal(database, tmp_path)
    with terminal.serving() as server:
        token = terminal.durak("token", "anna").stdout.strip()
        opening = api.OpenTableRequest(
            request_id=str(uuid.uuid4()), settings=Settings(deck=DECK_36, seats=2)
        )
        asyncio.run(call(server.address, token, "OpenTable", opening))
        play = ("play", "--server", server.address, "--token", token, "--language", "ru")
        done = terminal.durak(*play)
    assert done.returncode == 1
    assert "слишком много открытых столов" in done.stderr


def typed(terminal: Terminal, server: Server, answer: str, *options: str) -> str:
    """Type one answer at the first prompt. Returns the whole output."""
    with terminal.person("play", "--server", server.address, *options) as person:
        person.read_to("> ")
        person.type(answer)
        return person.read_to_the_end()


def test_R3_0_leaving_before_the_deal_closes_the_table_unless_others_wait(
    terminal: Terminal, server: Server
) -> None:
    new = ("--name", "Anna", "--bots", "0", "--seats", "3")
    assert "The table is closed before the deal." in typed(terminal, server, "leave", *new)
    opened = typed(terminal, server, "quit", *new)
    match_id = opened.split("--match ")[1].split()[0]
    left = typed(terminal, server, "leave", "--name", "Boris", "--match", match_id)
    assert "Boris gives up seat 1." in left
    assert "Come back" not in left
    listed = terminal.durak("play", "--list", "--server", server.address, "--name", "Vera")
    assert listed.stdout.splitlines() == [
        f"{match_id}  2 free  Anna  36 cards, 3 seats, podkidnoy, all throw in, draws possible"
    ]


def test_R10_4_leaving_a_waiting_table_never_ends_a_match_dealt_meanwhile(
    terminal: Terminal, server: Server
) -> None:
    there = ("play", "--server", server.address)
    boris = terminal.durak("token", "boris").stdout.strip()
    with terminal.person(*there, "--name", "Anna", "--bots", "0") as anna:
        anna.read_to("> ")
        match_id = anna.shown.split("--match ")[1].split()[0]
        anna.process.send_signal(signal.SIGSTOP)
        seat = api.TakeSeatRequest(match_id=match_id, request_id=str(uuid.uuid4()))
        asyncio.run(call(server.address, boris, "TakeSeat", seat))
        anna.type("leave")  # before her terminal shows the deal
        anna.process.send_signal(signal.SIGCONT)
        anna.read_to("Bout 1")
        anna.type("quit")
        anna.read_to_the_end()
    shown = terminal.durak("show", match_id).stdout
    assert "abandoned" not in shown
    assert "Bout 1" in shown


def test_R13_1_leaving_a_rematch_needs_confirmation(terminal: Terminal, server: Server) -> None:
    tokens = [terminal.durak("token", name).stdout.strip() for name in ("anna", "boris")]
    asyncio.run(waiting_rematch(server.address, tokens))
    asked = api.ListMatchesRequest(phase=PHASE_WAITING, mine=True)
    [table] = asyncio.run(call(server.address, tokens[1], "ListMatches", asked)).matches
    back = ("play", "--server", server.address, "--token", tokens[1], "--match", table.match_id)
    with terminal.person(*back) as boris:
        boris.read_to("> ")
        boris.type("leave")
        boris.read_to("closes the rematch for everybody")
        boris.type("leave")
        assert "The table is closed before the deal." in boris.read_to_the_end()


def test_R12_2_a_table_is_closed_if_its_owner_cannot_pay(
    terminal: Terminal, server: Server
) -> None:
    there = ("play", "--server", server.address)
    poor = terminal.durak(*there, "--name", "Poor", "--stake", "5000")
    assert (poor.returncode, poor.stdout) == (1, "")
    assert poor.stderr.startswith("durak: You have 1000 coins, but the stake is 5000.")
    assert terminal.durak(*there, "--name", "Poor", "--list").stdout == ""


def test_R12_2_joining_takes_a_staked_table_only_with_that_stake(
    terminal: Terminal, server: Server
) -> None:
    there = ("play", "--server", server.address)
    anna = typed(terminal, server, "quit", "--name", "Anna", "--stake", "100")
    assert "The table goes on waiting for players." in anna
    free = terminal.durak(*there, "--name", "Boris", "--join")
    assert free.returncode == 1
    assert "no table has a free seat" in free.stderr
    with terminal.person(*there, "--name", "Boris", "--join", "--stake", "100") as boris:
        boris.read_to("Shuffling")  # the deal waits for the secret of Anna
    coins = terminal.durak("coins", "--server", server.address, "--name", "Boris").stdout
    assert "100 in stakes of matches" in coins


def test_a_spectator_sees_that_they_only_watch(terminal: Terminal, server: Server) -> None:
    played = typed(terminal, server, "quit", "--name", "Anna")
    match_id = played.split("--match ")[1].split()[0]
    watching = ("play", "--server", server.address, "--name", "Pete", "--match", match_id)
    with terminal.person(*watching) as pete:
        pete.read_to("You are watching: you have no seat. Stop with Ctrl-C.")
        pete.read_to("> ")
        pete.type("leave")
        pete.read_to("You are only watching: you have no seat.")
        pete.type("9" * 5000)  # more digits than int() accepts
        pete.read_to("It is not your move.")
        pete.type("quit")
        pete.read_to_the_end()
