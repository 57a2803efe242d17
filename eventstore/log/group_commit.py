"""Group commit: appends of many streams that wait together go as one statement.

Each lane has one connection and carries one batch at a time; while it is under way the next one
gathers. A stream always goes by the same lane and at most once per batch, so that no two batches of
a process touch the same row. Between processes the version guard decides, and batches lock their
rows in the order of stream ids.

When the connection breaks, the batch is sent again. That is safe: the guard lets records in once,
the second try waits for whatever is left of the first, and equal head hashes tell that the records
found are ours.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import TYPE_CHECKING

from eventstore.errors import (
    StoreError,
    StoreOverloaded,
    StoreUnavailable,
)
from eventstore.log.append import Pending, explain, given_up, store
from eventstore.model import Append, Head, Limits
from eventstore.postgres.connect import FIRST_PAUSE_S, LONGEST_PAUSE_S, TRANSIENT, caused, is_lost

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection

SMALLEST_FULL_BATCH = 32
"""Below this a statement's own cost outweighs what it carries."""

QUIET_TURNS = 8
"""After so many turns of the loop without a further append nobody is about to join the batch."""


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
        answered: list[Pending] = []
        while True:
            if not self._waiting:
                _tell(answered)
                answered = []
                if self._closing:
                    return
                self._arrived.clear()
                await self._arrived.wait()
            await self._gather()
            batch = self._take(len(answered))
            # The next batch is sent before the callers of the last one wake up: the database works
            # while they do.
            sending = asyncio.create_task(self._commit(batch))
            _tell(answered)
            await sending
            answered = batch

    async def _gather(self) -> None:
        """Let the loop turn as long as that brings further appends, until a batch is full.

        In a busy process other commands are a few turns away from appending too, and sharing a
        statement with them costs less than one of their own. In an idle one the turns are empty,
        and take microseconds.
        """
        seen = len(self._waiting)
        quiet_turns = 0
        while quiet_turns < QUIET_TURNS and seen < SMALLEST_FULL_BATCH:
            await asyncio.sleep(0)
            quiet_turns = 0 if len(self._waiting) > seen else quiet_turns + 1
            seen = len(self._waiting)

    def _take(self, answered: int) -> list[Pending]:
        """The next batch. `answered` callers are about to come back with their next append.

        Half of those that keep the lane busy go at a time, so that the other half can gather.
        """
        waiting = self._waiting
        fair = max(SMALLEST_FULL_BATCH, (len(waiting) + answered) // 2)
        limit = min(fair, self._limits.batch_appends)
        batch: dict[int, Pending] = {}
        later: list[Pending] = []
        size_bytes = 0
        while waiting and len(batch) < limit and size_bytes < self._limits.batch_bytes:
            pending = waiting.popleft()
            if pending.future is None or pending.future.done():
                continue  # its caller was cancelled before it was sent
            if pending.key in batch:
                later.append(pending)
                continue
            batch[pending.key] = pending
            size_bytes += sum(map(len, pending.append.records))
        waiting.extendleft(reversed(later))
        return sorted(batch.values(), key=attrgetter("key"))

    async def _commit(self, batch: list[Pending], *, resent: bool = False) -> None:
        """Find the outcome of every append of a batch.

        `resent`: an earlier sending may have been let in.
        """
        # A database that is known to be away gets one try, so that callers learn it at once.
        deadline = time.monotonic() + (0.0 if self._away else self._limits.patience_s)
        pause_s = FIRST_PAUSE_S
        while batch:
            connection: Connection | None = None
            try:
                connection = await self._connected()
                await self._send(connection, batch, resent=resent)
                self._away = False
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, every caller gets an answer
                cause = error
                if connection is not None and is_lost(error, connection):
                    resent = True
                    connection.terminate()
                elif connection is not None and not isinstance(error, TRANSIENT):
                    await self._refused(batch, error, resent=resent)
                    return
            batch = [pending for pending in batch if pending.outcome is None]
            if time.monotonic() + pause_s > deadline:
                self._away = True
                for pending in batch:
                    pending.outcome = given_up(pending, cause, resent=resent)
                return
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
        return self._connection

    async def _send(self, connection: Connection, batch: list[Pending], *, resent: bool) -> None:
        """Send a batch once and note the outcomes."""
        lost = await store(connection, batch)
        for pending in batch:
            if pending.key not in lost:
                pending.outcome = pending.head
        if lost:
            losers = [pending for pending in batch if pending.key in lost]
            outcomes = await explain(connection, losers, resent=resent)
            for pending in losers:
                pending.outcome = outcomes[pending.key]

    async def _refused(self, batch: list[Pending], error: Exception, *, resent: bool) -> None:
        """The statement was refused as a whole: find the append at fault, and spare the others."""
        if len(batch) == 1:
            refusal = StoreError(f"the database refused the append: {type(error).__name__}")
            batch[0].outcome = caused(refusal, error)
            return
        for pending in batch:
            await self._commit([pending], resent=resent)


def _tell(batch: list[Pending]) -> None:
    for pending in batch:
        pending.tell()
