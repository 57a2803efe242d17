"""O17: a replica with a wrong clock does not stamp wrong times."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

from grpc import aio
from pydantic import SecretStr
from structlog.testing import capture_logs

from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Record
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from eventstore import EventStore
from service.config import Config
from service.rpc.token_keys import DevelopmentKey
from service.server import running
from service.shared_clock import SharedClock
from service.times import MICROSECONDS, system_now_us
from tests.conftest import Database

HOUR_US = 3_600 * MICROSECONDS
DATABASE_US = 1_000_000 * MICROSECONDS
TIMED = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL, turn_timer_seconds=30)


class Machine:
    """A machine whose clock can be set, and the time since it started."""

    def __init__(self) -> None:
        self.elapsed_s = 50.0
        self.ahead_us = 0

    def own_us(self) -> int:
        return DATABASE_US + self.ahead_us + round((self.elapsed_s - 50) * MICROSECONDS)


def a_clock(machine: Machine) -> SharedClock:
    return SharedClock(2.0, machine.own_us, lambda: machine.elapsed_s)


def test_the_own_clock_is_used_while_it_is_nearly_right() -> None:
    machine = Machine()
    clock = a_clock(machine)
    machine.ahead_us = 5 * MICROSECONDS
    assert clock.now_us() == machine.own_us()  # nothing to compare with yet
    clock.compare(DATABASE_US, 50.0, 50.0)
    machine.ahead_us = 2 * MICROSECONDS
    assert clock.now_us() == DATABASE_US + 2 * MICROSECONDS
    assert clock.offset_us == 2 * MICROSECONDS


def test_a_jump_is_seen_without_a_new_comparison() -> None:
    machine = Machine()
    clock = a_clock(machine)
    clock.compare(DATABASE_US, 50.0, 50.0)
    for ahead_us in (HOUR_US, -HOUR_US):
        machine.ahead_us = ahead_us
        machine.elapsed_s = 57.5
        assert clock.now_us() == DATABASE_US + 7_500_000
    machine.ahead_us = 0
    assert clock.now_us() == machine.own_us()


def test_the_middle_of_the_round_trip_counts_and_a_long_one_does_not() -> None:
    machine = Machine()
    clock = a_clock(machine)
    machine.ahead_us = HOUR_US
    machine.elapsed_s = 51.0
    clock.compare(DATABASE_US, 50.0, 51.0)
    assert clock.now_us() == DATABASE_US + 500_000
    clock.compare(7, 60.0, 62.0)
    assert clock.now_us() == DATABASE_US + 500_000


def test_the_change_is_logged_once_each_way() -> None:
    machine = Machine()
    clock = a_clock(machine)
    with capture_logs() as lines:
        for ahead_us in (0, HOUR_US, HOUR_US, 0, 0):
            machine.ahead_us = ahead_us
            clock.compare(DATABASE_US, 50.0, 50.0)
    assert [(line["log_level"], line["ahead_seconds"]) for line in lines] == [
        ("error", 3600.0),
        ("info", 0.0),
    ]


async def test_O17_no_deadline_is_an_hour_away_while_a_replica_is_an_hour_ahead(
    database: Database, tmp_path: Path
) -> None:
    ahead_us = 0
    config = Config(
        database_url=SecretStr(database.app_dsn),
        data_dir=tmp_path,
        listen_port=0,
        readiness_interval_seconds=0.1,
    )
    async with (
        running(config, lambda: system_now_us() + ahead_us) as server,
        await EventStore.open(database.app_dsn) as store,
        aio.insecure_channel(server.address) as channel,
    ):
        assert server.development_key is not None
        stub = MatchServiceStub(channel)
        for jump_us in (HOUR_US, -HOUR_US, 0):
            ahead_us = jump_us
            match_id, deadline_us = await deal(stub, server.development_key, config)
            assert abs(deadline_us - system_now_us() - 30 * MICROSECONDS) < 5 * MICROSECONDS
            for stored in await store.read(UUID(match_id)):
                stamped_us = Record.FromString(stored.record).event_time.ToMicroseconds()
                assert abs(stamped_us - system_now_us()) < 10 * MICROSECONDS


async def deal(stub: MatchServiceStub, key: DevelopmentKey, config: Config) -> tuple[str, int]:
    """Open a table and seat two players. Return the match and the first deadline."""
    view = None
    for name in ("ann", "bob"):
        token = key.mint(
            name, issuer=config.token_issuer, audience=config.token_audience, lifetime_seconds=9_000
        )
        metadata = (("authorization", f"Bearer {token}"),)
        if view is None:
            opening = api.OpenTableRequest(request_id=str(uuid4()), settings=TIMED)
            view = (await stub.OpenTable(opening, metadata=metadata)).view
        sitting = api.TakeSeatRequest(match_id=view.match_id, request_id=str(uuid4()))
        view = (await stub.TakeSeat(sitting, metadata=metadata)).view
    assert view is not None
    return view.match_id, view.deadline_time.ToMicroseconds()
