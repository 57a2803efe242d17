"""All live matches of this process: a bounded cache over the log, least recently used out first."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from durak.v1 import errors_pb2 as reasons
from durak.v1.table_pb2 import TableView
from eventstore import EventStore
from service.config import Config
from service.matches.envelope import Envelope
from service.matches.live_match import LiveMatch
from service.matches.table_quota import Openings
from service.rpc.errors import refuse

MICROSECONDS = 1_000_000
_AGAIN_SECONDS = 1.0
"""How long after a failed reading of the log it is tried again."""


def system_now_us() -> int:
    """The time now, in microseconds since the epoch."""
    return time.time_ns() // 1000


@dataclass(slots=True)
class Counters:
    """What has happened since the start; plain numbers, read by the metrics."""

    commands: int = 0
    repeats: int = 0
    conflicts: int = 0
    appends: int = 0
    events: int = 0
    loads: int = 0
    evictions: int = 0
    bot_moves: int = 0
    bot_moves_fallback: int = 0
    timeouts: int = 0
    slow_watches: int = 0


class Observer(Protocol):
    """Who is told of every change of a live match, right after it was folded."""

    def changed(self, live: LiveMatch, *, own: bool) -> None:
        """A command's records were folded; `own` if this process stored them."""


class LiveMatches:
    """Finds live matches, makes room for more, and passes commands on to them."""

    def __init__(
        self, store: EventStore, config: Config, now_us: Callable[[], int] = system_now_us
    ) -> None:
        """Make it in a running event loop. `now_us` is the clock, microseconds since the epoch."""
        self.store = store
        self.config = config
        self.now_us = now_us
        self.bot_turn_us = round(config.bot_turn_seconds * MICROSECONDS)
        self.loop = asyncio.get_running_loop()
        self.counters = Counters()
        self.openings = Openings(store, config.caller_tables_max)
        self.observers: list[Observer] = []
        self._matches: OrderedDict[bytes, LiveMatch] = OrderedDict()

    def __len__(self) -> int:
        return len(self._matches)

    def get(self, match_id: bytes) -> LiveMatch:
        """The live match of an id (16 bytes), read from the log by its first job.

        Raises Refused OVERLOADED where memory is full of matches in use.
        """
        live = self._matches.get(match_id)
        if live is not None:
            self._matches.move_to_end(match_id)
            return live
        if len(self._matches) >= self.config.live_matches_max:
            self._make_room()
        live = self._matches[match_id] = LiveMatch(match_id, self)
        self.counters.loads += 1
        return live

    @contextmanager
    def pinned(self, match_id: bytes) -> Iterator[LiveMatch]:
        """The live match of an id, kept in memory meanwhile."""
        live = self.get(match_id)
        live.pins += 1
        try:
            yield live
        finally:
            live.pins -= 1
            if not live.match.version:
                self.drop_if_idle(live)

    def run(self, envelope: Envelope) -> "asyncio.Future[TableView]":
        """Queue a player's command; its answer is their view right after it."""
        self.counters.commands += 1
        live = self.get(envelope.match_id)
        return live.submit(partial(live.open if envelope.opens else live.answer, envelope))

    def behind(self, match_id: bytes, version: int) -> None:
        """The log has this version. If the match is live and behind, it reads what is missing."""
        live = self._matches.get(match_id)
        if live is not None and live.match.version < version:
            reading = live.submit(lambda: live.catch_up_to(version))
            reading.add_done_callback(partial(self._again_if_failed, match_id, version))

    def _again_if_failed(
        self, match_id: bytes, version: int, reading: "asyncio.Future[None]"
    ) -> None:
        # The tail does not say it twice, and who watches the match must learn of it.
        if not reading.cancelled() and reading.exception() is not None:
            self.loop.call_later(_AGAIN_SECONDS, self.behind, match_id, version)

    def changed(self, live: LiveMatch, *, own: bool) -> None:
        """Tell the observers of a change."""
        for observer in self.observers:
            observer.changed(live, own=own)

    def drop_if_idle(self, live: LiveMatch) -> None:
        """Forget a match that nobody uses."""
        if not live.is_busy and self._matches.get(live.match_id) is live:
            self._drop(live)

    async def join(self) -> None:
        """Wait until no match has a job left."""
        await asyncio.gather(*(live.join() for live in tuple(self._matches.values())))

    def _make_room(self) -> None:
        for _ in range(len(self._matches)):
            oldest = next(iter(self._matches.values()))
            if not oldest.is_busy:
                self._drop(oldest)
                self.counters.evictions += 1
                return
            self._matches.move_to_end(oldest.match_id)
        raise refuse(reasons.ERROR_REASON_OVERLOADED)

    def _drop(self, live: LiveMatch) -> None:
        del self._matches[live.match_id]
        if live.timer is not None:
            live.timer.cancel()
            live.timer = None
