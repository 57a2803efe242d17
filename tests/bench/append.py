"""Measure durable single-event appends: our store, plain row inserts, and `eventsourcing`.

All contenders write records of the same size to the same server with fsync on. They run one after
the other in each round. The ratios are medians over the rounds. The plain rows go into a copy of
our own table, indexes included. The library creates its default table.

`row_insert` writes each row in an explicit transaction block. `row_autocommit` leaves out the
block, so a row costs one round trip instead of three. That is the minimum cost of a durable row,
and it has no version guard.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID, uuid4

import asyncpg
from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresAggregateRecorder, PostgresDatastore

from eventstore import Append, EventStore, Head, first_hash

RECORD = os.urandom(200)
HASH = bytes(32)
MATCH_EVENTS = 60
"""Events per stream, about as many as in a two-seat match. Then the writer starts a new stream."""
APPENDERS, CONNECTIONS, THREADS = 256, 32, 16
ROUNDS, ROUND_S = 5, 1.5

INSERT = "INSERT INTO plain_rows (stream_id, version, record, hash) VALUES ($1, $2, $3, $4)"


async def run(
    owner_dsn: str, app_dsn: str, *, rounds: int = ROUNDS, round_s: float = ROUND_S
) -> dict[str, float]:
    """Measure on a migrated database. Return the ratios and the rates.

    The owner's role must be allowed to create tables. The tables created here are not dropped.
    """
    await _prepare(owner_dsn)
    contenders: dict[str, Callable[[float], Awaitable[float]]] = {
        "append_per_s": lambda seconds: _our_store(app_dsn, seconds),
        "row_insert_per_s": lambda seconds: _plain_rows(owner_dsn, seconds, explicit=True),
        "row_autocommit_per_s": lambda seconds: _plain_rows(owner_dsn, seconds, explicit=False),
        "eventsourcing_per_s": lambda seconds: asyncio.to_thread(_library, owner_dsn, seconds),
    }
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for measure in contenders.values():
        await measure(round_s / 4)  # warm up plans, pages and caches
    for _ in range(rounds):
        for name, measure in contenders.items():
            rates[name].append(await measure(round_s))

    def ratio(other: str) -> float:
        pairs = zip(rates["append_per_s"], rates[other], strict=True)
        return round(median(ours / theirs for ours, theirs in pairs), 2)

    return {
        "append_vs_row_insert": ratio("row_insert_per_s"),
        "append_vs_row_autocommit": ratio("row_autocommit_per_s"),
        "append_vs_eventsourcing": ratio("eventsourcing_per_s"),
        **{name: round(median(found)) for name, found in rates.items()},
    }


async def _prepare(owner_dsn: str) -> None:
    connection = await asyncpg.connect(owner_dsn)
    try:
        await connection.execute("CREATE TABLE plain_rows (LIKE events INCLUDING ALL)")
    finally:
        await connection.close()


async def _our_store(dsn: str, seconds: float) -> float:
    """Run 256 appenders. Each has its own match and appends one event at a time."""
    done = 0

    async def append_until(store: EventStore, end: float) -> None:
        nonlocal done
        while True:
            stream_id = uuid4()
            head = Head(0, first_hash(stream_id))
            for _ in range(MATCH_EVENTS):
                if time.perf_counter() > end:
                    return
                head = await store.append(Append(stream_id, head.version, head.hash, [RECORD]))
                done += 1

    async with await EventStore.open(dsn) as store:
        start = time.perf_counter()
        await asyncio.gather(*(append_until(store, start + seconds) for _ in range(APPENDERS)))
        return done / (time.perf_counter() - start)


async def _plain_rows(dsn: str, seconds: float, *, explicit: bool) -> float:
    """Run 32 connections, each in one task that inserts one row per transaction.

    Args:
        dsn: The database.
        seconds: How long to run.
        explicit: Use a transaction block, as any write of several statements must. Without it each
            statement is its own transaction, which is the minimum cost of a durable row.
    """
    done = 0

    async def insert_until(connection: asyncpg.Connection[asyncpg.Record], end: float) -> None:
        nonlocal done
        while True:
            stream_id = uuid4()
            for version in range(1, MATCH_EVENTS + 1):
                if time.perf_counter() > end:
                    return
                if explicit:
                    async with connection.transaction():
                        await connection.execute(INSERT, stream_id, version, RECORD, HASH)
                else:
                    await connection.execute(INSERT, stream_id, version, RECORD, HASH)
                done += 1

    connections = [await asyncpg.connect(dsn) for _ in range(CONNECTIONS)]
    start = time.perf_counter()
    await asyncio.gather(*(insert_until(each, start + seconds) for each in connections))
    rate = done / (time.perf_counter() - start)
    for connection in connections:
        await connection.close()
    return rate


def _library(dsn: str, seconds: float) -> float:
    """Run 16 threads. Each has its own aggregates and writes one event per call."""
    parts = urlsplit(dsn)
    query = parse_qs(parts.query)
    datastore = PostgresDatastore(
        dbname=unquote(parts.path[1:]),
        host=parts.hostname or query["host"][0],
        port=parts.port or query["port"][0],
        user=parts.username or "",
        password=unquote(parts.password or ""),
        pool_size=THREADS,
    )
    recorder = PostgresAggregateRecorder(datastore, events_table_name="library_events")
    try:
        recorder.create_table()

        def insert_until(end: float) -> int:
            done = 0
            while True:
                originator: UUID = uuid4()
                for version in range(1, MATCH_EVENTS + 1):
                    if time.perf_counter() > end:
                        return done
                    recorder.insert_events([StoredEvent(originator, version, "event", RECORD)])
                    done += 1

        with ThreadPoolExecutor(THREADS) as threads:
            start = time.perf_counter()
            counts = list(threads.map(insert_until, [start + seconds] * THREADS))
            return sum(counts) / (time.perf_counter() - start)
    finally:
        datastore.close()
