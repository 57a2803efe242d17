"""Keeps live matches up with what other replicas store: by hints, and by comparing heads.

Hints arrive within milliseconds, but can be lost. So every few seconds the heads of all live
matches are compared with the log. The comparison also finds out if the log was put back to an older
state, or to another one, under a running service.
"""

import asyncio
import time
from itertools import islice
from typing import Final
from uuid import UUID

from eventstore import EventStore
from service.matches.changes import Change
from service.matches.live_matches import LiveMatches
from service.watchdog import progress

_PAGE: Final = 2_000


class Following:
    """Follows the log for the live matches of a process."""

    def __init__(self, store: EventStore, matches: LiveMatches) -> None:
        """Send a hint for every change that this process stores."""
        self._store = store
        self._matches = matches
        self._interval_seconds = matches.context.config.heads_interval_seconds
        self._compare_now = asyncio.Event()
        self._compared_at = time.monotonic()
        matches.context.change_listeners.append(self._changed)

    def seconds_behind(self) -> float:
        """Return for how long the comparison of heads is overdue."""
        return max(0.0, time.monotonic() - self._compared_at - self._interval_seconds)

    async def exchange_hints(self) -> None:
        """Send and receive hints until the connection is lost. Raises StoreUnavailable."""
        await self._store.hints.run(self._heard, self._compare_now.set)

    async def compare_heads(self) -> None:
        """Compare the heads of the live matches with the log, without end. Raises StoreError."""
        while True:
            await self.compare()
            self._compared_at = time.monotonic()
            progress()
            try:
                async with asyncio.timeout(self._interval_seconds):
                    await self._compare_now.wait()
            except TimeoutError:
                continue
            self._compare_now.clear()

    async def compare(self) -> None:
        """Compare the heads once."""
        # The heads in memory are read before those of the log, which only grow.
        known = iter(self._matches.heads())
        while page := list(islice(known, _PAGE)):
            stored = await self._store.read_heads([stream_id for stream_id, _ in page])
            for stream_id, head in page:
                now = stored.get(stream_id)
                if now is not None and now.version > head.version:
                    self._matches.catch_up(stream_id.bytes, now.version)
                elif now != head:
                    self._matches.forget(stream_id.bytes, head)

    def _heard(self, stream_id: UUID, version: int) -> None:
        self._matches.catch_up(stream_id.bytes, version)
        for listener in self._matches.context.hint_listeners:
            listener(stream_id, version)

    def _changed(self, change: Change) -> None:
        if change.is_own:
            self._store.hints.add(UUID(bytes=change.match.match_id), change.records[-1].version)
