"""Watches: the events of a match as they happen, redacted for the reader.

A watch first sends what the log has, page by page. When nothing is missing it starts to listen to
the live match in the same step of the event loop, so no version is skipped, repeated or reordered.
From then on each change is put into its queue. The queue is bounded: a reader that is too slow is
cut off and can resume.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from domain.match.fold import CorruptLogError
from domain.match.refusal import match_not_found
from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.match_service_pb2 import CaughtUp, Heartbeat, WatchMatchResponse
from durak.v1.table_pb2 import PHASE_ENDED
from service.matches.changes import Change, EventMessage, view_message
from service.matches.live_match import LiveMatch
from service.matches.live_matches import LiveMatches
from service.rpc.call import Caller
from service.rpc.errors import Refused, refuse
from service.rpc.limits import Limits
from service.rpc.stream_lifetime import Interruption
from service.stored_records import read_record

Send = Callable[[bytes], Awaitable[None]]
"""Sends one serialized WatchMatchResponse; returns when there is room for the next."""


class Watch:
    """One reader of one match. Run it once. `Limits` counts how many are open."""

    __slots__ = (
        "_caller",
        "_context",
        "_include_views",
        "_interruption",
        "_is_over",
        "_is_quiet",
        "_limits",
        "_match_id",
        "_matches",
        "_queue",
        "_queued_version",
        "_timer",
        "_waiter",
        "version",
    )

    def __init__(
        self,
        matches: LiveMatches,
        limits: Limits,
        caller: Caller,
        match_id: bytes,
        after_version: int,
        *,
        include_views: bool = False,
    ) -> None:
        """Watch a match (16 bytes) for a caller, from the event after `after_version` on.

        Past events count against the caller's calls in `limits`.
        """
        self._matches = matches
        self._limits = limits
        self._context = matches.context
        self._caller = caller
        self._match_id = match_id
        self._include_views = include_views
        self.version = after_version
        """The last version that was sent."""
        self._queue: deque[tuple[int, bytes]] = deque()
        self._queued_version = after_version
        self._is_over = False  # the match has ended: nothing more will be queued
        self._interruption = Interruption()
        self._is_quiet = True  # nothing was queued since the last heartbeat was due
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, send: Send) -> None:
        """Send the whole watch; return after `finished`.

        Raises Refused MATCH_NOT_FOUND, VERSION_BEYOND_HEAD, SLOW_WATCHER, LOG_CHANGED or
        OVERLOADED, and the errors of the store.
        """
        try:
            with self._interruption, self._matches.watched(self._match_id) as live:
                live.log_changed_listeners.add(self._log_changed)
                try:
                    await self._send_missing(live, send)
                    self._join(live)
                    await self._send_queued(send)
                finally:
                    live.listeners.discard(self._changed)
                    live.log_changed_listeners.discard(self._log_changed)
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _end(self, reason: ErrorReason.ValueType) -> None:
        """End the watch now, even while it waits for its reader."""
        self._queue.clear()
        self._interruption.end(reason)

    def _log_changed(self) -> None:
        self._end(reasons.ERROR_REASON_LOG_CHANGED)

    def _changed(self, change: Change) -> None:
        """Queue the events of a change. This is the listener to the match."""
        if self._interruption.reason is not None:
            return
        match = change.match
        viewer = match.table.seat_of(self._caller.subject)
        for message in change.messages:
            if message.version > self._queued_version:
                self._put(message.version, message.encoded(viewer))
        if self._include_views:
            self._put(self._queued_version, change.view(viewer))
        self._is_over = match.phase == PHASE_ENDED
        if len(self._queue) > self._context.config.watch_queue_events_max:
            self._context.counters.slow_watches += 1
            self._end(reasons.ERROR_REASON_SLOW_WATCHER)

    # --- from the log to live -------------------------------------------------------------------

    async def _send_missing(self, live: LiveMatch, send: Send) -> None:
        """Send what the log has after `version`, up to where the live match is."""
        if not live.match.version or self.version > live.match.version:
            await live.submit(live.catch_up)
        if not live.match.version:
            raise Refused(match_not_found(live.match_id))
        if self.version > live.match.version:
            raise refuse(
                reasons.ERROR_REASON_VERSION_BEYOND_HEAD,
                head_version=str(live.match.version),
            )
        store = self._context.store
        limit = self._context.config.watch_page_events
        while self.version < live.match.version:
            events = min(limit, live.match.version - self.version)
            await self._limits.charge_events(self._caller.subject, events)
            page = await store.read(live.stream_id, self.version, limit)
            if not page:
                raise CorruptLogError(f"the log ends early, at version {self.version}")
            for stored in page:
                if stored.version > live.match.version:
                    break  # not folded here yet; it comes as a change
                match = live.match
                record = read_record(stored.version, stored.record)
                message = EventMessage(record, match.trump_card)
                await send(message.encoded(match.table.seat_of(self._caller.subject)))
                self.version = stored.version

    def _join(self, live: LiveMatch) -> None:
        """Start to listen, at the version of the live match."""
        match = live.match
        self._queued_version = self.version
        caught_up = CaughtUp(version=self.version)
        self._put(self.version, WatchMatchResponse(caught_up=caught_up).SerializeToString())
        if self._include_views:
            viewer = match.table.seat_of(self._caller.subject)
            self._put(self.version, view_message(match, viewer, self._context.now_us()))
        self._is_over = match.phase == PHASE_ENDED
        live.listeners.add(self._changed)
        self._beat()

    async def _send_queued(self, send: Send) -> None:
        queue = self._queue
        loop = self._context.loop
        while True:
            while queue:
                version, message = queue.popleft()
                await send(message)
                self.version = version
            if self._is_over:
                return
            self._waiter = loop.create_future()
            await self._waiter

    def _put(self, version: int, message: bytes) -> None:
        self._queued_version = version
        self._queue.append((version, message))
        self._is_quiet = False
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # --- timers ---------------------------------------------------------------------------------

    def _beat(self) -> None:
        """Send a heartbeat if nothing was sent for an interval, and set the timer again."""
        if self._is_quiet and not self._queue:
            heartbeat = Heartbeat(version=self._queued_version)
            self._put(
                self._queued_version, WatchMatchResponse(heartbeat=heartbeat).SerializeToString()
            )
        self._is_quiet = True
        self._timer = self._context.loop.call_later(
            self._context.config.heartbeat_interval_seconds, self._beat
        )
