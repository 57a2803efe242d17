"""All live matches of this process: a cache over the log, bounded by the memory that it takes.

The least recently used matches leave first. A match in use stays.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final
from uuid import UUID

from domain.match.fold import Match
from durak.v1 import errors_pb2 as reasons
from durak.v1.table_pb2 import PHASE_ENDED, TableView
from eventstore import Head
from service.matches.changes import Change
from service.matches.context import Context
from service.matches.envelope import Envelope
from service.matches.live_match import LiveMatch
from service.matches.match_size import SIZE_MIN, size_of
from service.rpc.errors import refuse

_COMMANDS_SHARE: Final = 10
"""One byte in so many is kept for commands, whatever is watched."""
_RETRY_SECONDS: Final = 1.0
"""Pause before reading the log again after a failure."""


class LiveMatches:
    """Finds live matches and makes room for more."""

    def __init__(self, context: Context) -> None:
        """Start with none."""
        self.context = context
        self._matches: dict[bytes, LiveMatch] = {}
        self._idle: OrderedDict[bytes, LiveMatch] = OrderedDict()
        """Matches that were in use, least recently first. Some of them are in use again."""
        self._bytes_max = context.config.live_matches_bytes_max
        self._commands_bytes = self._bytes_max // _COMMANDS_SHARE
        self.bytes = 0
        """The memory that all live matches take (`size_of`)."""
        self._watched_bytes = 0
        """The part of it that watches keep."""
        context.change_listeners.append(self._changed)

    def __len__(self) -> int:
        return len(self._matches)

    def find(self, match_id: bytes) -> LiveMatch | None:
        """Return the live match of an id (16 bytes) if it is in memory."""
        return self._matches.get(match_id)

    def get(self, match_id: bytes) -> LiveMatch:
        """Return the live match of an id (16 bytes); its first job reads the log.

        Raises Refused OVERLOADED if memory is full of matches in use.
        """
        live = self._matches.get(match_id)
        if live is None:
            self._make_room()
            live = self._matches[match_id] = LiveMatch(match_id, self.context, self._used)
            self.bytes += live.bytes
            self.context.counters.loads += 1
        return live

    @contextmanager
    def pinned(self, match_id: bytes) -> Iterator[LiveMatch]:
        """Yield the live match of an id and keep it in memory during the block."""
        live = self.get(match_id)
        live.pins += 1
        try:
            yield live
        finally:
            live.pins -= 1
            self._used(live)

    @contextmanager
    def watched(self, match_id: bytes) -> Iterator[LiveMatch]:
        """Yield the live match of an id and keep it in memory for a watch during the block.

        Raises Refused OVERLOADED if watches keep so many matches that commands need the rest.
        """
        with self.pinned(match_id) as live:
            if not live.watches:
                if self._watched_bytes + live.bytes > self._bytes_max - self._commands_bytes:
                    raise refuse(reasons.ERROR_REASON_OVERLOADED)
                self._watched_bytes += live.bytes
            live.watches += 1
            try:
                yield live
            finally:
                live.watches -= 1
                if not live.watches:
                    self._watched_bytes -= live.bytes

    def perform(self, envelope: Envelope) -> "asyncio.Future[TableView]":
        """Queue a player's command; the result is their view right after it."""
        self.context.counters.commands += 1
        live = self.get(envelope.match_id)
        return live.submit(partial(live.open if envelope.opens else live.answer, envelope))

    def catch_up(self, match_id: bytes, version: int) -> None:
        """Let a live match read the missing records up to a version of the log."""
        live = self._matches.get(match_id)
        if live is not None and live.match.version < version:
            reading = live.submit(partial(live.catch_up_to, version))
            reading.add_done_callback(partial(self._retry_if_failed, match_id, version))

    def _retry_if_failed(
        self, match_id: bytes, version: int, reading: "asyncio.Future[None]"
    ) -> None:
        # The news of a version comes once, and the watches of the match need it.
        error = None if reading.cancelled() else reading.exception()
        if isinstance(error, Exception):
            self.context.failures.report("hints", error, match_id=match_id.hex())
            self.context.loop.call_later(_RETRY_SECONDS, self.catch_up, match_id, version)

    def heads(self) -> list[tuple[UUID, Head]]:
        """Return the streams and heads of all live matches that the log has."""
        return [(live.stream_id, live.head) for live in self._matches.values() if live.head.version]

    def forget(self, match_id: bytes, head: Head) -> None:
        """Start a match over whose log no longer has this head, unless it has changed meanwhile.

        Its watches end with LOG_CHANGED. Commands use the log as it is now.
        """
        live = self._matches.get(match_id)
        if live is not None:
            live.submit(partial(live.start_over, head)).add_done_callback(_take_error)

    async def join(self) -> None:
        """Wait until no match has a job left."""
        await asyncio.gather(*(live.join() for live in tuple(self._matches.values())))

    def _changed(self, change: Change) -> None:
        """Measure a match again, and drop it soon after its end."""
        match = change.match
        live = self._matches.get(match.match_id)
        if live is not None:
            self._measure(live, match)
        if match.phase == PHASE_ENDED:
            self._drop_later(match.match_id)

    def _measure(self, live: LiveMatch, match: Match) -> None:
        more = size_of(match) - live.bytes
        live.bytes += more
        self.bytes += more
        if live.watches:
            self._watched_bytes += more
        while self.bytes > self._bytes_max and self._drop_oldest():
            pass

    def _drop_later(self, match_id: bytes) -> None:
        seconds = self.context.config.ended_match_seconds
        self.context.loop.call_later(seconds, self._drop_if_ended, match_id)

    def _drop_if_ended(self, match_id: bytes) -> None:
        live = self._matches.get(match_id)
        if live is None or live.match.phase != PHASE_ENDED:
            return
        if live.is_busy:
            self._drop_later(match_id)
        else:
            self._drop(live)

    def _used(self, live: LiveMatch) -> None:
        """Note the end of a use of a match.

        One that the log does not have is dropped, so that unknown ids take no room.
        """
        if live.is_busy or self._matches.get(live.match_id) is not live:
            return
        if live.match.version:
            self._idle[live.match_id] = live
            self._idle.move_to_end(live.match_id)
        else:
            self._drop(live)

    def _make_room(self) -> None:
        """Make room for one more match. Raises Refused OVERLOADED."""
        while self.bytes + SIZE_MIN > self._bytes_max:
            if not self._drop_oldest():
                # Watched matches may have grown into the part that is kept for commands.
                if self.bytes - self._watched_bytes + SIZE_MIN <= self._commands_bytes:
                    return
                raise refuse(reasons.ERROR_REASON_OVERLOADED)

    def _drop_oldest(self) -> bool:
        """Drop the match that was not used for the longest time. Return whether there was one."""
        while self._idle:
            live = next(iter(self._idle.values()))
            if not live.is_busy:
                self._drop(live)
                self.context.counters.evictions += 1
                return True
            del self._idle[live.match_id]  # it comes back at the end of its use
        return False

    def _drop(self, live: LiveMatch) -> None:
        del self._matches[live.match_id]
        self._idle.pop(live.match_id, None)
        self.bytes -= live.bytes
        for listener in self.context.eviction_listeners:
            listener(live.match_id)


def _take_error(job: "asyncio.Future[None]") -> None:
    """Take note of an error, which the next job of the match meets again."""
    if not job.cancelled():
        job.exception()
