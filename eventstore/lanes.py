"""Group commit: appends of many streams that wait at the same time go to the database as one statement.

Each lane has one connection and carries one batch at a time; while it is under way the next one gathers. A stream always goes by the
same lane and at most once per batch, so that no two batches of a process touch the same row. Between processes the version guard
decides, and batches lock their rows in the order of stream ids.

When the connection breaks, the batch is sent again. That is safe: the guard lets records in once, the second try waits for whatever
is left of the first, and equal head hashes tell that the records found are ours.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING
from uuid import UUID

from eventstore.chain import next_hash
from eventstore.connect import FIRST_PAUSE_S, LONGEST_PAUSE_S, TRANSIENT, caused, is_lost
from eventstore.errors import (
    AppendOutcomeUnknown,
    ChainMismatch,
    StoreError,
    StoreOverloaded,
    StoreUnavailable,
    VersionConflict,
)
from eventstore.model import UNCHANGED, Append, Head, Limits

if TYPE_CHECKING:
    from eventstore.connect import Connection

# Rows go into `events` only for streams whose head was moved. `(… IN …) IS TRUE` keeps the planner from turning the test into a
# join: it becomes one hash lookup per record.
_STORE = """
WITH input AS (
    SELECT * FROM unnest($1::uuid[], $2::integer[], $3::bytea[], $4::integer[], $5::bytea[], $6::timestamptz[], $7::boolean[])
        AS i (stream_id, expected, previous_hash, version, head_hash, due_at, keeps_due)
), created AS (
    INSERT INTO streams (stream_id, version, head_hash, due_at)
    SELECT stream_id, version, head_hash, due_at FROM input WHERE expected = 0
    ON CONFLICT (stream_id) DO NOTHING
    RETURNING stream_id
), moved AS (
    UPDATE streams s
    SET version = i.version, head_hash = i.head_hash, due_at = CASE WHEN i.keeps_due THEN s.due_at ELSE i.due_at END
    FROM input i
    WHERE s.stream_id = i.stream_id AND s.version = i.expected AND s.head_hash = i.previous_hash AND i.expected > 0
    RETURNING s.stream_id
), won AS (
    SELECT stream_id FROM created UNION ALL SELECT stream_id FROM moved
), stored AS (
    INSERT INTO events (stream_id, version, record, hash)
    SELECT e.* FROM unnest($8::uuid[], $9::integer[], $10::bytea[], $11::bytea[]) AS e (stream_id, version, record, hash)
    WHERE (e.stream_id IN (SELECT stream_id FROM won)) IS TRUE
)"""

_LIST = """, listed AS (
    SELECT * FROM unnest($12::uuid[], $13::smallint[], $14::timestamptz[], $15::integer[], $16::bytea[])
        AS l (match_id, status, opened_at, version, summary)
    WHERE (match_id IN (SELECT stream_id FROM won)) IS TRUE
), seated AS (
    SELECT * FROM unnest($17::uuid[], $18::text[], $19::timestamptz[]) AS s (match_id, player, opened_at)
    WHERE (match_id IN (SELECT stream_id FROM won)) IS TRUE
), lobby AS (
    INSERT INTO matches (match_id, status, opened_at, version, summary) SELECT * FROM listed
    ON CONFLICT (match_id) DO UPDATE SET status = excluded.status, version = excluded.version, summary = excluded.summary
), vacated AS (
    DELETE FROM match_players p USING listed l
    WHERE p.match_id = l.match_id
        AND NOT EXISTS (SELECT FROM seated s WHERE s.match_id = p.match_id AND s.player = p.player)
), taken AS (
    INSERT INTO match_players (match_id, player, opened_at) SELECT * FROM seated ON CONFLICT DO NOTHING
)"""

_ANSWER = " SELECT stream_id FROM won"

_LOOK = """
SELECT w.stream_id, s.version, s.head_hash, e.hash AS hash_there
FROM unnest($1::uuid[], $2::integer[]) AS w (stream_id, version)
JOIN streams s USING (stream_id)
LEFT JOIN events e ON e.stream_id = w.stream_id AND e.version = w.version
"""


class Pending:
    """One append on its way, with the hashes of its records and the caller's future."""

    __slots__ = ("answered", "append", "future", "hashes", "head", "size_bytes", "stream_id")

    def __init__(self, append: Append, future: asyncio.Future[Head] | None = None) -> None:
        self.append = append
        self.future = future
        self.answered = False
        self.stream_id = append.stream_id
        self.hashes: list[bytes] = []
        self.size_bytes = 0
        link = append.previous_hash
        for record in append.records:
            link = next_hash(link, record)
            self.hashes.append(link)
            self.size_bytes += len(record)
        self.head = Head(append.expected_version + len(self.hashes), link)

    def succeed(self) -> None:
        """Tell the caller that the append is stored, if they still wait."""
        self.answered = True
        if self.future is not None and not self.future.done():
            self.future.set_result(self.head)

    def fail(self, error: Exception) -> None:
        """Tell the caller that it is not, or not known to be."""
        self.answered = True
        if self.future is not None and not self.future.done():
            self.future.set_exception(error)


