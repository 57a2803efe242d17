"""A fault of the server is answered INTERNAL, without RetryInfo, by the real MatchService."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status
from grpc import aio
from structlog.testing import capture_logs

from durak.v1 import match_service_pb2 as api
from service.rpc.status import STATUS_KEY
from tests.conftest import Database, execute
from tests.service.playing import SETTINGS, Player, Playing, Replica, new_id, playing

__all__ = ["playing"]

SECRET = "the ace of spades"


async def status_of(call: Any) -> Status:
    """Return the status of a call that fails."""
    with pytest.raises(aio.AioRpcError) as failed:
        await (call.read() if hasattr(call, "read") else call)
    [packed] = [value for key, value in failed.value.trailing_metadata() if key == STATUS_KEY]
    assert isinstance(packed, bytes)
    status = Status.FromString(packed)
    assert status.code == failed.value.code().value[0]
    return status


def info_of(status: Status) -> error_details_pb2.ErrorInfo:
    """Return the ErrorInfo of an INTERNAL status, after checking what else it has."""
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.reason == "INTERNAL"
    assert not any(one.TypeName() == "google.rpc.RetryInfo" for one in status.details)
    assert len(info.metadata["trace_id"]) == 32
    assert SECRET not in str(status)
    return info


def failures(lines: list[Any]) -> list[Any]:
    return [line for line in lines if line["event"] == "call failed"]


class BrokenClock:
    """A clock that raises once it is broken."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self.is_broken = False

    def __call__(self) -> int:
        if self.is_broken:
            raise ValueError(SECRET)
        return self._now_us()


async def test_an_exception_while_a_command_is_stored_is_INTERNAL(playing: Playing) -> None:
    clock = BrokenClock(lambda: 1_700_000_000_000_000)
    replica = await playing.replica(clock, deadline_scan_interval_seconds=3600)
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open()).match_id
    session = ann.session()
    clock.is_broken = True
    sit = api.TakeSeatRequest(match_id=match_id, request_id=new_id())
    with capture_logs() as lines:
        unary = await status_of(ann.stub.TakeSeat(sit, metadata=ann.metadata))
        by_session = (await session.ask(take_seat=sit)).error
    traces = [info_of(status).metadata["trace_id"] for status in (unary, by_session)]
    assert [line["trace_id"] for line in failures(lines)] == traces
    assert all(isinstance(line["exc_info"], ValueError) for line in failures(lines))
    assert replica.interceptor.failures.calls["INTERNAL"] == 2
    clock.is_broken = False
    again = await session.ask(take_seat=sit)  # the session goes on, and nothing was stored
    assert again.view.version == 2
    await session.close()


async def test_a_statement_that_the_database_refuses_is_INTERNAL_on_every_kind_of_call(
    playing: Playing, database: Database
) -> None:
    replica: Replica = await playing.replica()
    ann: Player = await playing.player(replica, "ann")
    match_id = (await ann.open(SETTINGS)).match_id
    session = ann.session()
    await execute(database.owner_dsn, "REVOKE SELECT ON events FROM PUBLIC, durak_app")
    watching = api.WatchMatchRequest(match_id=match_id)
    get = api.GetMatchRequest(match_id=match_id)
    watch = api.SessionWatch(request_id=new_id(), watch=watching)
    with capture_logs() as lines:
        statuses = [
            await status_of(ann.stub.GetMatch(get, metadata=ann.metadata)),
            await status_of(ann.stub.WatchMatch(watching, metadata=ann.metadata)),
            (await session.ask(watch=watch)).error,
        ]
    traces = [info_of(status).metadata["trace_id"] for status in statuses]
    assert [line["trace_id"] for line in failures(lines)] == traces
    assert replica.interceptor.failures.calls["INTERNAL"] == 3
    await session.close()
