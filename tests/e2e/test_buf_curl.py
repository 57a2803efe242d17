"""`buf curl` is a client that knows the service only through reflection."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2

from domain.match.deal import secret_hash
from tests.conftest import Database
from tests.terminal import SECONDS, Server, Terminal

BUF = Path(sys.executable).with_name("buf")
SERVICE = "durak.v1.MatchService"


class BufCurl:
    """`buf curl` against a server, with a token."""

    def __init__(self, address: str, token: str) -> None:
        self._address = address
        self._token = token

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BUF, "curl", "--http2-prior-knowledge", "--protocol", "grpc", *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def call(self, method: str, request: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        return self.run(
            "--header", f"authorization: Bearer {self._token}",
            "--header", "accept-language: ru",
            "--data", json.dumps(request),
            f"http://{self._address}/{SERVICE}/{method}",
        )  # fmt: skip

    def view(self, method: str, **request: Any) -> dict[str, Any]:
        """Send a command with a new request id. Return the view in the reply."""
        answer = self.call(method, {"request_id": str(uuid4()), **request})
        assert answer.returncode == 0, answer.stderr
        view: dict[str, Any] = json.loads(answer.stdout)["view"]
        return view


def unpacked(detail: dict[str, str]) -> Message:
    """Decode a status detail. buf shows its type name and its bytes in base64."""
    kind: type[Message] = getattr(error_details_pb2, detail["type"].removeprefix("google.rpc."))
    return kind.FromString(base64.b64decode(detail["value"] + "=="))


@pytest.fixture
def terminal(database: Database, tmp_path: Path) -> Terminal:
    return Terminal(database, tmp_path)


@pytest.fixture
def server(terminal: Terminal) -> Iterator[Server]:
    with terminal.serving() as running:
        yield running


def test_buf_curl_lists_the_services_opens_a_table_plays_and_reads_an_error(
    terminal: Terminal, server: Server
) -> None:
    token = terminal.durak("token", "anna").stdout.strip()
    curl = BufCurl(server.address, token)

    listed = curl.run("--list-methods", f"http://{server.address}")
    assert listed.returncode == 0, listed.stderr
    assert {f"{SERVICE}/OpenTable", f"{SERVICE}/Play", f"{SERVICE}/WatchMatch"} <= set(
        listed.stdout.split()
    )

    settings = {"deck": "DECK_36", "seats": 2, "transfer": True}
    match_id = curl.view("OpenTable", settings=settings)["matchId"]
    secret = bytes(32)
    promise = secret_hash(UUID(match_id).bytes, "anna", secret)
    curl.view("TakeSeat", match_id=match_id, client_seed_hash=b64encode(promise).decode())
    boris = BufCurl(server.address, terminal.durak("token", "boris").stdout.strip())
    boris.view("TakeSeat", match_id=match_id)
    curl.view("RevealSeed", match_id=match_id, secret=b64encode(secret).decode())

    views = [player.call("GetMatch", {"match_id": match_id}) for player in (curl, boris)]
    leads = [json.loads(view.stdout)["view"].get("moves", {}).get("attack") for view in views]
    leader, waits = (curl, boris) if leads[0] else (boris, curl)
    lead = {"attack": {"card": next(filter(None, leads))[0]}}

    refused = waits.call(
        "Play", {"match_id": match_id, "request_id": str(uuid4()), "move": {"take": {}}}
    )
    assert refused.returncode != 0
    error = json.loads(refused.stderr)
    assert error["code"] == "failed_precondition"
    info, state, text = map(unpacked, error["details"])
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert (info.domain, info.reason) == ("durak.v1", "NOTHING_LED")
    assert isinstance(state, error_details_pb2.PreconditionFailure)
    assert isinstance(text, error_details_pb2.LocalizedMessage)
    assert text.locale == "ru"

    view = leader.view("Play", match_id=match_id, move=lead)
    assert [card["attackCard"] for card in view["table"]] == [lead["attack"]["card"]]