async def store(connection: Connection, batch: Sequence[Pending]) -> set[UUID]:
    """Send a batch of appends of different streams as one statement; the streams whose append was let in."""
    appends = [pending.append for pending in batch]
    stream_ids = [append.stream_id for append in appends]
    event_streams: list[UUID] = []
    event_versions: list[int] = []
    records: list[bytes] = []
    hashes: list[bytes] = []
    for pending in batch:
        count = len(pending.hashes)
        event_streams.extend([pending.stream_id] * count)
        event_versions.extend(range(pending.head.version - count + 1, pending.head.version + 1))
        records.extend(pending.append.records)
        hashes.extend(pending.hashes)
    arguments: list[Sequence[object]] = [
        stream_ids,
        [append.expected_version for append in appends],
        [append.previous_hash for append in appends],
        [pending.head.version for pending in batch],
        [pending.head.hash for pending in batch],
        [None if append.due_at is UNCHANGED else append.due_at for append in appends],
        [append.due_at is UNCHANGED for append in appends],
        event_streams,
        event_versions,
        records,
        hashes,
    ]
    listed = [(pending, lobby) for pending in batch if (lobby := pending.append.lobby) is not None]
    if not listed:
        rows = await connection.fetch(_STORE + _ANSWER, *arguments)
    else:
        seats = [(pending.stream_id, player, lobby.opened_at) for pending, lobby in listed for player in lobby.players]
        rows = await connection.fetch(
            _STORE + _LIST + _ANSWER,
            *arguments,
            [pending.stream_id for pending, _ in listed],
            [lobby.status for _, lobby in listed],
            [lobby.opened_at for _, lobby in listed],
            [pending.head.version for pending, _ in listed],
            [lobby.summary for _, lobby in listed],
            *([seat[column] for seat in seats] for column in range(3)),
        )
    return {row[0] for row in rows}


async def explain(connection: Connection, losers: Sequence[Pending], *, resent: bool) -> dict[UUID, StoreError | None]:
    """Why appends were not let in. None: they were, by an earlier sending whose answer was lost."""
    rows = await connection.fetch(
        _LOOK, [pending.stream_id for pending in losers], [pending.head.version for pending in losers]
    )
    found = {row["stream_id"]: row for row in rows}
    reasons: dict[UUID, StoreError | None] = {}
    for pending in losers:
        row, expected = found.get(pending.stream_id), pending.append.expected_version
        if row is None:
            reasons[pending.stream_id] = VersionConflict(pending.stream_id, expected, 0)
        elif resent and row["hash_there"] == pending.head.hash:
            reasons[pending.stream_id] = None
        elif row["version"] == expected and row["head_hash"] != pending.append.previous_hash:
            reasons[pending.stream_id] = ChainMismatch(pending.stream_id, expected)
        else:
            reasons[pending.stream_id] = VersionConflict(pending.stream_id, expected, row["version"])
    return reasons


