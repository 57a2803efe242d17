"""A match: the state of one table, folded from its events, and nothing else.

`Match.apply` folds one stored record. It never fails on what the decisions of this package made,
and raises `CorruptLogError` on anything else: a card from nowhere, a move in the wrong role, a
consequence that the rules do not draw. What must happen next by the rules alone (closing the bout,
drawing, going out, the result) is `Match.due`; deciding and folding share it.
"""

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Final, NamedTuple, NoReturn

from domain.cards import (
    ALL_CARDS,
    BEATERS,
    BIT_OF,
    NO_CARD,
    RANK_MASK,
    RANK_OF,
    SUIT_OF,
    Card,
    CardMask,
    deck_cards,
    mask_of,
)
from domain.deal import HAND_SIZE
from domain.payouts import Result, result_event
from domain.table import Table
from durak.v1.events_pb2 import (
    Attacked,
    Challenged,
    Dealt,
    Defended,
    Discarded,
    Drew,
    Event,
    Finished,
    Left,
    Outcome,
    Passed,
    Record,
    SeatDraw,
    SeatTaken,
    SeatVacated,
    TableOpened,
    TakeDeclared,
    TimedOut,
    Took,
    TookReason,
    Transferred,
    WentOut,
)
from durak.v1.table_pb2 import Phase

ATTACK_CARDS_MAX: Final = 6
ATTACK_CARDS_MAX_OPENING: Final = 5
DRY_BOUTS_MAX: Final = 50
TIMEOUTS_IN_A_ROW_MAX: Final = 3
NOBODY: Final = -1


class CorruptLogError(Exception):
    """A record that cannot follow the ones before it. The log was changed, or is not a match."""


class Due(Enum):
    """What must be the next event, by the rules alone."""

    NOTHING = auto()  # A player's turn.
    DEAL = auto()
    SERVER_ACT = auto()  # The server acts for the seat that timed out (R10.2).
    DISCARD = auto()
    TAKE = auto()
    DRAW = auto()
    GO_OUT = auto()
    FINISH = auto()


class Pair(NamedTuple):
    """An attack card on the table, and what beat it (NO_CARD while nothing has)."""

    attack: Card
    attack_seat: int
    attack_version: int
    defence: Card = NO_CARD
    defence_seat: int = 0
    defence_version: int = 0


class Play(NamedTuple):
    """A play of the running bout of a tricky table: whose it is, and whether it was legal (R11.2).

    Legality is known here only to judge a challenge. It is stored nowhere and shown to nobody.
    """

    seat: int
    legal: bool


