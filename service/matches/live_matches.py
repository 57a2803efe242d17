"""All live matches of this process: a bounded cache over the log, least recently used out first."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final
from uuid import UUID

from durak.v1 import errors_pb2 as reasons
from durak.v1.table_pb2 import PHASE_ENDED, TableView
from eventstore import Head
from service.matches.changes import Change
from service.matches.context import Context
from service.matches.envelope import Envelope
from service.matches.live_match import LiveMatch
from service.rpc.errors import refuse

_COMMANDS_SHARE: Final = 10
"""One match in so many is kept for commands, whatever is watched."""
_RETRY_SECONDS: Final = 1.0
"""Pause before reading the log again after a failure."""


class LiveMatches:
    """Finds live matches and makes room for more."""

    def __init__(self, context: Context) -> None:
        """Start with none."""
        self.context = context
        self._matches: OrderedDict[bytes, LiveMatch] = OrderedDict()
        self._watched = 0
        """The number of matches that watches keep in memory."""
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
        if live is not None:
            self._matches.move_to_end(match_id)
            return live
        if len(self._matches) >= self.context.config.live_matches_max:
            self._make_room()
        live = self._matches[match_id] = LiveMatch(match_id, self.context, self._drop_if_unopened)
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
            self._drop_if_unopened(live)

    @contextmanager
    def watched(self, match_id: bytes) -> Iterator[LiveMatch]:
        """Yield the live match of an id and keep it in memory for a watch during the block.

        Raises Refused OVERLOADED if watches keep so many matches that commands need the rest.
        """
        live = self._matches.get(match_id)
        is_first = live is None or not live.watches
        limit = self.context.config.live_matches_max
        if is_first and self._watched >= limit - limit // _COMMANDS_SHARE:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        with self.pinned(match_id) as live:
            self._watched += not live.watches
            live.watches += 1
            try:
                yield live
            finally:
                live.watches -= 1
                self._watched -= not live.watches

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
        """Drop a match soon after its end."""
        if change.match.phase == PHASE_ENDED:
            self._drop_later(change.match.match_id)

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

    def _drop_if_unopened(self, live: LiveMatch) -> None:
        """Drop a match that the log does not have, so that unknown ids take no room."""
        is_unopened = not live.match.version and not live.is_busy
        if is_unopened and self._matches.get(live.match_id) is live:
            self._drop(live)

    def _make_room(self) -> None:
        for _ in range(len(self._matches)):
            oldest = next(iter(self._matches.values()))
            if not oldest.is_busy:
                self._drop(oldest)
                self.context.counters.evictions += 1
                return
            self._matches.move_to_end(oldest.match_id)
        raise refuse(reasons.ERROR_REASON_OVERLOADED)

    def _drop(self, live: LiveMatch) -> None:
        del self._matches[live.match_id]
        for listener in self.context.eviction_listeners:
            listener(live.match_id)


def _take_error(job: "asyncio.Future[None]") -> None:
    """Take note of an error, which the next job of the match meets again."""
    if not job.cancelled():
        job.exception()
