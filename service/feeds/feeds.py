"""The open feeds of a process, and the matches that they follow.

A change of a match that no feed follows costs one lookup. All feeds of a process share one list of
followed matches and one comparison with the database, whatever their number.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Final, Protocol, TypeVar
from uuid import UUID

from domain.match.fold import Match
from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.feed_service_pb2 import PlayerNews
from eventstore.read_models.news import NewsHead, news_stream
from service.feeds.board import Board
from service.feeds.news import Moment, moment_of, news_of
from service.matches.changes import Change
from service.matches.live_matches import LiveMatches
from service.matches.lobby import changes_row, concerned_by
from service.rpc.errors import Refused
from service.watchdog import rest

Key = TypeVar("Key")

_PAGE: Final = 2_000


class Feed(Protocol):
    """An open feed of one reader."""

    player_id: str

    def wake(self) -> None:
        """Read the rows of the player again, soon."""

    def put(self, match_id: bytes, version: int, news: list[PlayerNews], *, leaves: bool) -> None:
        """Take the news of a command. `leaves`: the match no longer concerns the player."""

    def is_behind(self, head: NewsHead) -> bool:
        """Return whether the feed has not read all rows of its player."""

    def list_matches(self) -> Iterable[bytes]:
        """Return the matches that the feed may follow."""

    def end(self, reason: ErrorReason.ValueType) -> None:
        """End the feed."""


class _Followed:
    """A match that feeds follow, as it was at the last command."""

    __slots__ = ("feeds", "now")

    def __init__(self, now: Moment) -> None:
        self.now = now
        self.feeds: set[Feed] = set()


class Feeds:
    """Passes the news of matches on to the open feeds of this process."""

    def __init__(self, matches: LiveMatches) -> None:
        """Listen to all changes, hints and changed logs of these matches."""
        self.matches = matches
        self.board = Board(matches.context)
        """The list of tables that all lobby watches share."""
        context = matches.context
        self._store = context.store
        self._interval_seconds = context.config.heads_interval_seconds
        self._by_player: defaultdict[str, set[Feed]] = defaultdict(set)
        self._players: dict[UUID, str] = {}
        """The players with an open feed, by the stream of their hints."""
        self._followed: dict[bytes, _Followed] = {}
        context.change_listeners.append(self._changed)
        context.hint_listeners.append(self._heard)
        context.log_changed_listeners.append(self._log_changed)

    def __len__(self) -> int:
        return sum(map(len, self._by_player.values()))

    @property
    def followed(self) -> int:
        """The number of matches that feeds follow."""
        return len(self._followed)

    def add(self, feed: Feed) -> None:
        """Wake this feed from now on when its player has news."""
        self._by_player[feed.player_id].add(feed)
        self._players[news_stream(feed.player_id)] = feed.player_id

    def remove(self, feed: Feed) -> None:
        """Forget a feed that has ended."""
        feeds = self._by_player[feed.player_id]
        feeds.discard(feed)
        if not feeds:
            del self._by_player[feed.player_id]
            del self._players[news_stream(feed.player_id)]
        for match_id in feed.list_matches():
            self._unfollow(match_id, feed)

    def follow(self, feed: Feed, match: Match) -> bool:
        """Pass the later news of a match to a feed. Returns False if it does not concern it."""
        now = moment_of(match)
        if feed.player_id not in now.concerned:
            return False
        self._followed.setdefault(match.match_id, _Followed(now)).feeds.add(feed)
        return True

    async def run(self) -> None:
        """Compare what the feeds have with the database, without end. Raises StoreError."""
        while True:
            await self.compare()
            await rest(self._interval_seconds)

    async def compare(self) -> None:
        """Compare once. It finds the news whose hints were lost."""
        for players in _pages(self._by_player):
            for player_id, head in (await self._store.news.read_heads(players)).items():
                for feed in tuple(self._by_player.get(player_id, ())):
                    if feed.is_behind(head):
                        feed.wake()
        for match_ids in _pages(self._followed):
            # The versions in memory are read before those of the log, which only grow.
            known = {it: self._followed[it].now.version for it in match_ids if it in self._followed}
            heads = await self._store.read_heads([UUID(bytes=match_id) for match_id in known])
            for match_id, version in known.items():
                stored = heads.get(UUID(bytes=match_id))
                if stored is not None and stored.version >= version:
                    self._catch_up(match_id, stored.version)
                elif self.matches.find(match_id) is None:  # a live match finds it out by itself
                    self._log_changed(match_id)

    def _changed(self, change: Change) -> None:
        match = change.match
        if change.is_own and changes_row([record.event for record in change.records]):
            self._notify(match, change)
        followed = self._followed.get(match.match_id)
        if followed is None or match.version <= followed.now.version:
            return
        before, after = followed.now, moment_of(match)
        followed.now = after
        for feed in tuple(followed.feeds):
            player_id = feed.player_id
            leaves = player_id not in after.concerned
            news = news_of(change.records, before, after, match, player_id)
            if leaves:
                self._unfollow(match.match_id, feed)
            if news or leaves:
                feed.put(match.match_id, match.version, news, leaves=leaves)

    def _notify(self, match: Match, change: Change) -> None:
        """Notify the players of a command that can have given them rows or moved their coins.

        The hint comes back to this process too. Feeds that were also woken here would read twice.
        """
        players = concerned_by(match)
        for record in change.records:
            event = record.event
            players.update(event.table_opened.invited)
            if event.HasField("seat_vacated"):
                players.update(match.table.given_up)
                players.update(match.table.removed)
        self._store.news.notify(players)

    def _wake(self, player_id: str) -> None:
        for feed in self._by_player.get(player_id, ()):
            feed.wake()

    def _heard(self, stream_id: UUID, version: int) -> None:
        player_id = self._players.get(stream_id)
        if player_id is not None:
            self._wake(player_id)
        elif stream_id.bytes in self._followed:
            self._catch_up(stream_id.bytes, version)

    def _catch_up(self, match_id: bytes, version: int) -> None:
        """Load a match to read a version that the feeds do not have. It publishes the changes.

        A match in memory follows the log by itself.
        """
        followed = self._followed.get(match_id)
        is_behind = followed is not None and version > followed.now.version
        if not is_behind or self.matches.find(match_id) is not None:
            return
        try:
            live = self.matches.get(match_id)
        except Refused as refused:
            self._end_all(match_id, refused.refusal.reason)
            return
        reading = live.submit(partial(live.catch_up_to, version))
        reading.add_done_callback(partial(self._report, match_id))

    def _report(self, match_id: bytes, reading: "asyncio.Future[None]") -> None:
        """Report a failure to read. The next comparison tries again."""
        error = None if reading.cancelled() else reading.exception()
        if isinstance(error, Exception):
            self.matches.context.failures.report("feeds", error, match_id=match_id.hex())

    def _log_changed(self, match_id: bytes) -> None:
        self._end_all(match_id, reasons.ERROR_REASON_LOG_CHANGED)

    def _end_all(self, match_id: bytes, reason: ErrorReason.ValueType) -> None:
        followed = self._followed.pop(match_id, None)
        for feed in followed.feeds if followed is not None else ():
            feed.end(reason)

    def _unfollow(self, match_id: bytes, feed: Feed) -> None:
        followed = self._followed.get(match_id)
        if followed is not None:
            followed.feeds.discard(feed)
            if not followed.feeds:
                del self._followed[match_id]


def _pages(table: Mapping[Key, object]) -> Iterator[list[Key]]:
    """Yield the keys that a table has now, in pages."""
    keys = iter(tuple(table))
    while page := list(islice(keys, _PAGE)):
        yield page
