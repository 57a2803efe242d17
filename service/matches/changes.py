"""Changes: the events of a command on their way to everything that follows a match."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from domain.cards import Card
from domain.match.fold import Match
from domain.match.view import Viewer, redact, table_view
from durak.v1.events_pb2 import Record
from durak.v1.match_service_pb2 import MatchEvent, WatchMatchResponse


class EventMessage:
    """One stored event as a serialized WatchMatchResponse, made once for each redaction."""

    __slots__ = ("_by_viewer", "_shared", "_trump_card", "record", "version")

    def __init__(self, record: Record, trump_card: Card) -> None:
        """Take a durable record; `trump_card` is as in `redact`."""
        self.record = record
        self.version = record.version
        self._trump_card = trump_card
        self._shared = b""  # the message, if nothing is hidden from anybody
        self._by_viewer: dict[Viewer, bytes] = {}

    def encoded(self, viewer: Viewer) -> bytes:
        """Return the message for one viewer."""
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


class Change:
    """What one command has just changed: its events, and the match after them.

    Listeners use it at once: the match goes on after they return. `is_own` is true if this process
    stored the events, and false if it read them from the log.
    """

    __slots__ = ("_messages", "_now_us", "_views", "is_own", "match", "records")

    def __init__(
        self, match: Match, records: Sequence[Record], now_us: int, *, is_own: bool
    ) -> None:
        """Take the durable records of one command and the match that they were folded into.

        `now_us` is the time of the views.
        """
        self.match = match
        self.records = records
        self.is_own = is_own
        self._now_us = now_us
        self._messages: list[EventMessage] = []
        self._views: dict[Viewer, bytes] = {}

    @property
    def messages(self) -> list[EventMessage]:
        """The events, to be serialized at most once for all watches together."""
        if not self._messages:
            trump_card = self.match.trump_card
            self._messages = [EventMessage(record, trump_card) for record in self.records]
        return self._messages

    def view(self, viewer: Viewer) -> bytes:
        """Return the WatchMatchResponse with the view of one viewer, serialized."""
        encoded = self._views.get(viewer)
        if encoded is None:
            encoded = self._views[viewer] = view_message(self.match, viewer, self._now_us)
        return encoded


ChangeListener: TypeAlias = Callable[[Change], None]
"""Called with every change right after it was folded. It must not raise or block."""


def view_message(match: Match, viewer: Viewer, now_us: int) -> bytes:
    """Return a serialized WatchMatchResponse with a view of the match, made at `now_us`."""
    return WatchMatchResponse(view=table_view(match, viewer, now_us)).SerializeToString()
