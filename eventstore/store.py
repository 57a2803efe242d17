"""The event store of one process: appends to streams, reads, and access to the other parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from eventstore.administration import Administration
from eventstore.checkpoints import Checkpoints
from eventstore.disputes import Disputes
from eventstore.ledger.coin_append import CoinBatcher, PendingCoins
from eventstore.ledger.ledger import Ledger
from eventstore.limits import Limits
from eventstore.log.append import PendingAppend
from eventstore.log.chain import HASH_SIZE_BYTES
from eventstore.log.group_commit import Batcher
from eventstore.log.hints import Hints
from eventstore.model import Append, DueStream, Head, StoredRecord
from eventstore.postgres.connect import connect
from eventstore.postgres.pool import Pool
from eventstore.postgres.requirements import check_requirements, check_writable
from eventstore.postgres.retry import retry
from eventstore.read_models.lobby import Lobby
from eventstore.read_models.news import PlayerNews
from eventstore.read_models.standings import Standings
from eventstore.whole_matches import WholeMatches

if TYPE_CHECKING:
    from eventstore.ledger.books import CoinMove
    from eventstore.postgres.connect import Connection

_READ = """
SELECT version, record, hash FROM events
WHERE stream_id = $1 AND version > $2 ORDER BY version LIMIT $3
"""
_READ_ALL = """
SELECT stream_id, version, record, hash FROM events
WHERE (stream_id, version) > ($1, $2) ORDER BY stream_id, version LIMIT $3
"""
_HEAD = "SELECT version, head_hash FROM streams WHERE stream_id = $1"
_HEADS = "SELECT stream_id, version, head_hash FROM streams WHERE stream_id = ANY ($1)"
_DUE = """
SELECT stream_id, version, due_at FROM streams
WHERE due_at <= $1 AND stream_id <> ALL ($3) ORDER BY due_at LIMIT $2
"""
_RESCHEDULE = "UPDATE streams SET due_at = $3 WHERE stream_id = $1 AND version = $2"
_VERSION_MAX = 2**31 - 1


class EventStore:
    """The event store of one process.

    Create it with `open`. Any number of tasks of one event loop may use it.
    """

    def __init__(self, dsn: str, limits: Limits, reads: Pool, coins: Pool) -> None:
        self.ledger = Ledger(reads, coins)
        self.lobby = Lobby(reads)
        self.standings = Standings(reads)
        self.checkpoints = Checkpoints(reads)
        self.administration = Administration(reads, coins)
        self.disputes = Disputes(reads, coins)
        self.whole_matches = WholeMatches(reads)
        self.hints = Hints(lambda: connect(dsn, limits))
        self.news = PlayerNews(reads, self.hints)
        self._dsn = dsn
        self._limits = limits
        self._reads = reads
        self._coins = coins
        self._batchers = [
            Batcher[PendingAppend](self._connect_batcher, limits) for _ in range(limits.batchers)
        ]
        self._coin_batcher = CoinBatcher(self._connect_batcher, limits)

    @classmethod
    async def open(cls, dsn: str, limits: Limits | None = None) -> Self:
        """Connect to a migrated database.

        Raises StoreMisconfigured if it cannot hold the log, StoreUnavailable if it is unavailable.
        """
        limits = limits or Limits()
        async with AsyncExitStack() as opened:
            reads = await Pool.open(dsn, limits, limits.read_connections_max)
            opened.push_async_callback(reads.close)
            await reads.transact(check_requirements)
            coins = await Pool.open(dsn, limits, limits.coin_connections_max, for_appends=True)
            opened.push_async_callback(coins.close)
            store = cls(dsn, limits, reads, coins)
            batchers: list[Batcher[Any]] = [*store._batchers, store._coin_batcher]
            for batcher in batchers:
                opened.push_async_callback(batcher.close)
                await retry(limits.retry_timeout_seconds, batcher.start)
            opened.pop_all()
        return store

    async def close(self) -> None:
        """Refuse new appends, store the waiting ones, and disconnect."""
        closing = [self._coin_batcher.close(), *(batcher.close() for batcher in self._batchers)]
        await asyncio.gather(*closing)
        await self._coins.close()
        await self._reads.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def check_writable(self) -> None:
        """Check that a command could be stored now, without retries.

        Raises StoreUnavailable if the database does not answer, StoreMisconfigured if it takes no
        writes or lacks a table or a right, and StoreError if it refuses the service.
        """
        await self._coins.check(check_writable)

    async def read_time(self) -> datetime:
        """Return the time of the database's clock. Raises StoreError."""
        [row] = await self._reads.fetch("SELECT clock_timestamp() AS now")
        return row["now"]  # type: ignore[no-any-return]

    async def append(self, append: Append, coins: Sequence[CoinMove] = ()) -> Head:
        """Store the records of one command durably, all or none, and return the new head.

        With `coins` the coins move in the same transaction. A caller that is cancelled does not
        know whether its records were stored.

        Raises:
            VersionConflict: the stream is not at the expected version.
            ChainMismatch: the stream is at that version with another hash.
            StoreOverloaded: too many appends are waiting.
            StoreUnavailable: the database is unavailable, and nothing was stored.
            AppendOutcomeUnknown: the database is unavailable, and the records may be stored.
            NoAccount, InsufficientCoins, OpeningCoinsLocked, LedgerMismatch: the coins cannot move.
        """
        self._check_limits(append)
        future: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
        if coins:
            pending_coins = PendingCoins(append, future, coins)
            self._coin_batcher.enqueue(pending_coins)
        else:
            batcher = self._batchers[append.stream_id.int % len(self._batchers)]
            batcher.enqueue(PendingAppend(append, future))
        return await future

    async def read(
        self, stream_id: UUID, after_version: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        """Return the records after a version, in order. None if the stream does not exist."""
        rows = await self._reads.fetch(_READ, stream_id, after_version, limit)
        return [StoredRecord(*row) for row in rows]

    async def read_head(self, stream_id: UUID) -> Head | None:
        """Return the last version of a stream and its hash, or None if there is no such stream."""
        row = await self._reads.fetch_first(_HEAD, stream_id)
        return None if row is None else Head(*row)

    async def read_all(
        self, after: UUID | None = None
    ) -> AsyncGenerator[tuple[UUID, list[StoredRecord]], None]:
        """Yield every stream with an id after the given one, in the order of ids.

        Records that are appended meanwhile may be missing, but a stream never has gaps.
        """
        current: UUID | None = None
        records: list[StoredRecord] = []
        key = (after or UUID(int=0), _VERSION_MAX if after else 0)
        while rows := await self._reads.fetch(_READ_ALL, *key, self._limits.page_rows_max):
            for stream_id, *row in rows:
                if stream_id != current:
                    if current is not None:
                        yield current, records
                    current, records = stream_id, []
                records.append(StoredRecord(*row))
            key = (rows[-1][0], rows[-1][1])
        if current is not None:
            yield current, records

    async def read_heads(self, stream_ids: Sequence[UUID]) -> dict[UUID, Head]:
        """Return the heads of these streams. Streams that the log does not have are left out."""
        rows = await self._reads.fetch(_HEADS, stream_ids)
        return {row["stream_id"]: Head(row["version"], row["head_hash"]) for row in rows}

    async def read_due(
        self, now: datetime, limit: int, without: Collection[UUID] = ()
    ) -> list[DueStream]:
        """Return streams whose deadline has passed, the longest overdue first.

        Every replica gets the same streams, except for those `without` which it asks. The version
        guard decides which one acts.
        """
        rows = await self._reads.fetch(_DUE, now, limit, list(without))
        return [DueStream(*row) for row in rows]

    async def reschedule(self, stream_id: UUID, version: int, due_at: datetime | None) -> bool:
        """Set the deadline of a stream, if the stream is still at this version.

        Returns False if it is not. Then a later append has set the deadline.
        """
        status = await self._reads.execute(_RESCHEDULE, stream_id, version, due_at)
        return status == "UPDATE 1"

    def _check_limits(self, append: Append) -> None:
        _, expected_version, previous_hash, records, _, lobby_row = append
        limits = self._limits
        if not 0 < len(records) <= limits.append_records_max:
            raise ValueError(
                f"an append has 1 to {limits.append_records_max} records: {len(records)}"
            )
        if max(map(len, records)) > limits.record_bytes_max:
            raise ValueError(f"a record has at most {limits.record_bytes_max} bytes")
        if expected_version < 0 or len(previous_hash) != HASH_SIZE_BYTES:
            raise ValueError(
                f"an append needs a version from 0 and a hash of {HASH_SIZE_BYTES} bytes"
            )
        if lobby_row is not None and len(lobby_row.summary) > limits.summary_bytes_max:
            raise ValueError(f"a lobby summary has at most {limits.summary_bytes_max} bytes")

    async def _connect_batcher(self) -> Connection:
        return await connect(self._dsn, self._limits, for_appends=True)
