"""The connection to the database breaks at every step of a command that moves coins (R12.2, R12.8).

For each n, the connection is cut before the n-th message of the service (an open transaction is
rolled back), or it is cut after the n-th answer is lost (the transaction may be committed, but the
service does not know). Then the client repeats its request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from grpc import aio

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.table_pb2 import TableView
from eventstore import EventStore
from eventstore import Limits as StoreLimits
from service.config import Config
from service.times import system_now_us
from tests.conftest import Database
from tests.service.matches.test_coin_moves import balances, staked
from tests.service.playing import (
    Player,
    Playing,
    Replica,
    log_of,
    new_id,
    playing,
    reason_of,
    without_server_time,
)
from tests.service.wire import Wire, wire_to_database

__all__ = ["playing"]

STEPS_MOST = 40
QUIET_S = 600.0

Command = Callable[[Player, str, str], Awaitable[TableView]]
"""Sends a command of a player for a match with a request id."""


async def take_seat(player: Player, match_id: str, request_id: str) -> TableView:
    return await player.sit(match_id, request_id=request_id)


async def leave(player: Player, match_id: str, request_id: str) -> TableView:
    request = api.LeaveMatchRequest(match_id=match_id, request_id=request_id)
    view: TableView = (await player.call("LeaveMatch", request)).view
    return view


class Break:
    """Breaks a wire at the n-th request from now on, and repairs it at once."""

    def __init__(self, wire: Wire, step: int, *, swallow: bool) -> None:
        self._wire = wire
        self._left = step
        self._swallow = swallow
        self.happened = False
        wire.before_request = self._count

    async def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.happened = True
            if self._swallow:
                self._wire.swallowed.clear()
                self._wire.swallows_answers = True
                self._restoring = asyncio.create_task(self._cut_when_swallowed())
            else:
                self._cut()

    async def _cut_when_swallowed(self) -> None:
        await self._wire.swallowed.wait()
        self._cut()

    def _cut(self) -> None:
        self._wire.cut()
        self._wire.repair()


async def quiet_replica(playing: Playing, wire_dsn: str, retry_timeout_seconds: float) -> Replica:
    """A replica that sends the database only the requests of commands."""
    limits = StoreLimits(
        retry_timeout_seconds=retry_timeout_seconds,
        coin_connections_max=1,
    )
    store = await playing.stack.enter_async_context(await EventStore.open(wire_dsn, limits))
    config = Config(
        caller_calls_per_second=0,
        deadline_scan_interval_seconds=QUIET_S,
        heads_interval_seconds=QUIET_S,
        opening_free_matches_min=0,
    )
    replica = Replica(store, config, system_now_us)
    playing.stack.push_async_callback(replica.stop)
    await replica.start()
    return replica


async def repeat_until_answered(
    command: Command, player: Player, match_id: str, request_id: str
) -> TableView:
    for _ in range(50):
        try:
            return await command(player, match_id, request_id)
        except aio.AioRpcError as error:
            if reason_of(error) != reasons.ERROR_REASON_STORE_UNAVAILABLE:
                raise
    raise AssertionError("the command is not answered")


@pytest.mark.parametrize("swallow", [False, True], ids=["cut", "swallow"])
@pytest.mark.parametrize(
    "retry_timeout_seconds", [0.2, 5.0], ids=["client-repeats", "store-repeats"]
)
@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        # The coins of ann and bob: available, and in escrow.
        (take_seat, [], [(900, 100), (0, 0)]),
        (take_seat, ["bob"], [(900, 100), (900, 100)]),
        (leave, ["ann"], [(1000, 0), (0, 0)]),
        (leave, ["ann", "bob"], [(900, 0), (1100, 0)]),
    ],
    ids=["sit", "sit-and-deal", "vacate", "finish"],
)
async def test_R12_8_coins_move_once_at_whatever_step_the_connection_breaks(
    playing: Playing,
    database: Database,
    command: Command,
    before: list[str],
    after: list[tuple[int, int]],
    retry_timeout_seconds: float,
    swallow: bool,
) -> None:
    wire, wire_dsn = await wire_to_database(database.app_dsn)
    playing.stack.push_async_callback(wire.close)
    replica = await quiet_replica(playing, wire_dsn, retry_timeout_seconds)
    outside = await playing.stack.enter_async_context(await EventStore.open(database.app_dsn))
    for step in range(1, STEPS_MOST):
        names = {name: await playing.player(replica, f"{name}{step}") for name in ("ann", "bob")}
        ann = names["ann"]
        wire.before_request = None
        match_id = (await ann.open(staked())).match_id
        for name in before:
            await names[name].sit(match_id)
        request_id = new_id()
        broken = Break(wire, step, swallow=swallow)
        answer = await repeat_until_answered(command, ann, match_id, request_id)
        wire.before_request = None

        records = await log_of(outside, match_id)
        assert len(records) == answer.version
        assert len({one.version for one in records if one.request_id == UUID(request_id).bytes}) > 0
        assert await balances(outside, list(names.values())) == after
        again = await command(ann, match_id, request_id)
        assert without_server_time(again) == without_server_time(answer)
        assert await balances(outside, list(names.values())) == after
        assert (await outside.ledger.check()).holds
        if not broken.happened:
            assert step > 5, "no step was broken"
            return
    pytest.fail(f"a command has more than {STEPS_MOST} steps")