class Lane:
    """One connection and the appends that wait for it."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], limits: Limits) -> None:
        self._connect = connect
        self._limits = limits
        self._waiting: deque[Pending] = deque()
        self._arrived = asyncio.Event()
        self._connection: Connection | None = None
        self._away = False
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def start(self, connection: Connection) -> None:
        """Begin work on a first connection."""
        self._connection = connection
        self._task = asyncio.create_task(self._run(), name="append lane")

    def submit(self, append: Append) -> asyncio.Future[Head]:
        """Queue an append. Raises StoreOverloaded, or StoreUnavailable once the lane is closing."""
        if self._closing:
            raise StoreUnavailable("the store is closed")
        if len(self._waiting) * self._limits.lanes >= self._limits.waiting_appends:
            raise StoreOverloaded(f"{len(self._waiting)} appends are waiting")
        future: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
        self._waiting.append(Pending(append, future))
        self._arrived.set()
        return future

    async def close(self) -> None:
        """Take no more appends, finish those that wait, and disconnect."""
        self._closing = True
        self._arrived.set()
        if self._task is not None:
            await self._task
        if self._connection is not None:
            await self._connection.close()

    async def _run(self) -> None:
        while True:
            if not self._waiting:
                if self._closing:
                    return
                self._arrived.clear()
                await self._arrived.wait()
            # Callers that were just answered get one turn, so that their next append joins this batch.
            await asyncio.sleep(0)
            if batch := self._take():
                await self._commit(batch)

    def _take(self) -> list[Pending]:
        batch: dict[UUID, Pending] = {}
        later: list[Pending] = []
        size_bytes = 0
        waiting = self._waiting
        while waiting and len(batch) < self._limits.batch_appends and size_bytes < self._limits.batch_bytes:
            pending = waiting.popleft()
            if pending.future is None or pending.future.done():
                continue  # its caller was cancelled before it was sent
            if pending.stream_id in batch:
                later.append(pending)
                continue
            batch[pending.stream_id] = pending
            size_bytes += pending.size_bytes
        waiting.extendleft(reversed(later))
        return sorted(batch.values(), key=attrgetter("stream_id.int"))

    async def _commit(self, batch: list[Pending], *, resent: bool = False) -> None:
        """See a batch through to an answer for every append in it. `resent`: an earlier sending may have been let in."""
        # A database that is known to be away gets one try, so that callers learn it at once.
        deadline = time.monotonic() + (0.0 if self._away else self._limits.patience_s)
        pause_s = FIRST_PAUSE_S
        while True:
            connection: Connection | None = None
            try:
                connection = await self._connected()
                await self._send(connection, batch, resent=resent)
                self._away = False
                return
            except Exception as error:
                cause = error
                if connection is not None and is_lost(error, connection):
                    resent = True
                    connection.terminate()
                elif connection is not None and not isinstance(error, TRANSIENT):
                    await self._refused(batch, error, resent=resent)
                    return
            batch = [pending for pending in batch if not pending.answered]
            if time.monotonic() + pause_s > deadline:
                self._away = True
                for pending in batch:
                    pending.fail(_given_up(pending, cause, resent=resent))
                return
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
        return self._connection

    async def _send(self, connection: Connection, batch: list[Pending], *, resent: bool) -> None:
        """Send a batch once and answer its callers."""
        won = await store(connection, batch)
        losers = []
        for pending in batch:
            if pending.stream_id in won:
                pending.succeed()
            else:
                losers.append(pending)
        if not losers:
            return
        reasons = await explain(connection, losers, resent=resent)
        for pending in losers:
            reason = reasons[pending.stream_id]
            if reason is None:
                pending.succeed()
            else:
                pending.fail(reason)

    async def _refused(self, batch: list[Pending], error: Exception, *, resent: bool) -> None:
        """The database refused the statement as a whole: find the append that it is about, and spare the others."""
        if len(batch) == 1:
            batch[0].fail(caused(StoreError(f"the database refused the append: {type(error).__name__}"), error))
            return
        for pending in batch:
            await self._commit([pending], resent=resent)


def _given_up(pending: Pending, cause: Exception, *, resent: bool) -> StoreError:
    if resent:
        return caused(AppendOutcomeUnknown(pending.stream_id, pending.append.expected_version), cause)
    return caused(StoreUnavailable(f"the database does not answer: {type(cause).__name__}"), cause)
