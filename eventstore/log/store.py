"""The event store: append to streams, read them, and learn which of them changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

import asyncpg

from eventstore.checkpoints import Checkpoints
from eventstore.disputes import Disputes
from eventstore.ledger.ledger import Ledger
from eventstore.log import tail
from eventstore.log.archive import Archive
from eventstore.log.chain import HASH_SIZE_BYTES
from eventstore.log.group_commit import Lane
from eventstore.model import (
    Append,
    Due,
    Head,
    Limits,
    ListedMatch,
    LobbyRow,
    PageKey,
    StoredRecord,
    TailBatch,
)
from eventstore.postgres.connect import check_fitness, connect, open_pool, patiently
from eventstore.read_models import lobby
from eventstore.read_models.standings import Standings

if TYPE_CHECKING:
    from eventstore.ledger.books import CoinMove
    from eventstore.postgres.connect import Connection, Pool

_READ = """
SELECT version, record, hash FROM events
WHERE stream_id = $1 AND version > $2 ORDER BY version LIMIT $3
"""
_READ_MANY = """
SELECT stream_id, version, record, hash FROM events
WHERE (stream_id, version) > ($1, $2) ORDER BY stream_id, version LIMIT $3
"""
_DUE = "SELECT stream_id, version, due_at FROM streams WHERE due_at <= $1 ORDER BY due_at LIMIT $2"
_SET_DUE = "UPDATE streams SET due_at = $3 WHERE stream_id = $1 AND version = $2"


class EventStore:
    """One process' store.

    Made by `open`; safe to use from any number of tasks of one event loop.
    """

    def __init__(self, dsn: str, limits: Limits, reads: Pool, coins: Pool) -> None:
        self.ledger = Ledger(reads, coins, limits)
        self.archive = Archive(reads, limits)
        self.checkpoints = Checkpoints(reads, limits)
        self.disputes = Disputes(reads, coins, limits)
        self.standings = Standings(reads, limits)
        self._dsn = dsn
        self._limits = limits
        self._reads = reads
        self._coins = coins
        self._lanes = [Lane(self._connect_lane, limits) for _ in range(limits.lanes)]

    @classmethod
    async def open(cls, dsn: str, limits: Limits | None = None) -> Self:
        """Connect to a migrated database.

        Raises StoreMisconfigured if it is not fit to hold the log, StoreUnavailable if it is away.
        """
        limits = limits or Limits()

        async def first() -> list[Connection]:
            return [await connect(dsn, limits, lane=True) for _ in range(limits.lanes)]

        connections = await patiently(limits.patience_s, first)
        try:
            await check_fitness(connections[0])
        except BaseException:
            for connection in connections:
                await connection.close()
            raise
        reads = await open_pool(dsn, limits, limits.read_connections)
        coins = await open_pool(dsn, limits, limits.coin_connections, lane=True)
        store = cls(dsn, limits, reads, coins)
        for lane, connection in zip(store._lanes, connections, strict=True):
            lane.start(connection)
        return store

    async def close(self) -> None:
        """Take no more appends, finish those that wait, and disconnect."""
        await asyncio.gather(*(lane.close() for lane in self._lanes))
        await self._coins.close()
        await self._reads.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def ping(self) -> None:
        """Ask the database for an answer. Raises StoreUnavailable at once when there is none."""
        await self._read_once("SELECT 1")

    async def append(self, append: Append, coins: Sequence[CoinMove] = ()) -> Head:
        """Store the records of one command, durably and all or none, and give the new head.

        With `coins` the coins move in the same transaction, which the command then has to itself;
        raises InsufficientCoins or LedgerMismatch, and nothing is stored and nothing moves.

        Raises VersionConflict, ChainMismatch, StoreOverloaded, StoreUnavailable (nothing was
        stored) or AppendOutcomeUnknown. A caller that is cancelled meanwhile does not know whether
        its records were stored.
        """
        self._check(append)
        if coins:
            return await self.ledger.append(append, coins)
        return await self._lanes[append.stream_id.int % len(self._lanes)].submit(append)

    async def read(
        self, stream_id: UUID, after_version: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        """The records of a stream after a version, in order; none when there is no such stream."""
        return [
            StoredRecord(*row) for row in await self._fetch(_READ, stream_id, after_version, limit)
        ]

    async def read_head(self, stream_id: UUID) -> Head | None:
        """The last version of a stream and its hash; None when there is no such stream."""
        rows = await self._fetch(
            "SELECT version, head_hash FROM streams WHERE stream_id = $1", stream_id
        )
        return Head(*rows[0]) if rows else None

    async def read_all(
        self, after: UUID | None = None
    ) -> AsyncGenerator[tuple[UUID, list[StoredRecord]], None]:
        """Every stream whole, in the order of ids, after a given one: for audits and rebuilds.

        What is appended meanwhile may or may not be seen, but a stream's records come without gaps.
        """
        current: UUID | None = None
        records: list[StoredRecord] = []
        key = (after or UUID(int=0), 2**31 - 1 if after else 0)
        while rows := await self._fetch(_READ_MANY, *key, self._limits.page_rows):
            for stream_id, *row in rows:
                if stream_id != current:
                    if current is not None:
                        yield current, records
                    current, records = stream_id, []
                records.append(StoredRecord(*row))
            key = (rows[-1][0], rows[-1][1])
        if current is not None:
            yield current, records

    async def due(self, now: datetime, limit: int) -> list[Due]:
        """Streams whose `due_at` has come, the longest overdue first.

        Every replica gets the same ones; the version guard decides.
        """
        return [Due(*row) for row in await self._fetch(_DUE, now, limit)]

    async def set_due(self, stream_id: UUID, version: int, due_at: datetime | None) -> bool:
        """Set when to look at a stream next, provided that it is still at that version.

        False: somebody appended meanwhile, and has seen to it.
        """
        status = await self._execute(_SET_DUE, stream_id, version, due_at)
        return status == "UPDATE 1"

    async def list_matches(
        self,
        *,
        statuses: Collection[int] | None = None,
        player: str | None = None,
        after: PageKey | None = None,
        limit: int,
    ) -> list[ListedMatch]:
        """A page of the lobby, newest first; optionally some statuses, or one player's matches."""
        return [
            ListedMatch(*row)
            for row in await self._fetch(*lobby.page_query(statuses, player, after, limit))
        ]

    async def count_opened(self, opened_by: str, *, status: int, limit: int) -> int:
        """How many matches of this status somebody has opened, up to a limit.

        Matches that have ended do not count, whatever their status.
        """
        rows = await self._fetch(*lobby.count_query(opened_by, status, limit))
        return int(rows[0][0])

    async def put_lobby_rows(self, rows: Sequence[tuple[UUID, int, LobbyRow]]) -> None:
        """Write rows (match id, version, row) computed anew, where the lobby has nothing newer."""

        async def attempt() -> None:
            async with self._reads.acquire() as connection, connection.transaction():
                await lobby.put(connection, rows)

        await patiently(self._limits.patience_s, attempt)

    def follow(self, after: int | None = None) -> AsyncGenerator[TailBatch, None]:
        """Learn without end which streams were appended to, by anyone, from a position or from now.

        The first batch is empty and comes as soon as the starting point is fixed: what is read from
        a stream after that, plus what the tail tells, leaves no gap. A batch names each stream once
        with its newest version in the batch; every append is covered by some batch, in commit order
        up to concurrent transactions, and none is told before all transactions that began writing
        earlier have ended. While the database is away the tail waits and goes on where it was.
        """
        return tail.follow(lambda: connect(self._dsn, self._limits), self._limits, after)

    def _check(self, append: Append) -> None:
        _, expected_version, previous_hash, records, _, lobby_row = append
        limits = self._limits
        if not 0 < len(records) <= limits.append_records:
            raise ValueError(f"an append has 1 to {limits.append_records} records: {len(records)}")
        if max(map(len, records)) > limits.record_bytes:
            raise ValueError(f"a record has at most {limits.record_bytes} bytes")
        if expected_version < 0 or len(previous_hash) != HASH_SIZE_BYTES:
            raise ValueError(
                f"an append needs a version from 0 and a hash of {HASH_SIZE_BYTES} bytes"
            )
        if lobby_row is not None and len(lobby_row.summary) > limits.summary_bytes:
            raise ValueError(f"a lobby summary has at most {limits.summary_bytes} bytes")

    async def _connect_lane(self) -> Connection:
        return await connect(self._dsn, self._limits, lane=True)

    async def _read_once(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        return await patiently(0.0, lambda: self._reads.fetch(query, *arguments))

    async def _fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        return await patiently(
            self._limits.patience_s, lambda: self._reads.fetch(query, *arguments)
        )

    async def _execute(self, query: str, *arguments: object) -> str:
        return await patiently(
            self._limits.patience_s, lambda: self._reads.execute(query, *arguments)
        )
