"""Two replicas under faults of many kinds: nothing is lost, doubled or stuck, no coin is missing.

The clients are those of `test_nothing_lost`: they repeat each request until it is answered, and
resume their watches. Each call goes to any replica. In the end the log has each acknowledged
command once, each watch has seen the whole log, and every match has ended.

`DURAK_TEST_CHAOS_FAULTS` is the number of faults, `DURAK_TEST_CHAOS_SEED` the seed of their order.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import grpc
import pytest
from grpc import aio

from eventstore import EmbeddedPostgres
from service.rpc.status import STATUS_KEY
from tests.conftest import execute
from tests.e2e import test_nothing_lost as calm
from tests.e2e.test_nothing_lost import Load, Service, check
from tests.e2e.test_shutdown import signal_all
from tests.service.frame import answer_of
from tests.service.wire import Wire, wire_to_database

FAULTS = int(os.environ.get("DURAK_TEST_CHAOS_FAULTS", "5"))
SEED = int(os.environ.get("DURAK_TEST_CHAOS_SEED", "1"))
COMMANDS_BETWEEN_FAULTS = 60
ROUND_ROBIN = '{"loadBalancingConfig": [{"round_robin": {}}]}'
SETTINGS = {"DURAK_DRAIN_SECONDS_MAX": "3", "DURAK_HEADS_INTERVAL_SECONDS": "0.5"}
RETRIABLE = {
    grpc.StatusCode.UNAVAILABLE: {"DRAINING", "OVERLOADED", "STORE_UNAVAILABLE"},
    grpc.StatusCode.ABORTED: {"CONTENTION"},
}


class Replica(Service):
    """A replica in its own process, which reaches the database through a wire."""

    def __init__(self, wire: Wire, dsn: str, folder: Path, name: str) -> None:
        super().__init__(dsn, folder, **SETTINGS)
        self.wire = wire
        self.log = folder / f"{name}.log"


class Chaos:
    """The faults. Each of them is over when it returns."""

    def __init__(
        self, chance: random.Random, replicas: list[Replica], postgres: EmbeddedPostgres
    ) -> None:
        self._chance = chance
        self._replicas = replicas
        self._postgres = postgres
        self.done: Counter[str] = Counter()
        self._faults: list[Callable[[Replica], Awaitable[None]]] = [
            self.kill_a_replica,
            self.restart_a_replica,
            self.freeze_a_replica,
            self.cut_the_database_off,
            self.lose_hints,
            self.kill_postgres,
            self.freeze_postgres,
            self.make_the_database_read_only,
        ]
        self._next: list[Callable[[Replica], Awaitable[None]]] = []

    async def strike(self) -> None:
        """Let the next fault happen. All kinds happen equally often."""
        if not self._next:
            self._next = self._chance.sample(self._faults, len(self._faults))
        fault = self._next.pop()
        await fault(self._chance.choice(self._replicas))
        self.done[fault.__name__] += 1

    async def _for_a_while(self) -> None:
        """Let the fault last for up to two seconds."""
        lasts = asyncio.get_running_loop().create_future()
        seconds = self._chance.uniform(0.2, 2.0)
        asyncio.get_running_loop().call_later(seconds, lasts.set_result, None)
        await lasts

    async def kill_a_replica(self, replica: Replica) -> None:
        await replica.kill()
        await replica.start()

    async def restart_a_replica(self, replica: Replica) -> None:
        await replica.stop()
        await replica.start()

    async def freeze_a_replica(self, replica: Replica) -> None:
        os.kill(replica.pid, signal.SIGSTOP)
        await self._for_a_while()
        os.kill(replica.pid, signal.SIGCONT)

    async def cut_the_database_off(self, replica: Replica) -> None:
        replica.wire.cut()
        await self._for_a_while()
        replica.wire.repair()

    async def lose_hints(self, _: Replica) -> None:
        await execute(
            self._postgres.owner_dsn(),
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE query LIKE '%durak_hints%' AND pid <> pg_backend_pid()",
        )

    async def kill_postgres(self, _: Replica) -> None:
        postmaster = self._postgres.status().pid
        assert postmaster is not None
        os.kill(postmaster, signal.SIGKILL)
        await asyncio.to_thread(self._postgres.start)

    async def freeze_postgres(self, _: Replica) -> None:
        signal_all(self._postgres, signal.SIGSTOP)
        await self._for_a_while()
        signal_all(self._postgres, signal.SIGCONT)

    async def make_the_database_read_only(self, _: Replica) -> None:
        owner = await asyncpg.connect(self._postgres.owner_dsn())
        name = await owner.fetchval("SELECT current_database()")
        setting = f"ALTER DATABASE {name} SET default_transaction_read_only"
        others = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await owner.execute(f"{setting} = on")
        await owner.execute(others)
        await self._for_a_while()
        await owner.execute("SET default_transaction_read_only = off")
        await owner.execute(f"{setting} = off")
        await owner.execute(others)
        await owner.close()


async def wait_as_advised(error: aio.AioRpcError) -> None:
    """Check that a client may meet this error, and wait before the retry as it says."""
    keys = {key for key, _ in error.trailing_metadata() or ()}
    if STATUS_KEY in keys:
        assert answer_of(error).reason in RETRIABLE.get(error.code(), set()), error
    else:  # the connection was lost, or gRPC cancelled a call that came while the port closed
        lost = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
        assert error.code() in lost, (error.code(), error.details())
    delay = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(0.1, delay.set_result, None)
    await delay


@pytest.mark.timeout(120 + 20 * FAULTS)
async def test_two_replicas_under_faults_lose_and_double_nothing(
    own_postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calm, "wait_as_advised", wait_as_advised)
    dsn = own_postgres.app_dsn()
    async with AsyncExitStack() as stack:
        replicas = []
        for name in ("one", "two"):
            wire, wire_dsn = await wire_to_database(dsn)
            stack.push_async_callback(wire.close)
            replica = Replica(wire, wire_dsn, tmp_path, name)
            await replica.start()
            stack.push_async_callback(replica.kill)
            replicas.append(replica)
        addresses = ",".join(replica.address for replica in replicas)
        options = [
            ("grpc.service_config", ROUND_ROBIN),
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 200),
        ]
        channel = await stack.enter_async_context(
            aio.insecure_channel(f"ipv4:{addresses}", options=options)
        )
        load = Load(replicas[0], channel)
        stack.push_async_callback(load.close)
        chaos = Chaos(random.Random(SEED), replicas, own_postgres)
        for _ in range(FAULTS):
            await load.acknowledges(COMMANDS_BETWEEN_FAULTS)
            await chaos.strike()
        await load.acknowledges(COMMANDS_BETWEEN_FAULTS)
        await load.finish()
        await check(load, dsn)
        assert chaos.done.total() == FAULTS
        figures = f"{len(load.acknowledged)} commands, {load.retries} retries"
        sys.stdout.write(f"{figures}, faults: {dict(chaos.done)}\n")
    for replica in replicas:
        log = replica.log.read_text()
        assert '"event": "call failed"' not in log
        assert "Traceback" not in log
