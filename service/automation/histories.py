"""Histories: the events so far of the live matches with bots, as each bot may see them.

Events are kept serialized. As messages they took ten times the memory of the match itself.
"""

from domain.cards import Card
from domain.match.view import redact
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import PHASE_WAITING
from service.matches.changes import Change


class _History:
    """The events of one match, and for each bot those that it was shown, redacted."""

    __slots__ = ("events", "shown")

    def __init__(self) -> None:
        self.events: list[bytes] = []
        self.shown: dict[int, list[bytes]] = {}

    def shown_to(self, seat: int, trump_card: Card) -> list[bytes]:
        shown = self.shown.setdefault(seat, [])
        for encoded in self.events[len(shown) :]:
            event = Event.FromString(encoded)
            redacted = redact(event, seat, trump_card)
            # An event without hidden cards is kept once for all bots.
            shown.append(encoded if redacted is event else redacted.SerializeToString())
        return shown


class Histories:
    """Follows the changes of all live matches. Keeps the events where bots sit or may still sit."""

    def __init__(self) -> None:
        """Start with no match: its changes come from the first event on when it is read."""
        self._by_match: dict[bytes, _History] = {}

    def changed(self, change: Change) -> None:
        """Add the events of a change."""
        match = change.match
        if not match.table.has_bots and match.phase != PHASE_WAITING:
            self._by_match.pop(match.match_id, None)
            return
        if change.records[0].version == 1:  # read again after it was evicted
            self._by_match[match.match_id] = _History()
        events = self._by_match[match.match_id].events
        events.extend(record.event.SerializeToString() for record in change.records)

    def evicted(self, match_id: bytes) -> None:
        """Drop the events of a match that is no longer live."""
        self._by_match.pop(match_id, None)

    def shown_to(self, match_id: bytes, seat: int, trump_card: Card) -> list[bytes]:
        """Return all events so far of a live match as the bot on a seat may see them, serialized.

        `trump_card` is as in `redact`. The list grows with the match: do not change it.
        """
        return self._by_match[match_id].shown_to(seat, trump_card)
