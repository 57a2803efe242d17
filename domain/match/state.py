"""The state of a match at one moment: cards, bout, places, time, and the events that are due.

`State` can be read freely. Only its subclass `domain.match.fold.Match` changes it.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, Self, TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp

from domain.cards import NO_CARD, Card, CardMask, lowest_plain_first
from domain.match.deal import HAND_SIZE
from domain.match.payouts import MatchResult, finished_event
from domain.match.table import MICROSECONDS, Table
from durak.v1.events_pb2 import (
    OUTCOME_CANCELLED,
    TOOK_REASON_UNSPECIFIED,
    Attacked,
    Event,
    Finished,
    Left,
    LeftReason,
    Passed,
    Record,
    TableOpened,
    TakeDeclared,
)
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_PLAYING, PHASE_REVEALING, PHASE_WAITING, Phase

ATTACK_CARDS_MAX: Final = 6  # R4.3
OPENING_ATTACK_CARDS_MAX: Final = 5  # R4.3
BOUTS_WITHOUT_DISCARD_MAX: Final = 50  # R9.5
TIMEOUTS_IN_A_ROW_MAX: Final = 3  # R10.3
NOBODY: Final = -1
"""Used instead of a seat number for no seat."""


class Due(IntEnum):
    """The event that must be next, by the rules alone."""

    DEAL = 0
    SERVER_ACT = 1  # the server acts for the seat that timed out (R10.2)
    DISCARD = 2
    TAKE = 3
    DRAW = 4
    GO_OUT = 5
    FINISH = 6


Laid: TypeAlias = tuple[int, int]
"""The seat that played a card and the version of the event. A named tuple would take longer to make
than the rest of folding the play."""


class State:
    """The state of one match.

    Sets of seats are bit masks in which seat ``s`` is bit ``1 << s``. Hands are card masks. The
    stock is in reverse drawing order: its last card is drawn next. Times are in microseconds since
    the Unix epoch.
    """

    __slots__ = (
        "attacker",
        "attacks",
        "attacks_max",
        "beaten_by",
        "bout",
        "bouts_without_discard",
        "cap",
        "cheats",
        "clock_record",
        "defender",
        "discard",
        "due",
        "ending",
        "hands",
        "holding",
        "in_play",
        "laid",
        "last_record",
        "match_id",
        "next_leader",
        "on_table",
        "opened_us",
        "passed",
        "phase",
        "places",
        "ranks_on_table",
        "requests",
        "result",
        "stock",
        "table",
        "taker",
        "taking",
        "throwers",
        "timed_out",
        "timeouts",
        "trump_card",
        "trump_suit",
        "version",
    )

    def __init__(self, match_id: bytes = b"") -> None:
        """Start before the first event. Without a ``match_id`` it is that of the first record."""
        self.match_id = match_id
        self.version = 0
        # Records instead of times: reading a time costs more than folding an event.
        self.last_record = self.clock_record = Record()
        self.opened_us = 0
        self.requests: dict[bytes, int] = {}
        self.table: Table = _NO_TABLE
        self.phase: Phase.ValueType = PHASE_WAITING
        self.due: Due | None = None
        # The cards.
        self.hands: list[CardMask] = []
        self.holding = 0  # the seats that hold a card
        self.stock: list[Card] = []
        self.discard: CardMask = 0
        self.trump_card = NO_CARD
        self.trump_suit = NOBODY
        # The bout.
        self.bout = 0
        self.attacker = NOBODY
        self.defender = NOBODY
        self.throwers = 0  # the seats that may throw in (R5.2)
        self.attacks: list[Card] = []
        self.beaten_by: dict[Card, Card] = {}
        self.laid: dict[Card, Laid] = {}
        self.on_table: CardMask = 0
        self.ranks_on_table: CardMask = 0  # all cards of the ranks on the table
        self.cap = 0
        self.taking = False
        self.passed = 0
        # The versions of the bout's illegal plays on a tricky table. They only decide challenges
        # (R11.4); they are stored nowhere and shown to nobody (R11.2).
        self.cheats: set[int] = set()
        self.taker = (NOBODY, TOOK_REASON_UNSPECIFIED)
        # From bout to bout.
        self.attacks_max = ATTACK_CARDS_MAX
        self.next_leader = NOBODY
        self.in_play = 0
        self.places: list[tuple[int, int]] = []  # (place, seat) in the order of R12.4
        self.bouts_without_discard = 0
        # Time and end.
        self.timeouts: list[int] = []
        self.timed_out = NOBODY
        self.ending: MatchResult | None = None
        self.result: Finished | None = None

    @property
    def time(self) -> Timestamp:
        """The stored time of the last record."""
        return self.last_record.event_time

    @property
    def time_us(self) -> int:
        """The time of the last record, in microseconds since the Unix epoch."""
        return _time_us(self.last_record)

    @property
    def clock_us(self) -> int:
        """The time at which the clock started: for the seats on it, or for the open table."""
        return _time_us(self.clock_record)

    def deadline_us(self) -> int | None:
        """Return the time at which the server acts for a seat or closes the table (R10).

        None after the end.
        """
        if self.phase == PHASE_ENDED:
            return None
        if self.phase == PHASE_PLAYING and self.table.turn_us:
            return self.clock_us + self.table.turn_us
        if self.phase == PHASE_REVEALING:
            return self.clock_us + self.table.reveal_us
        return self.clock_us + self.table.idle_us

    def next_in_play(self, seat: int, step: int = 1) -> int:
        """Return the next seat clockwise that is in play, or counter-clockwise with ``step`` -1."""
        seats = len(self.hands)
        seat = (seat + step) % seats
        while not self.in_play >> seat & 1:
            seat = (seat + step) % seats
        return seat

    @property
    def unbeaten(self) -> int:
        """The number of attack cards that are not beaten."""
        return len(self.attacks) - len(self.beaten_by)

    def awaited(self) -> int:
        """Return the seats whose pass the bout waits for before it closes (R7.3, R11.5)."""
        if self.table.tricky:
            return self.in_play & ~(1 << self.defender) & ~self.passed
        if len(self.attacks) >= self.cap:
            return 0
        return self.throwers & self.holding & ~self.passed

    def on_clock(self) -> int:
        """Return the seats on the clock (R10.1, R10.7, R10.9)."""
        if self.phase == PHASE_REVEALING:
            return sum(1 << seat for seat in self.table.to_reveal)
        if self.phase != PHASE_PLAYING or self.due is not None:
            return 0
        if not self.attacks:
            return 1 << self.attacker
        if self.unbeaten and not self.taking:
            return 1 << self.defender
        return self.awaited()

    def transfer_room(self) -> int:
        """Return the maximum number of attack cards after a transfer (R6.2)."""
        held = self.hands[self.next_in_play(self.defender)].bit_count()
        return min(held, self.attacks_max)

    def drawing_order(self) -> list[int]:
        """Return the seats in play: the attacker, then clockwise, the defender last (R8.2)."""
        others = self.in_play & ~(1 << self.defender)
        clockwise = _CLOCKWISE[len(self.hands)][self.attacker]
        order = [seat for seat in clockwise if others >> seat & 1]
        order.append(self.defender)
        return order

    def table_cards(self) -> list[Card]:
        """Return all cards on the table: each attack card, followed by the card that beat it."""
        beaten_by = self.beaten_by
        cards = []
        for attack in self.attacks:
            cards.append(attack)
            if attack in beaten_by:
                cards.append(beaten_by[attack])
        return cards

    def act_due(self) -> Event:
        """Return the event that the server makes for a seat at `Due.SERVER_ACT` (R10.2, R10.3)."""
        seat = self.timed_out
        if self.timeouts[seat] >= TIMEOUTS_IN_A_ROW_MAX:
            return Event(left=Left(seat=seat, reason=LeftReason.LEFT_REASON_TIMEOUTS))
        if not self.attacks:
            card = lowest_plain_first(self.hands[seat], self.trump_suit)
            return Event(attacked=Attacked(seat=seat, card=card))
        if seat == self.defender:
            return Event(take_declared=TakeDeclared(seat=seat))
        return Event(passed=Passed(seat=seat))

    def draws_due(self) -> list[tuple[int, list[Card]]]:
        """Return the draws at `Due.DRAW`: (seat, cards in drawing order) for each seat (R8)."""
        draws = []
        hands, stock = self.hands, self.stock
        at = len(stock)
        for seat in self.drawing_order():
            count = HAND_SIZE - hands[seat].bit_count()
            if count > 0 and at:
                start = max(0, at - count)
                draws.append((seat, stock[start:at][::-1]))
                at = start
        return draws

    def outs_due(self) -> list[int]:
        """Return the seats that go out at `Due.GO_OUT`, in ascending order (R9.1, R9.4)."""
        if self.stock or not self.in_play & ~self.holding:
            return []
        empty = [s for s, hand in enumerate(self.hands) if self.in_play >> s & 1 and not hand]
        if not self.in_play & self.holding and not self.table.draw_allowed:
            empty.remove(self.defender)  # R9.4: the defender played the last card and is the durak
        return empty

    def result_due(self) -> Finished:
        """Return the result at `Due.FINISH`, or of closing the table before the deal (R3.0)."""
        ending = self.ending or MatchResult(OUTCOME_CANCELLED)
        return finished_event(self.table, ending, self.places)

    def prevented_deal(self, seats: Sequence[int]) -> Finished:
        """Return the result of a table whose deal these seats prevented (R3.6)."""
        ending = MatchResult(OUTCOME_CANCELLED, prevented_by=tuple(seats))
        return finished_event(self.table, ending, self.places)

    def player_of(self, play_version: int) -> int | None:
        """Return the seat that made this play of the current bout, or None (R11.3).

        Always None on a table that is not tricky.
        """
        if not self.table.tricky:
            return None
        for seat, version in self.laid.values():
            if version == play_version:
                return seat
        return None

    def copy(self) -> Self:
        """Return an independent copy, without the requests.

        A copy is made for nearly every move; a loop over the slots takes four times as long.
        """
        twin = type(self).__new__(type(self))
        twin.match_id, twin.version, twin.opened_us = self.match_id, self.version, self.opened_us
        twin.last_record, twin.clock_record = self.last_record, self.clock_record
        twin.table, twin.phase, twin.due = self.table, self.phase, self.due
        twin.holding, twin.discard = self.holding, self.discard
        twin.trump_card, twin.trump_suit = self.trump_card, self.trump_suit
        twin.bout, twin.attacker, twin.defender = self.bout, self.attacker, self.defender
        twin.throwers, twin.cap = self.throwers, self.cap
        twin.taking, twin.passed = self.taking, self.passed
        twin.on_table, twin.ranks_on_table = self.on_table, self.ranks_on_table
        twin.taker, twin.attacks_max = self.taker, self.attacks_max
        twin.next_leader, twin.in_play = self.next_leader, self.in_play
        twin.bouts_without_discard, twin.timed_out = self.bouts_without_discard, self.timed_out
        twin.ending, twin.result = self.ending, self.result
        twin.requests = {}
        twin.hands = self.hands.copy()
        twin.stock = self.stock.copy()
        twin.attacks = self.attacks.copy()
        twin.beaten_by = self.beaten_by.copy()
        twin.laid = self.laid.copy()
        twin.cheats = self.cheats.copy()
        twin.places = self.places.copy()
        twin.timeouts = self.timeouts.copy()
        return twin


# [seats][attacker]: all seats, the attacker first, then clockwise.
_CLOCKWISE: Final = tuple(
    tuple((*range(first, seats), *range(first)) for first in range(seats)) for seats in range(7)
)


def has_seat(seats: int, seat: int) -> bool:
    """Return whether a bit mask of seats contains a seat. Any number is allowed as a seat."""
    return seat >= 0 and bool(seats >> seat & 1)


def _time_us(record: Record) -> int:
    return record.event_time.seconds * MICROSECONDS + record.event_time.nanos // 1000


_NO_TABLE = Table.opened(b"", TableOpened())
