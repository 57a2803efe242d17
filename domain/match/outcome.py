"""The speculative fold: the events that a command makes, and the match after them.

Deciding a command has to fold its events, because each consequence follows from the state after the
event before it. An `Outcome` does this on a copy and keeps it, so that the state is there once the
events are stored, and no event is folded a second time. Folding the stored records, one by one,
gives the same state.
"""

from collections.abc import Sequence
from typing import Final

from domain.match.fold import CorruptLogError, Match
from durak.v1.events_pb2 import Event, Record

_UNSTORED: Final = Record()
"""Takes the place of the records of events that are not stored yet."""


class Outcome:
    """The events of an accepted command, and the match after them.

    The times in `after` are unknown until `stamp`; its requests are unknown until `commit`. The
    match that was decided on never changes before `commit`.
    """

    __slots__ = ("_before", "after", "events")

    def __init__(self, before: Match) -> None:
        """Start without events on a copy of ``before``."""
        self._before = before
        self.events: list[Event] = []
        self.after = before.copy()
        self.after.last_record = _UNSTORED

    def add(self, event: Event) -> None:
        """Append one more event and fold it.

        Raises AssertionError if the event cannot be folded. That is an error of the caller, and no
        corrupt log, because the event is not stored.
        """
        try:
            self.after.fold_event(event)
        except CorruptLogError as error:
            raise AssertionError(f"a decided event cannot be folded: {error}") from error
        self.events.append(event)

    def stamp(self, records: Sequence[Record]) -> None:
        """Set the times in `after` to those of ``records``, which hold exactly these events.

        All records of one command have the same time.
        """
        after = self.after
        last = records[-1]
        after.last_record = last
        if after.clock_record is _UNSTORED:
            after.clock_record = last
        if records[0].version == 1:
            after.opened_us = after.time_us

    def commit(self) -> Match:
        """Return `after` as the match to go on with, once its records are durable.

        Call `stamp` first. The match that was decided on must not be used any more.
        """
        after = self.after
        after.requests = self._before.requests
        request_id = after.last_record.request_id
        if request_id:
            after.requests.setdefault(request_id, self._before.version + 1)
        return after