class Match:
    """The state of one match. Attributes are read freely; only `apply` changes them.

    Sets of seats are bit masks (bit ``1 << seat``), hands are card masks, ``stock`` is in reverse
    drawing order (its end is drawn next), times are microseconds since the Unix epoch.
    """

    __slots__ = (
        "_cards",
        "attacker",
        "attacks_max",
        "bout",
        "cap",
        "clock_us",
        "defender",
        "discard",
        "dry_bouts",
        "due",
        "ending",
        "hands",
        "in_play",
        "match_id",
        "next_leader",
        "opened_us",
        "pairs",
        "passed",
        "phase",
        "places",
        "plays",
        "ranks_on_table",
        "requests",
        "result",
        "stock",
        "table",
        "taker",
        "taking",
        "time_us",
        "timed_out",
        "timeouts",
        "trump_card",
        "trump_suit",
        "unbeaten",
        "version",
    )

    def __init__(self) -> None:
        """A match before its first event."""
        self.match_id = b""
        self.version = 0
        self.time_us = 0
        self.opened_us = 0
        self.requests: dict[bytes, int] = {}
        self.table: Table = _NO_TABLE
        self.phase: Phase.ValueType = Phase.PHASE_WAITING
        self.due = Due.NOTHING
        self.hands: list[CardMask] = []
        self.stock: list[Card] = []
        self.discard: CardMask = 0
        self.trump_card = NO_CARD
        self.trump_suit = NOBODY
        self._cards: CardMask = 0
        # The bout.
        self.bout = 0
        self.attacker = NOBODY
        self.defender = NOBODY
        self.pairs: list[Pair] = []
        self.ranks_on_table: CardMask = 0
        self.unbeaten = 0
        self.cap = 0
        self.attacks_max = ATTACK_CARDS_MAX
        self.taking = False
        self.taker = (NOBODY, TookReason.TOOK_REASON_UNSPECIFIED)
        self.passed = 0
        self.plays: dict[int, Play] = {}
        # From bout to bout.
        self.next_leader = NOBODY
        self.in_play = 0
        self.places: list[tuple[int, int]] = []  # (place, seat), as they went out; R12.4 orders
        self.dry_bouts = 0
        # The clock.
        self.clock_us = 0
        self.timeouts: list[int] = []
        self.timed_out = NOBODY
        self.ending: Result | None = None
        self.result: Finished | None = None

    # --- reading -------------------------------------------------------------------------------

    def request_version(self, actor_id: str, request_id: bytes) -> int | None:
        """The version of the first record of a command of this actor, or None if there is none."""
        return self.requests.get(request_id + actor_id.encode())

    def next_in_play(self, seat: int) -> int:
        """The next seat clockwise that is in play."""
        seats = len(self.hands)
        seat = (seat + 1) % seats
        while not self.in_play >> seat & 1:
            seat = (seat + 1) % seats
        return seat

    def previous_in_play(self, seat: int) -> int:
        """The next seat anticlockwise that is in play."""
        seats = len(self.hands)
        seat = (seat - 1) % seats
        while not self.in_play >> seat & 1:
            seat = (seat - 1) % seats
        return seat

    def throwers(self) -> int:
        """The seats that may throw in (R5.2)."""
        others = self.in_play & ~(1 << self.defender)
        if self.table.throw_in_all:
            return others
        neighbours = 1 << self.next_in_play(self.defender)
        neighbours |= 1 << self.previous_in_play(self.defender)
        return neighbours & others

    def awaited(self) -> int:
        """The seats whose pass the bout waits for, once it could close (R7.3, R11.5)."""
        if self.table.tricky:
            return self.in_play & ~(1 << self.defender) & ~self.passed
        if len(self.pairs) >= self.cap:
            return 0
        throwers = self.throwers() & ~self.passed
        for seat, hand in enumerate(self.hands):
            if not hand:
                throwers &= ~(1 << seat)
        return throwers

    def on_clock(self) -> int:
        """The seats that the table waits for (R10.1, R10.7)."""
        if self.phase != Phase.PHASE_PLAYING or self.due is not Due.NOTHING:
            return 0
        if not self.pairs:
            return 1 << self.attacker
        if self.unbeaten and not self.taking:
            return 1 << self.defender
        return self.awaited()

    def deadline_us(self) -> int | None:
        """When the server acts for the seats on the clock or closes the table (R10.2, R10.8)."""
        if self.phase == Phase.PHASE_ENDED:
            return None
        if self.phase == Phase.PHASE_PLAYING and self.table.turn_us:
            return self.clock_us + self.table.turn_us
        return self.clock_us + self.table.idle_us

    def drawing_order(self) -> list[int]:
        """The seats in play, attacker first, then clockwise, the defender last (R8.2)."""
        seats = len(self.hands)
        order = [(self.attacker + step) % seats for step in range(seats)]
        return [s for s in order if self.in_play >> s & 1 and s != self.defender] + [self.defender]

    def table_cards(self) -> list[Card]:
        """Every card on the table: each attack card followed by what beat it, if anything."""
        return [card for pair in self.pairs for card in (pair.attack, pair.defence) if card]

    def copy(self) -> "Match":
        """An independent copy, to try events on."""
        twin = Match.__new__(Match)
        for slot in Match.__slots__:
            setattr(twin, slot, getattr(self, slot))
        twin.hands = self.hands.copy()
        twin.stock = self.stock.copy()
        twin.pairs = self.pairs.copy()
        twin.plays = self.plays.copy()
        twin.places = self.places.copy()
        twin.timeouts = self.timeouts.copy()
        return twin

    # --- folding -------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """Fold the next stored record. Raises `CorruptLogError` if it cannot be the next one."""
        if record.version != self.version + 1:
            raise CorruptLogError(f"version {record.version} follows version {self.version}")
        if record.match_id != self.match_id:
            if self.version:
                raise CorruptLogError(f"version {record.version} belongs to another match")
            self.match_id = record.match_id
        time = record.time
        time_us = time.seconds * 1_000_000 + time.nanos // 1000
        if time_us < self.time_us:
            raise CorruptLogError(f"version {record.version} is earlier than the one before it")
        self.time_us = time_us
        request_id = record.request_id
        if request_id:
            self.requests.setdefault(request_id + record.actor_id.encode(), record.version)
        self.fold_event(record.event)

    def fold_event(self, event: Event) -> None:
        """Fold one event at the next version. `apply` is for stored records; this is for trials."""
        self.version += 1
        kind = event.WhichOneof("kind")
        fold = _FOLDS.get(kind or "")
        if fold is None:
            self._corrupt("an event of a kind that this version does not know")
        due = self.due
        if due is not Due.NOTHING and kind not in _KINDS_DUE[due]:
            self._corrupt(f"{kind} where {due.name} was due")
        fold(self, getattr(event, kind or ""))

    def _corrupt(self, fault: str) -> NoReturn:
        raise CorruptLogError(f"version {self.version}: {fault}")

    def _on_table_opened(self, event: TableOpened) -> None:
        if self.version != 1:
            self._corrupt("the table was opened before")
        self.table = Table.opened(event)
        self.opened_us = self.clock_us = self.time_us

    def _on_seat_taken(self, event: SeatTaken) -> None:
        seats = self.table.seats
        if self.phase != Phase.PHASE_WAITING or event.seat >= len(seats) or seats[event.seat]:
            self._corrupt(f"seat {event.seat} is not free")
        self.table = self.table.seated(event)
        if self.table.is_full:
            self.due = Due.DEAL

    def _on_seat_vacated(self, event: SeatVacated) -> None:
        seats = self.table.seats
        if self.phase != Phase.PHASE_WAITING or event.seat >= len(seats) or not seats[event.seat]:
            self._corrupt(f"seat {event.seat} cannot be given up")
        self.table = self.table.vacated(event.seat)

    def _on_dealt(self, event: Dealt) -> None:
        if self.due is not Due.DEAL:
            self._corrupt("the deal is not due")
        seats = len(self.table.seats)
        hands: list[list[Card]] = [list(hand.cards) for hand in event.hands]
        stock: list[Card] = list(event.stock)
        cards = [card for hand in hands for card in hand] + stock
        self._cards = mask_of(deck_cards(self.table.settings.deck))
        shown = stock[-1] if stock else cards[-1]
        if (
            len(cards) != self.table.settings.deck
            or not all(0 < card < 53 for card in cards)
            or mask_of(cards) != self._cards
            or [hand.seat for hand in event.hands] != list(range(seats))
            or any(len(hand) != HAND_SIZE for hand in hands)
            or event.trump_card != shown
            or event.first_attacker >= seats
        ):
            self._corrupt("the deal is not one of this deck to these seats")
        self.phase = Phase.PHASE_PLAYING
        self.hands = [mask_of(hand) for hand in hands]
        self.stock = stock[::-1]
        self.trump_card = event.trump_card
        self.trump_suit = SUIT_OF[event.trump_card]
        self.in_play = (1 << seats) - 1
        self.timeouts = [0] * seats
        if self.table.five_card_opening:
            self.attacks_max = ATTACK_CARDS_MAX_OPENING
        self.next_leader = event.first_attacker
        self._start_bout()

    def _start_bout(self) -> None:
        self.bout += 1
        self.attacker = self.next_leader
        self.defender = self.next_in_play(self.attacker)
        self.cap = min(self.hands[self.defender].bit_count(), self.attacks_max)
        self.due = Due.NOTHING
        self.clock_us = self.time_us

    def _play_card(self, seat: int, card: Card) -> None:
        """Take a played card from its hand, and note what every played card brings about."""
        bit = BIT_OF[card] if 0 < card < 53 else 0
        if not (self.phase == Phase.PHASE_PLAYING and seat < len(self.hands)):
            self._corrupt(f"seat {seat} played out of play")
        if not self.hands[seat] & bit:
            self._corrupt(f"seat {seat} played a card that it does not hold")
        self.hands[seat] ^= bit
        self.ranks_on_table |= RANK_MASK[RANK_OF[card]]
        self.passed = 0
        self._acted(seat)
        self.clock_us = self.time_us

    def _acted(self, seat: int) -> None:
        """A seat acted. It did so by itself unless its time had just run out (R10.3)."""
        if self.timed_out == NOBODY:
            self.timeouts[seat] = 0
            return
        if self.timed_out != seat:
            self._corrupt(f"seat {seat} acted where the server acts for seat {self.timed_out}")
        self.timed_out = NOBODY
        self.due = Due.NOTHING

    def _note_play(self, seat: int, *, legal: bool) -> None:
        if self.table.tricky:
            self.plays[self.version] = Play(seat, legal)
        elif not legal:
            self._corrupt("an illegal play on a table that is not tricky")

    def _on_attacked(self, event: Attacked) -> None:
        seat, card = event.seat, event.card
        if not self.pairs:
            if seat != self.attacker:
                self._corrupt(f"seat {seat} led out of turn")
        elif not self.throwers() >> seat & 1 or len(self.pairs) >= self.cap:
            self._corrupt(f"seat {seat} may not throw in")
        ranks = self.ranks_on_table if self.pairs else ALL_CARDS  # a lead is any card (R4.1)
        self._play_card(seat, card)
        self._note_play(seat, legal=bool(ranks & BIT_OF[card]))
        self.pairs.append(Pair(card, seat, self.version))
        self.unbeaten += 1
        if self.taking:
            self._close_if_due()

    def _on_defended(self, event: Defended) -> None:
        seat, card, target = event.seat, event.card, event.attack_card
        if seat != self.defender or self.taking:
            self._corrupt(f"seat {seat} may not beat")
        at = next((at for at, p in enumerate(self.pairs) if p.attack == target), NOBODY)
        if at == NOBODY or self.pairs[at].defence:
            self._corrupt("an attack card beaten that does not lie unbeaten on the table")
        self._play_card(seat, card)
        self._note_play(seat, legal=bool(BEATERS[self.trump_suit][target] & BIT_OF[card]))
        self.pairs[at] = self.pairs[at]._replace(
            defence=card, defence_seat=seat, defence_version=self.version
        )
        self.unbeaten -= 1
        if not self.unbeaten:
            self._close_if_due()

    def _on_transferred(self, event: Transferred) -> None:
        seat, card = event.seat, event.card
        if not self.table.transfer or seat != self.defender or self.taking or not self.pairs:
            self._corrupt(f"seat {seat} may not transfer")
        attacks = len(self.pairs) + 1
        target = self.next_in_play(seat)
        held = self.hands[target].bit_count()
        if attacks > min(held, self.attacks_max):
            self._corrupt("a transfer of more cards than the next seat may face")
        self._play_card(seat, card)
        self._note_play(
            seat,
            legal=self.unbeaten == attacks - 1 and RANK_OF[card] == RANK_OF[self.pairs[0].attack],
        )
        self.pairs.append(Pair(card, seat, self.version))
        self.unbeaten += 1
        self.attacker = seat
        self.defender = target
        self.cap = min(held, self.attacks_max)

    def _on_passed(self, event: Passed) -> None:
        seat = event.seat
        closing = self.pairs and (self.taking or not self.unbeaten)
        if not closing or not self.awaited() >> seat & 1:
            self._corrupt(f"seat {seat} passed where no pass was awaited")
        self._acted(seat)
        self.passed |= 1 << seat
        self._close_if_due()

    def _on_take_declared(self, event: TakeDeclared) -> None:
        if event.seat != self.defender or not self.unbeaten or self.taking:
            self._corrupt(f"seat {event.seat} may not take")
        self._acted(event.seat)
        self.taking = True
        self.clock_us = self.time_us
        self._close_if_due()

    def _close_if_due(self) -> None:
        """A bout closes when no pass is awaited any more (R7.1, R7.2, R7.3, R11.5)."""
        if self.awaited():
            return
        if self.taking:
            self.due = Due.TAKE
            self.taker = (self.defender, TookReason.TOOK_REASON_DECLARED)
        else:
            self.due = Due.DISCARD

    def _on_challenged(self, event: Challenged) -> None:
        accuser = event.seat
        play = self.plays.get(event.play_version)
        if play is None or play.seat == accuser or not self.in_play >> accuser & 1:
            self._corrupt(f"seat {accuser} may not challenge version {event.play_version}")
        if event.upheld == play.legal:
            self._corrupt("the verdict of a challenge is wrong")
        self._acted(accuser)
        self.due = Due.TAKE
        if event.upheld:
            self.taker = (play.seat, TookReason.TOOK_REASON_CHEAT)
        else:
            self.taker = (accuser, TookReason.TOOK_REASON_FALSE_ACCUSATION)

    def _on_took(self, event: Took) -> None:
        if self.due is not Due.TAKE or event != self.took():
            self._corrupt("a seat took what it does not have to take")
        self.hands[event.seat] |= mask_of(event.cards)
        self.dry_bouts += 1
        # Only a defender who takes is passed over (R7.2, R11.4).
        took_defender = event.seat == self.defender
        self._clear_table(self.defender if not took_defender else NOBODY)

    def _on_discarded(self, event: Discarded) -> None:
        if self.due is not Due.DISCARD or event != self.discarded():
            self._corrupt("the wrong cards were discarded")
        self.discard |= mask_of(event.cards)
        self.dry_bouts = 0
        self.attacks_max = ATTACK_CARDS_MAX  # R4.3: from the first successful defence on
        self._clear_table(self.defender)

    def _clear_table(self, leader: int) -> None:
        """Close the bout: ``leader`` attacks next, or, for NOBODY, the seat after the defender."""
        self.next_leader = leader
        self.pairs.clear()
        self.plays.clear()
        self.ranks_on_table = 0
        self.unbeaten = 0
        self.taking = False
        self.passed = 0
        if self.stock and any(
            self.in_play >> seat & 1 and hand.bit_count() < HAND_SIZE
            for seat, hand in enumerate(self.hands)
        ):
            self.due = Due.DRAW
        else:
            self._settle_draws()

    def _on_drew(self, event: Drew) -> None:
        if self.due is not Due.DRAW or event != self.drew():
            self._corrupt("the wrong cards were drawn")
        for draw in event.draws:
            self.hands[draw.seat] |= mask_of(draw.cards)
            del self.stock[-len(draw.cards) :]
        self._settle_draws()

    def _settle_draws(self) -> None:
        if self.going_out():
            self.due = Due.GO_OUT
        else:
            self._settle_outs()

    def _on_went_out(self, event: WentOut) -> None:
        if self.due is not Due.GO_OUT or event != self.went_out():
            self._corrupt("the wrong seats went out")
        for seat in self.drawing_order():
            if seat in event.seats:
                self.places.append((event.place, seat))
        for seat in event.seats:
            self.in_play &= ~(1 << seat)
        self._settle_outs()

    def _settle_outs(self) -> None:
        """Read the result, now that the bout is closed and all is drawn (R9); or go on."""
        left = self.in_play.bit_count()
        if left == 1:
            self._end(Outcome.OUTCOME_PLAYED_OUT, durak=self.in_play.bit_length() - 1)
        elif left == 0 or self.dry_bouts >= DRY_BOUTS_MAX:
            self._end(Outcome.OUTCOME_DRAW)
        else:
            if self.next_leader == NOBODY:
                self.next_leader = self.next_in_play(self.defender)
            elif not self.in_play >> self.next_leader & 1:  # R7.4
                self.next_leader = self.next_in_play(self.next_leader)
            self._start_bout()

    def _on_timed_out(self, event: TimedOut) -> None:
        seat = event.seat
        if not self.table.turn_us or not self.on_clock() >> seat & 1:
            self._corrupt(f"the time of seat {seat} ran out where it had none")
        self.timeouts[seat] += 1
        self.timed_out = seat
        self.due = Due.SERVER_ACT

    def _on_left(self, event: Left) -> None:
        seat = event.seat
        if self.phase != Phase.PHASE_PLAYING or seat >= len(self.hands):
            self._corrupt(f"seat {seat} left a match that is not in play")
        if self.timed_out not in (NOBODY, seat):
            self._corrupt(f"seat {seat} left where seat {self.timed_out} timed out")
        self._end(Outcome.OUTCOME_ABANDONED, leaver=seat)

    def _end(self, outcome: Outcome.ValueType, durak: int = NOBODY, leaver: int = NOBODY) -> None:
        self.due = Due.FINISH
        self.ending = Result(outcome, durak, leaver)

    def _on_finished(self, event: Finished) -> None:
        if self.phase == Phase.PHASE_WAITING and self.due is Due.NOTHING and self.version > 1:
            self._end(Outcome.OUTCOME_CANCELLED)
        if self.due is not Due.FINISH or event != self.finished():
            self._corrupt("the result is not the one that the rules give")
        self.phase = Phase.PHASE_ENDED
        self.due = Due.NOTHING
        self.result = Finished()
        self.result.CopyFrom(event)

    # --- what is due ---------------------------------------------------------------------------

    def took(self) -> Took:
        """Who picks up the table, and why, when `Due.TAKE`."""
        seat, reason = self.taker
        return Took(seat=seat, cards=self.table_cards(), reason=reason)

    def discarded(self) -> Discarded:
        """What goes to the discard pile when `Due.DISCARD`."""
        return Discarded(cards=self.table_cards())

    def drew(self) -> Drew:
        """Who draws what when `Due.DRAW` (R8)."""
        draws = []
        left = len(self.stock)
        for seat in self.drawing_order():
            count = min(HAND_SIZE - self.hands[seat].bit_count(), left)
            if count > 0:
                cards = self.stock[left - count : left]
                draws.append(SeatDraw(seat=seat, cards=reversed(cards)))
                left -= count
        return Drew(draws=draws)

    def going_out(self) -> list[int]:
        """The seats that are out now, in rising order (R9.1, R9.4)."""
        if self.stock:
            return []
        empty = [s for s, hand in enumerate(self.hands) if self.in_play >> s & 1 and not hand]
        if len(empty) == self.in_play.bit_count() and not self.table.draw_allowed:
            empty.remove(self.defender)  # R9.4: who laid the last card is the durak
        return empty

    def went_out(self) -> WentOut:
        """Who goes out, and with which place, when `Due.GO_OUT` (R9.2)."""
        return WentOut(seats=self.going_out(), place=len(self.places) + 1)

    def cancelled(self) -> Finished:
        """The result of closing this table before the deal (R3.0)."""
        return result_event(self.table, Result(Outcome.OUTCOME_CANCELLED), ())

    def finished(self) -> Finished:
        """The result when `Due.FINISH`."""
        if self.ending is None:
            self._corrupt("no result is due")
        return result_event(self.table, self.ending, self.places)


_NO_TABLE = Table.opened(TableOpened())

_FOLDS: Final[dict[str, Callable[[Match, "object"], None]]] = {
    field.name: getattr(Match, f"_on_{field.name}")
    for field in Event.DESCRIPTOR.oneofs_by_name["kind"].fields
}

# What is folded where something is due. A player can leave at any moment between two commands, so
# `left` only stands beside the server's act for a seat that timed out.
_KINDS_DUE: Final = {
    Due.DEAL: ("dealt",),
    Due.SERVER_ACT: ("attacked", "take_declared", "passed", "left"),
    Due.DISCARD: ("discarded",),
    Due.TAKE: ("took",),
    Due.DRAW: ("drew",),
    Due.GO_OUT: ("went_out",),
    Due.FINISH: ("finished",),
}


def fold(records: Iterable[Record]) -> Match:
    """The match that these records, from version 1 on, make. Raises `CorruptLogError`."""
    match = Match()
    for record in records:
        match.apply(record)
    return match
