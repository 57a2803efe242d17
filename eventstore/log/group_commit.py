"""Group commit: appends of many streams that wait at the same time are sent as one statement.

Each batcher has one connection and sends one batch at a time. Meanwhile the next batch gathers. A
stream always uses the same batcher and is in a batch at most once, so two batches of a process
never touch the same row. Between processes the version guard decides, and batches lock their rows
in the order of stream ids.

If the connection breaks, the batch is sent again. That is safe: the guard stores the records at
most once, the second try waits for the end of the first, and equal hashes show that the records
found are those of the batch.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Generic, TypeVar

from asyncpg import ReadOnlySQLTransactionError

from eventstore.errors import StoreOverloaded, StoreUnavailable
from eventstore.limits import Limits
from eventstore.log.append import PendingAppend, explain_rejections, send_appends, timed_out
from eventstore.postgres.connect import disconnect
from eventstore.postgres.retry import TRANSIENT, Backoff, is_lost, refused

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection

BATCH_APPENDS_MIN = 32
"""Batches of up to this size are not split. In smaller ones the fixed cost of a statement is most
of the cost."""

IDLE_TURNS_MAX = 8
"""After so many turns of the event loop without a new append, no further append is expected."""


Pending = TypeVar("Pending", bound=PendingAppend)


class Batcher(Generic[Pending]):
    """One connection and the appends that wait for it."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], limits: Limits) -> None:
        self._connect = connect
        self._limits = limits
        self._waiting: deque[Pending] = deque()
        self._arrived = asyncio.Event()
        self._connection: Connection | None = None
        self._used_at = 0.0
        self._unavailable = False
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Connect, and start to send batches."""
        await self._ensure_connection()
        self._task = asyncio.create_task(self._run(), name="append batcher")

    def enqueue(self, pending: Pending) -> None:
        """Queue an append. Raises StoreOverloaded, or StoreUnavailable after `close`."""
        if self._closing:
            raise StoreUnavailable("the store is closed")
        if len(self._waiting) * self._limits.batchers >= self._limits.waiting_appends_max:
            raise StoreOverloaded(f"{len(self._waiting)} appends are waiting")
        self._waiting.append(pending)
        self._arrived.set()

    async def close(self) -> None:
        """Refuse new appends, send the waiting ones if the database answers, and disconnect."""
        self._closing = True
        self._arrived.set()
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=self._limits.close_seconds_max)
            for task in late:
                task.cancel()
        if self._connection is not None:
            await disconnect(self._connection)

    async def _run(self) -> None:
        finished: list[Pending] = []
        while True:
            if not self._waiting:
                _resolve(finished)
                finished = []
                if self._closing:
                    return
                self._arrived.clear()
                await self._arrived.wait()
            await self._gather()
            batch = self._take_batch(len(finished))
            # Send the next batch before the callers of the last one continue: the database then
            # works while they do.
            sending = asyncio.create_task(self._commit(batch))
            _resolve(finished)
            await sending
            finished = batch

    async def _gather(self) -> None:
        """Let other tasks run while they add appends, until a batch is full.

        In a busy process many commands are a few turns of the event loop away from their append.
        Sharing a statement with them costs less than a statement for each. In an idle process
        these turns take microseconds.
        """
        seen = len(self._waiting)
        idle_turns = 0
        while idle_turns < IDLE_TURNS_MAX and seen < BATCH_APPENDS_MIN:
            await asyncio.sleep(0)
            idle_turns = 0 if len(self._waiting) > seen else idle_turns + 1
            seen = len(self._waiting)

    def _take_batch(self, finished: int) -> list[Pending]:
        """Return the next batch. The callers of `finished` appends are about to append again.

        A batch has half of the appends of a busy batcher, so that the other half can gather.
        """
        waiting = self._waiting
        fair = max(BATCH_APPENDS_MIN, (len(waiting) + finished) // 2)
        limit = min(fair, self._limits.batch_appends_max)
        batch: dict[int, Pending] = {}
        later: list[Pending] = []
        size_bytes = 0
        while waiting and len(batch) < limit and size_bytes < self._limits.batch_bytes_max:
            pending = waiting.popleft()
            if pending.future is None or pending.future.done():
                continue  # its caller was cancelled before it was sent
            if not self._may_join(pending, batch):
                later.append(pending)
                continue
            batch[pending.key] = pending
            size_bytes += sum(map(len, pending.append.records))
        waiting.extendleft(reversed(later))
        return sorted(batch.values(), key=attrgetter("key"))

    def _may_join(self, pending: Pending, batch: Mapping[int, Pending]) -> bool:
        """Return whether an append may be in a batch with these others."""
        return pending.key not in batch

    async def _commit(self, batch: list[Pending], *, resent: bool = False) -> None:
        """Set the outcome of every append of a batch.

        `resent`: an earlier try may have stored the batch.
        """
        # While the database is known to be unavailable, a batch gets one try: callers then get
        # their answer without delay.
        backoff = Backoff(0.0 if self._unavailable else self._limits.retry_timeout_seconds)
        while batch:
            connection: Connection | None = None
            try:
                connection = await self._ensure_connection()
                await self._send(connection, batch, resent=resent)
                self._unavailable = False
                return
            except Exception as error:  # noqa: BLE001 - every caller must get an answer
                cause = error
                if isinstance(error, ReadOnlySQLTransactionError):
                    self._disconnect()  # the next connection looks for a primary again
                elif connection is not None and is_lost(error, connection):
                    resent = True
                    connection.terminate()
                elif connection is not None and not isinstance(error, TRANSIENT):
                    await self._isolate_refused(batch, error, resent=resent)
                    return
            batch = [pending for pending in batch if pending.outcome is None]
            if not await backoff.wait():
                self._unavailable = True
                for pending in batch:
                    pending.outcome = timed_out(pending, cause, resent=resent)
                return

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.terminate()

    async def _ensure_connection(self) -> Connection:
        """Return a connection that was in use not long ago. A new one takes milliseconds."""
        now = asyncio.get_running_loop().time()
        if now - self._used_at > self._limits.idle_connection_seconds_max:
            self._disconnect()
        self._used_at = now
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
        return self._connection

    async def _send(
        self, connection: Connection, batch: Sequence[Pending], *, resent: bool
    ) -> None:
        """Send a batch once and set the outcomes."""
        rejected_keys = await send_appends(connection, batch)
        for pending in batch:
            if pending.key not in rejected_keys:
                pending.outcome = pending.head
        if rejected_keys:
            rejected = [pending for pending in batch if pending.key in rejected_keys]
            outcomes = await explain_rejections(connection, rejected, resent=resent)
            for pending in rejected:
                pending.outcome = outcomes[pending.key]

    async def _isolate_refused(
        self, batch: list[Pending], cause: Exception, *, resent: bool
    ) -> None:
        """Send the appends of a refused statement one by one, so that only the faulty one fails."""
        if len(batch) == 1:
            error = refused(cause)
            error.__cause__ = cause
            batch[0].outcome = error
            return
        for pending in batch:
            await self._commit([pending], resent=resent)


def _resolve(batch: Sequence[PendingAppend]) -> None:
    for pending in batch:
        pending.resolve()
