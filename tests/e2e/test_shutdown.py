"""SIGTERM under load: every call and stream ends with its result or with DRAINING, in time."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from grpc import aio

from durak.v1 import match_service_pb2 as api
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from eventstore import EmbeddedPostgres, migrate
from service.rpc.status import STATUS_KEY
from tests.conftest import Database
from tests.e2e.test_nothing_lost import Service, serving
from tests.service.playing import easy_move, has_move, reason_of

TIMES = int(os.environ.get("DURAK_TEST_SHUTDOWNS", "3"))
TABLES = 8
SETTINGS = Settings(deck=Deck.DECK_24, seats=2, throw_in=ThrowIn.THROW_IN_ALL)
DRAINING = ErrorReason.ERROR_REASON_DRAINING
ESTABLISHED = "01"
GRACE_S = 30.0
"""terminationGracePeriodSeconds in deploy/kustomize."""


class Clients:
    """Players who move as fast as they can, watchers and sessions, until the service refuses."""

    def __init__(self, service: Service, channel: aio.Channel) -> None:
        self.service = service
        self.stub = MatchServiceStub(channel)
        self.ends: Counter[str] = Counter()
        self.is_busy = asyncio.Event()
        self._moves = 0

    async def call(self, method: str, who: str, request: Any) -> Any:
        return await getattr(self.stub, method)(
            request, metadata=self.service.metadata(who), timeout=60
        )

    async def open(self, number: int) -> str:
        names = [f"p{number}-{seat}" for seat in range(2)]
        opening = api.OpenTableRequest(request_id=str(uuid4()), settings=SETTINGS)
        match_id: str = (await self.call("OpenTable", names[0], opening)).view.match_id
        for name in names:
            sitting = api.TakeSeatRequest(match_id=match_id, request_id=str(uuid4()))
            await self.call("TakeSeat", name, sitting)
        return match_id

    async def play(self, number: int, match_id: str) -> None:
        """Play matches one after the other until a call is refused."""
        try:
            while True:
                for seat in range(2):
                    who = f"p{number}-{seat}"
                    asked = api.GetMatchRequest(match_id=match_id)
                    view = (await self.call("GetMatch", who, asked)).view
                    if view.HasField("result"):
                        match_id = await self.open(number)
                        break
                    if has_move(view):
                        move = api.PlayRequest(
                            match_id=match_id, request_id=str(uuid4()), move=easy_move(view)
                        )
                        await self.call("Play", who, move)
                        self._moves += 1
                        if self._moves > 3 * TABLES:
                            self.is_busy.set()
        except aio.AioRpcError as error:
            self._note(error)

    async def watch(self, match_id: str) -> None:
        request = api.WatchMatchRequest(match_id=match_id)
        stream = self.stub.WatchMatch(request, metadata=self.service.metadata("guest"))
        try:
            async for _ in stream:
                pass
        except aio.AioRpcError as error:
            self._note(error)

    async def hold_session(self, match_id: str) -> None:
        async def requests() -> Any:
            watching = api.WatchMatchRequest(match_id=match_id)
            yield api.PlaySessionRequest(
                watch=api.SessionWatch(request_id=str(uuid4()), watch=watching)
            )
            await asyncio.Event().wait()

        stream = self.stub.PlaySession(requests(), metadata=self.service.metadata("guest"))
        try:
            async for _ in stream:
                pass
        except aio.AioRpcError as error:
            self._note(error)

    def _note(self, error: aio.AioRpcError) -> None:
        keys = {key for key, _ in error.trailing_metadata() or ()}
        end = f"{error.code().name}: {error.details()}"
        self.ends[ErrorReason.Name(reason_of(error)) if STATUS_KEY in keys else end] += 1


async def drained(service: Service, *, frozen: EmbeddedPostgres | None = None) -> Clients:
    """Stop a busy service. Return its clients when all of their calls have ended."""
    async with aio.insecure_channel(service.address) as channel:
        clients = Clients(service, channel)
        tables = [await clients.open(number) for number in range(TABLES)]
        async with asyncio.TaskGroup() as group:
            for number, match_id in enumerate(tables):
                group.create_task(clients.play(number, match_id))
                group.create_task(clients.watch(match_id))
                group.create_task(clients.hold_session(match_id))
            await clients.is_busy.wait()
            if frozen is not None:
                signal_all(frozen, signal.SIGSTOP)
            before = time.monotonic()
            await service.stop()
            assert time.monotonic() - before < GRACE_S
    return clients


def signal_all(postgres: EmbeddedPostgres, number: signal.Signals) -> None:
    """Send a signal to all processes of a Postgres."""
    [first] = (postgres.data / "postmaster.pid").read_text().splitlines()[:1]
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    for process in (first, *children):
        os.kill(int(process), number)


async def test_O11_a_drain_answers_every_call_and_stream(
    database: Database, tmp_path: Path
) -> None:
    for time_of in range(TIMES):
        folder = tmp_path / str(time_of)
        folder.mkdir()
        async with serving(database.app_dsn, folder) as service:
            clients = await drained(service)
        assert clients.ends == {ErrorReason.Name(DRAINING): 3 * TABLES}
        assert "Traceback" not in service.log.read_text()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
async def test_O12_a_drain_ends_in_time_while_postgres_is_frozen(tmp_path: Path) -> None:
    folder = tmp_path / "service"
    folder.mkdir()
    os.chmod(tmp_path, 0o755)  # noqa: PTH101 - Postgres may run as another user
    with EmbeddedPostgres(tmp_path / "postgres") as postgres:
        await migrate(postgres.owner_dsn())
        try:
            settings = {"DURAK_DRAIN_SECONDS_MAX": "3"}
            async with serving(postgres.app_dsn(), folder, **settings) as service:
                clients = await drained(service, frozen=postgres)
        finally:
            signal_all(postgres, signal.SIGCONT)
    assert set(clients.ends) == {ErrorReason.Name(DRAINING)}
    assert clients.ends.total() == 3 * TABLES
    assert "Traceback" not in service.log.read_text()


async def test_a_connection_of_some_age_takes_no_new_calls_and_keeps_its_streams(
    database: Database, tmp_path: Path
) -> None:
    async def ports(service: Service) -> set[str]:
        """Return the ports of the clients that are connected to the service."""
        listed = await asyncio.create_subprocess_exec(
            *("cat", "/proc/net/tcp", "/proc/net/tcp6"), stdout=asyncio.subprocess.PIPE
        )
        table = (await listed.communicate())[0].decode()
        here = f"{int(service.address.rpartition(':')[2]):04X}"
        rows = [row.split() for row in table.splitlines()]
        return {
            row[2].rpartition(":")[2]
            for row in rows
            if row[1].endswith(f":{here}") and row[3] == ESTABLISHED
        }

    settings = {"DURAK_CONNECTION_AGE_SECONDS_MAX": "0.5"}
    async with (
        serving(database.app_dsn, tmp_path, **settings) as service,
        aio.insecure_channel(service.address) as channel,
    ):
        clients = Clients(service, channel)
        match_id = await clients.open(0)
        watching = api.WatchMatchRequest(match_id=match_id)
        watch = clients.stub.WatchMatch(watching, metadata=service.metadata("guest"))
        await watch.read()
        [first] = await ports(service)
        seen = {first}
        async with asyncio.timeout(30):
            while len(seen) < 3:
                await clients.call("GetMatch", "guest", api.GetMatchRequest(match_id=match_id))
                now = await ports(service)
                assert first in now, "the watch is open"
                seen |= now
        assert not watch.done()
        watch.cancel()
