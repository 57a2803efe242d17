"""Watches: the events of a match as they happen, to everybody who asked, each as they may see them.

A watch first sends what is missing from the log, page by page; when nothing is missing it joins the
live match in the same step of the event loop, so that no version is skipped, repeated or out of
order. From then on every folded command is put into its queue, which is bounded: who reads too
slowly is cut off and can resume.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from domain.cards import Card
from domain.match.fold import CorruptLogError, Match
from domain.match.view import Viewer, redact, table_view
from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import Record
from durak.v1.match_service_pb2 import CaughtUp, Heartbeat, MatchEvent, WatchMatchResponse
from durak.v1.table_pb2 import PHASE_ENDED
from service.config import Config
from service.matches.records import read_record
from service.rpc.call import Caller
from service.rpc.errors import refuse

if TYPE_CHECKING:
    from service.matches.live_match import LiveMatch
    from service.matches.live_matches import LiveMatches

Send = Callable[[bytes], Awaitable[None]]
"""Sends one serialized WatchMatchResponse; returns when there is room for the next."""


class Change:
    """One stored event on its way to watches: serialized once for each distinct redaction."""

    __slots__ = ("_by_viewer", "_shared", "_trump_card", "record", "version")

    def __init__(self, record: Record, trump_card: Card) -> None:
        """A durable record; `trump_card` as `redact` takes it."""
        self.record = record
        self.version = record.version
        self._trump_card = trump_card
        self._shared = b""
        self._by_viewer: dict[Viewer, bytes] = {}

    def encoded(self, viewer: Viewer) -> bytes:
        """The WatchMatchResponse for one reader."""
        if self._shared:
            return self._shared
        encoded = self._by_viewer.get(viewer)
        if encoded is None:
            record = self.record
            event = redact(record.event, viewer, self._trump_card)
            message = MatchEvent(version=record.version, event_time=record.event_time, event=event)
            encoded = WatchMatchResponse(event=message).SerializeToString()
            if event is record.event:
                self._shared = encoded
            else:
                self._by_viewer[viewer] = encoded
        return encoded


class Views:
    """The views of a match at one version, each made and serialized at most once."""

    __slots__ = ("_by_viewer", "match")

    def __init__(self, match: Match) -> None:
        """To be used before the match goes on."""
        self.match = match
        self._by_viewer: dict[Viewer, bytes] = {}

    def encoded(self, viewer: Viewer) -> bytes:
        """The WatchMatchResponse with the view of one reader."""
        encoded = self._by_viewer.get(viewer)
        if encoded is None:
            view = table_view(self.match, viewer)
            encoded = WatchMatchResponse(view=view).SerializeToString()
            self._by_viewer[viewer] = encoded
        return encoded


class Watches:
    """Makes the watches of this process. How many may be open is counted by `Limits`."""

    def __init__(self, matches: "LiveMatches", config: Config) -> None:
        """Watch the matches of this process."""
        self.matches = matches
        self.config = config

    def watch(
        self, caller: Caller, match_id: bytes, after_version: int, *, include_views: bool = False
    ) -> "Watch":
        """A watch of a match (16 bytes) by a caller, to be `run`."""
        return Watch(self, caller, match_id, after_version, include_views=include_views)


class Watch:
    """One reader of one match. Made by `Watches.watch`, and run once."""

    __slots__ = (
        "_caller",
        "_include_views",
        "_is_cut_off",
        "_is_over",
        "_match_id",
        "_queue",
        "_queued_version",
        "_task",
        "_timer",
        "_used",
        "_waiter",
        "_watches",
        "version",
    )

    def __init__(
        self,
        watches: Watches,
        caller: Caller,
        match_id: bytes,
        after_version: int,
        *,
        include_views: bool,
    ) -> None:
        """See `Watches.watch`."""
        self._watches = watches
        self._caller = caller
        self._match_id = match_id
        self._include_views = include_views
        self.version = after_version
        """The last version that was sent."""
        self._queue: deque[tuple[int, bytes]] = deque()
        self._queued_version = after_version
        self._is_over = False  # nothing more will be queued: the match has ended
        self._is_cut_off = False
        self._task: asyncio.Task[object] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._used = False  # something was queued since the last heartbeat was thought of

    async def run(self, send: Send) -> None:
        """Send the whole watch; returns after `finished`.

        Raises Refused: MATCH_NOT_FOUND, AFTER_VERSION_BEYOND_HEAD, SLOW_WATCHER, OVERLOADED; and
        the errors of the store.
        """
        task = self._task = asyncio.current_task()
        assert task is not None
        try:
            with self._watches.matches.pinned(self._match_id) as live:
                try:
                    await self._send_missing(live, send)
                    self._join(live)
                    await self._send_queued(send)
                finally:
                    live.watches.discard(self)
        except asyncio.CancelledError:
            # Either the reader is gone or its time is over, or `_cut_off` interrupted a send.
            if not self._is_cut_off:
                raise
            task.uncancel()
            raise refuse(reasons.ERROR_REASON_SLOW_WATCHER) from None
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _cut_off(self) -> None:
        """End the watch now, although it waits for its reader."""
        self._is_cut_off = True
        self._queue.clear()
        self._watches.matches.counters.slow_watches += 1
        if self._task is not None:
            self._task.cancel()

    def offer(self, changes: Sequence[Change], views: Views) -> None:
        """Queue the events of one command, which was just folded."""
        if self._is_cut_off:
            return
        viewer = views.match.table.seat_of(self._caller.subject)
        for change in changes:
            if change.version > self._queued_version:
                self._put(change.version, change.encoded(viewer))
        if self._include_views:
            self._put(self._queued_version, views.encoded(viewer))
        self._is_over = views.match.phase == PHASE_ENDED
        if len(self._queue) > self._watches.config.watch_queue_events_max:
            self._cut_off()

    # --- from the log to live -------------------------------------------------------------------

    async def _send_missing(self, live: "LiveMatch", send: Send) -> None:
        """Send what the log has after `version`, up to where the live match is."""
        if not live.match.version or self.version > live.match.version:
            await live.submit(live.catch_up)
        if not live.match.version:
            raise refuse(reasons.ERROR_REASON_MATCH_NOT_FOUND, match_id=str(live.stream_id))
        if self.version > live.match.version:
            raise refuse(
                reasons.ERROR_REASON_VERSION_BEYOND_HEAD,
                head_version=str(live.match.version),
            )
        store = self._watches.matches.store
        limit = self._watches.config.watch_page_events
        while self.version < live.match.version:
            page = await store.read(live.stream_id, self.version, limit)
            if not page:
                raise CorruptLogError(f"the log ends at version {self.version}, and must not")
            for stored in page:
                if stored.version > live.match.version:
                    break  # another replica's; it comes when it is folded here
                match = live.match
                change = Change(read_record(stored.version, stored.record), match.trump_card)
                await send(change.encoded(match.table.seat_of(self._caller.subject)))
                self.version = stored.version

    def _join(self, live: "LiveMatch") -> None:
        match = live.match
        self._queued_version = self.version
        caught_up = CaughtUp(version=self.version)
        self._put(self.version, WatchMatchResponse(caught_up=caught_up).SerializeToString())
        if self._include_views:
            viewer = match.table.seat_of(self._caller.subject)
            self._put(self.version, Views(match).encoded(viewer))
        self._is_over = match.phase == PHASE_ENDED
        live.watches.add(self)
        self._beat()

    async def _send_queued(self, send: Send) -> None:
        queue = self._queue
        loop = self._watches.matches.loop
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
        self._used = True
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # --- timers ---------------------------------------------------------------------------------

    def _beat(self) -> None:
        """Send a heartbeat if nothing was sent for a while, and come again."""
        if not self._used and not self._queue:
            heartbeat = Heartbeat(version=self._queued_version)
            self._put(
                self._queued_version, WatchMatchResponse(heartbeat=heartbeat).SerializeToString()
            )
        self._used = False
        self._timer = self._watches.matches.loop.call_later(
            self._watches.config.heartbeat_interval_seconds, self._beat
        )
