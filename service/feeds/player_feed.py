"""The feed of one reader: first the news that it missed, then the new ones.

Three sources make a feed, each with a position of its own: the rows of news, which say which
streams concern the player; the transfers of coins; and the matches that concern the player now. A
match is read from the log up to the live match, and then followed, so that no version is skipped,
repeated or reordered. A match that no longer concerns the player leaves the position.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

from domain.match.fold import Match
from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.feed_service_pb2 import PlayerNews, WatchPlayerResponse
from eventstore import first_hash
from eventstore.log.news import NewsKind
from eventstore.read_models.news import NewsHead, NewsRow
from service.feeds.feeds import Feeds
from service.feeds.news import is_on_clock, moment_of, news_of, your_turn
from service.feeds.position import Position, position_invalid
from service.feeds.rows import row_news, transfer_news
from service.matches.records import by_command
from service.rpc.call import Caller
from service.rpc.limits import Limits
from service.rpc.stream_lifetime import Interruption
from service.stored_records import read_records

Send = Callable[[WatchPlayerResponse], Awaitable[None]]
"""Sends one message; returns when there is room for the next."""

_PAGE: Final = 100


class _Queued(NamedTuple):
    """The news of a command of a followed match. `leaves`: its last ones for the player."""

    match_id: bytes
    version: int
    news: Sequence[PlayerNews]
    leaves: bool


class PlayerFeed:
    """One feed. Run it once. `Limits` counts how many are open."""

    def __init__(
        self, feeds: Feeds, limits: Limits, caller: Caller, position: Position | None
    ) -> None:
        """Continue after a position, or begin now. Past events count against the caller's calls."""
        self.player_id = caller.subject
        self._feeds = feeds
        self._limits = limits
        self._matches = feeds.matches
        self._store = feeds.matches.context.store
        self._config = feeds.matches.context.config
        self._is_new = position is None
        self._position = position or Position(0, 0)
        self._queue: deque[_Queued] = deque()
        self._has_rows = True
        self._work = asyncio.Event()
        self._interruption = Interruption()

    # --- for `Feeds` ----------------------------------------------------------------------------

    def wake(self) -> None:
        """Read the rows of the player again, soon."""
        self._has_rows = True
        self._work.set()

    def put(self, match_id: bytes, version: int, news: list[PlayerNews], *, leaves: bool) -> None:
        """Queue the news of a command. A reader that is too slow is cut off."""
        self._queue.append(_Queued(match_id, version, news, leaves))
        self._work.set()
        if len(self._queue) > self._config.watch_queue_events_max:
            self._matches.context.counters.slow_watches += 1
            self.end(reasons.ERROR_REASON_SLOW_WATCHER)

    def is_behind(self, head: NewsHead) -> bool:
        """Return whether the feed has not read all rows of its player."""
        return head.number > self._position.number or head.transfers > self._position.transfers

    def list_matches(self) -> list[bytes]:
        """Return the matches that the feed may follow."""
        return list(self._position.versions)

    def end(self, reason: ErrorReason.ValueType) -> None:
        """End the feed now, even while it waits for its reader."""
        self._interruption.end(reason)

    # --- the feed -------------------------------------------------------------------------------

    async def run(self, send: Send) -> None:
        """Send the feed until it is cancelled.

        Raises Refused FEED_POSITION_INVALID, SLOW_WATCHER, LOG_CHANGED or OVERLOADED, and the
        errors of the store.
        """
        self._feeds.add(self)
        try:
            with self._interruption:
                await self._begin(send)
                await self._go_on(send)
        finally:
            self._feeds.remove(self)

    async def _begin(self, send: Send) -> None:
        """Continue after the position, or begin now."""
        if self._is_new:
            await self._send(await self._begin_now(), send)
            return
        await self._check(await self._read_head())
        for match_id in tuple(self._position.versions):
            await self._join(match_id, send)

    async def _begin_now(self) -> list[PlayerNews]:
        """Follow all matches that concern the player now, and return the turns in them.

        Rows of these matches that are stored meanwhile must not come again as news.
        """
        turns: list[PlayerNews] = []
        versions: dict[bytes, int] = {}
        head = await self._read_head()
        while True:
            self._position = Position(*head, versions)
            for stream_id in await self._store.news.read_current(self.player_id):
                if stream_id.bytes not in versions:
                    turns += await self._join_now(stream_id.bytes)
            before, head = head, await self._read_head()
            if head == before:
                return turns

    async def _read_head(self) -> NewsHead:
        return (await self._store.news.read_heads([self.player_id]))[self.player_id]

    async def _check(self, head: NewsHead) -> None:
        """Refuse a position that this feed cannot have had."""
        position = self._position
        if position.number > head.number or position.transfers > head.transfers:
            raise position_invalid()
        match_ids = [UUID(bytes=match_id) for match_id in position.versions]
        known = await self._store.news.have_concerned(self.player_id, match_ids)
        if not known.issuperset(match_ids):
            raise position_invalid()

    async def _go_on(self, send: Send) -> None:
        await self._send_new(send)
        await self._send([], send, caught_up=True)
        while True:
            self._work.clear()
            if await self._send_new(send):
                continue
            try:
                async with asyncio.timeout(self._config.heartbeat_interval_seconds):
                    await self._work.wait()
            except TimeoutError:
                await self._send([], send)

    async def _send_new(self, send: Send) -> bool:
        """Send all that is there. Return whether there was anything to look at."""
        has_worked = False
        while self._has_rows or self._queue:
            has_worked = True
            await self._send_queued(send)
            if self._has_rows:
                self._has_rows = False
                await self._send_transfers(send)
                await self._send_rows(send)
        return has_worked

    async def _send(
        self, news: Sequence[PlayerNews], send: Send, *, caught_up: bool = False
    ) -> None:
        position = self._position.seal(self.player_id)
        await send(WatchPlayerResponse(position=position, news=news, caught_up=caught_up))

    async def _send_queued(self, send: Send) -> None:
        """Send the queue, all commands that wait in one message."""
        while self._queue:
            news: list[PlayerNews] = []
            while self._queue:
                match_id, version, more, leaves = self._queue.popleft()
                news += more
                self._set_version(match_id, version, leaves=leaves)
            if news:
                await self._send(news, send)

    def _set_version(self, match_id: bytes, version: int, *, leaves: bool) -> None:
        if leaves:
            self._position.versions.pop(match_id, None)
        else:
            self._position.versions[match_id] = version

    # --- rows -----------------------------------------------------------------------------------

    async def _send_transfers(self, send: Send) -> None:
        ledger, position = self._store.ledger, self._position
        has_more = True
        while has_more:
            page = await ledger.read_transfers(self.player_id, position.transfers, _PAGE)
            has_more = len(page) == _PAGE
            await self._limits.charge_events(self.player_id, len(page))
            if page:
                position.transfers = page[-1].number
                await self._send([transfer_news(transfer) for transfer in page], send)

    async def _send_rows(self, send: Send) -> None:
        news, position = self._store.news, self._position
        has_more = True
        while has_more:
            page = await news.read(self.player_id, position.number, _PAGE)
            has_more = len(page) == _PAGE
            await self._limits.charge_events(self.player_id, len(page))
            for row in page:
                await self._send_queued(send)  # the queue must not wait for all rows
                if row.kind is NewsKind.MATCH:
                    await self._enter(row, send)
                    continue
                one = row_news(row)
                position.number = row.number
                if one is not None:
                    await self._send([one], send)

    async def _enter(self, row: NewsRow, send: Send) -> None:
        """Begin with a match from the version at which it begins to concern the player.

        The feed can have the match already: the player left it and entered it again before this
        process read of the leaving.
        """
        match_id, versions = row.source_id.bytes, self._position.versions
        if match_id in versions and versions[match_id] < row.version:
            with self._matches.pinned(match_id) as live:
                await live.submit(partial(live.catch_up_to, row.version))
            await self._send_queued(send)
        self._position.number = row.number
        if match_id not in versions:
            versions[match_id] = row.version - 1
            await self._join(match_id, send, row.version)

    # --- matches --------------------------------------------------------------------------------

    async def _join_now(self, match_id: bytes) -> list[PlayerNews]:
        """Follow a match from now on. Return the turn of the player, if the table waits for it."""
        with self._matches.pinned(match_id) as live:
            await live.submit(live.catch_up)
            match = live.match
            if not self._feeds.follow(self, match):
                return []
            self._position.versions[match_id] = match.version
            return [your_turn(match)] if is_on_clock(moment_of(match), self.player_id) else []

    async def _join(self, match_id: bytes, send: Send, known: int = 0) -> None:
        """Send what the log has of a match after the position, then follow it.

        The live match must have the version `known`; by default the newest version of the log.
        """
        versions = self._position.versions
        await self._limits.charge_in_time(self.player_id, 1)  # the match may have to be loaded
        with self._matches.pinned(match_id) as live:
            await live.submit(partial(live.catch_up_to, known) if known else live.catch_up)
            while match_id in versions:
                version = live.match.version
                if version < versions[match_id]:
                    raise position_invalid()
                if version == versions[match_id]:
                    if not self._feeds.follow(self, live.match):
                        del versions[match_id]
                    return
                await self._send_missing(match_id, version, send)

    async def _send_missing(self, match_id: bytes, head: int, send: Send) -> None:
        """Send the news in the log up to a version, or until the player has left the match."""
        stream_id = UUID(bytes=match_id)
        stored = await self._store.read(stream_id, limit=head)
        await self._limits.charge_events(self.player_id, len(stored))
        versions, match = self._position.versions, Match(match_id)
        for command in by_command(read_records(stored, first_hash(stream_id))):
            is_new = command[-1].version > versions[match_id]
            before = moment_of(match) if is_new else None
            for record in command:
                match.apply(record)
            if before is None:
                continue
            after = moment_of(match)
            leaves = self.player_id not in after.concerned
            news = news_of(command, before, after, match, self.player_id)
            self._set_version(match_id, match.version, leaves=leaves)
            if news:
                await self._send(news, send)
            if leaves:
                return
