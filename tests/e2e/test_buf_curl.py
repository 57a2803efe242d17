"""A client that is none of ours: `buf curl`, which knows nothing but what reflection tells it."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, LocalizedMessage
from pydantic import SecretStr

from service.config import Config
from service.server import SERVICES, Running, running
from tests.conftest import Database

M = TypeVar("M", bound=Message)
BUF = Path(sys.executable).with_name("buf")
SERVICE = "durak.v1.MatchService"
FAILED_PRECONDITION = 9
INVALID_ARGUMENT = 3
UNAUTHENTICATED = 16
HANDLED = 3
"""buf's exit status is the code of gRPC, shifted by so many bits."""


class BufCurl:
    """`buf curl` against one server, with a home of its own."""

    def __init__(self, server: Running, home: Path) -> None:
        self._server = server
        self._home = home

    async def run(self, path: str, *arguments: str) -> tuple[int, str, str]:
        """Exit status, output, and what it said beside it."""
        process = await asyncio.create_subprocess_exec(
            *(str(BUF), "curl", "--http2-prior-knowledge", "--protocol", "grpc"),
            *arguments,
            f"http://{self._server.address}{path}",
            env={"HOME": str(self._home), "PATH": ""},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, said = await asyncio.wait_for(process.communicate(), 20)
        assert process.returncode is not None
        return process.returncode, out.decode(), said.decode()

    async def call(self, who: str, method: str, **request: Any) -> Any:
        """The answer to a call, or its error, as JSON; `who` may be nobody."""
        header = ["--header", f"authorization: Bearer {self._token(who)}"] if who else []
        data = ["--data", json.dumps(request)]
        status, out, said = await self.run(f"/{SERVICE}/{method}", *header, *data)
        if status == 0:
            return json.loads(out)
        error = json.loads(said)
        error["grpc_status"] = status >> HANDLED
        return error

    async def view(self, who: str, method: str, **request: Any) -> Any:
        answer = await self.call(who, method, **request)
        assert "view" in answer, answer
        return answer["view"]

    def _token(self, who: str) -> str:
        server = self._server
        assert server.development_key is not None
        return server.development_key.mint(
            who,
            issuer=server.config.token_issuer,
            audience=server.config.token_audience,
            lifetime_seconds=600,
        )


def detail(error: Any, kind: type[M]) -> M:
    """The detail of an error of this kind; buf tells its type, and gives it as base64."""
    name = kind.DESCRIPTOR.full_name
    (value,) = (one["value"] for one in error["details"] if one["type"] == name)
    return kind.FromString(base64.b64decode(value + "=" * (-len(value) % 4)))


def config(database: Database, folder: Path) -> Config:
    return Config(listen_port=0, data_dir=folder / "data", database_url=SecretStr(database.app_dsn))


@pytest.mark.timeout(60)
async def test_it_finds_the_services_and_their_methods_by_reflection(
    database: Database, tmp_path: Path
) -> None:
    async with running(config(database, tmp_path)) as server:
        curl = BufCurl(server, tmp_path)
        status, listed, said = await curl.run("", "--list-services")
        assert status == 0, said
        assert {*SERVICES, "grpc.health.v1.Health"} <= set(listed.split())
        status, listed, said = await curl.run("", "--list-methods")
        assert status == 0, said
        assert f"{SERVICE}/PlaySession" in listed.split()


@pytest.mark.timeout(60)
async def test_it_opens_a_table_plays_and_reads_why_it_is_refused(
    database: Database, tmp_path: Path
) -> None:
    async with running(config(database, tmp_path)) as server:
        curl = BufCurl(server, tmp_path)
        settings = {"deck": "DECK_36", "seats": 2, "throwIn": "THROW_IN_ALL"}
        opened = await curl.view("ann", "OpenTable", requestId=str(uuid4()), settings=settings)
        match_id = opened["matchId"]
        for who in ("ann", "bob"):
            await curl.view(who, "TakeSeat", matchId=match_id, requestId=str(uuid4()))
        views = {who: await curl.view(who, "GetMatch", matchId=match_id) for who in ("ann", "bob")}
        attacker, other = sorted(views, key=lambda who: "attack" not in views[who]["moves"])
        card = views[attacker]["moves"]["attack"][0]
        play = {"matchId": match_id, "move": {"attack": {"card": card}}}

        error = await curl.call(other, "Play", requestId=str(uuid4()), **play)
        assert error["grpc_status"] == FAILED_PRECONDITION
        info = detail(error, ErrorInfo)
        assert (info.domain, info.reason) == ("durak.v1", "NOT_YOUR_TURN")
        assert detail(error, LocalizedMessage).message

        command = {"requestId": str(uuid4()), **play}
        played = await curl.view(attacker, "Play", **command)
        assert [one["attackCard"] for one in played["table"]] == [card]
        again = await curl.view(attacker, "Play", **command)
        assert again["version"] == played["version"]


@pytest.mark.timeout(60)
async def test_it_reads_which_fields_are_malformed_and_that_it_is_nobody(
    database: Database, tmp_path: Path
) -> None:
    async with running(config(database, tmp_path)) as server:
        curl = BufCurl(server, tmp_path)
        error = await curl.call("ann", "Play", matchId="7", requestId=str(uuid4()))
        assert error["grpc_status"] == INVALID_ARGUMENT
        assert detail(error, ErrorInfo).reason == "MALFORMED_FIELD"
        faults = detail(error, BadRequest).field_violations
        assert {"match_id", "move"} <= {fault.field for fault in faults}

        error = await curl.call("", "GetMatch", matchId=str(uuid4()))
        assert error["grpc_status"] == UNAUTHENTICATED
        assert detail(error, ErrorInfo).domain == "durak.v1"
