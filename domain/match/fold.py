"""The fold: the state of a match, computed from its events and nothing else.

`Match.apply` folds one stored record. It accepts everything that `domain.match.decide` makes and
raises `CorruptLogError` on anything else: a card from nowhere, a move in the wrong role, a
consequence that the rules do not require. `State.due` is the event that must follow by the rules
alone (closing the bout, drawing, going out, the result); `domain.match.consequences` makes it.

>>> Match().apply(Record(match_id=bytes(16), version=2))
Traceback (most recent call last):
domain.match.fold.CorruptLogError: version 2 follows version 0
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NoReturn

from domain.cards import (
    ALL_CARDS,
    BEATERS,
    BIT_OF,
    DECKS,
    RANK_MASK_OF,
    RANK_OF,
    SUIT_OF,
    Card,
    deck_cards,
    mask_of,
)
from domain.match.deal import HAND_SIZE, HASH_BYTES, secret_hash
from domain.match.payouts import MatchResult
from domain.match.state import (
    ATTACK_CARDS_MAX,
    BOUTS_WITHOUT_DISCARD_MAX,
    NOBODY,
    OPENING_ATTACK_CARDS_MAX,
    Due,
    State,
    has_seat,
)
from domain.match.table import Table
from durak.v1.events_pb2 import (
    LEFT_REASON_TIMEOUTS,
    OUTCOME_ABANDONED,
    OUTCOME_DRAW,
    OUTCOME_PLAYED_OUT,
    TOOK_REASON_CHEAT,
    TOOK_REASON_DECLARED,
    TOOK_REASON_FALSE_ACCUSATION,
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
    SeatTaken,
    SeatVacated,
    SeedRevealed,
    TableOpened,
    TakeDeclared,
    TimedOut,
    Took,
    Transferred,
    WentOut,
)
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_PLAYING, PHASE_REVEALING, PHASE_WAITING


class CorruptLogError(Exception):
    """A record cannot follow the records before it. The log was changed, or is not a match."""


MATCH_ID_BYTES: Final = 16  # a UUID

# Global names: the lookup of a member on its class takes 0.1 µs each time.
_DEAL, _SERVER_ACT, _DISCARD, _TAKE, _DRAW, _GO_OUT, _FINISH = Due

# Indexed by `Due`: the kinds of event that it can be.
_KINDS_DUE: Final = (
    ("dealt",),
    ("attacked", "take_declared", "passed", "left"),
    ("discarded",),
    ("took",),
    ("drew",),
    ("went_out",),
    ("finished",),
)


class Match(State):
    """A match. `apply` folds its records one by one."""

    __slots__ = ()

    def apply(self, record: Record) -> None:
        """Fold the next stored record. Raises CorruptLogError if it cannot be the next one."""
        version = record.version
        if version != self.version + 1:
            raise CorruptLogError(f"version {version} follows version {self.version}")
        if version == 1 and not self.match_id:
            if len(record.match_id) != MATCH_ID_BYTES:
                raise CorruptLogError("the match id is not 16 bytes long")
            self.match_id = record.match_id
        elif record.match_id != self.match_id:
            raise CorruptLogError(f"version {version} belongs to another match")
        self.last_record = record
        request_id = record.request_id
        if request_id:
            self.requests.setdefault(request_id, version)
        self.fold_event(record.event)

    def fold_event(self, event: Event) -> None:
        """Fold one event at the next version. Use `apply` for stored records.

        Raises CorruptLogError.
        """
        self.version += 1
        kind = event.WhichOneof("kind")
        fold = _FOLDS.get(kind)
        if fold is None:
            self._corrupt("the kind of event is unknown")
        due = self.due
        if due is not None:
            if kind not in _KINDS_DUE[due]:
                self._corrupt(f"{kind} where {due.name} is due")
            if due is _SERVER_ACT and event != self.act_due():
                self._corrupt("the server made the wrong move for a seat")
        elif self.phase == PHASE_ENDED:
            self._corrupt("the match has ended")
        fold(self, getattr(event, kind))  # type: ignore[arg-type] # a kind without a fold was refused above

    def _corrupt(self, fault: str) -> NoReturn:
        raise CorruptLogError(f"version {self.version}: {fault}")

    def _restart_clock(self) -> None:
        self.clock_record = self.last_record

    # --- before the deal -----------------------------------------------------------------------

    def _on_table_opened(self, event: TableOpened) -> None:
        if self.version != 1:
            self._corrupt("the table is already open")
        settings = event.settings
        if not 2 <= settings.seats <= settings.deck // HAND_SIZE or settings.deck not in DECKS:
            self._corrupt("the deck is not enough for the seats")  # R2.1
        limits = (event.idle_limit_seconds, event.reveal_limit_seconds)
        if min(settings.turn_timer_seconds, settings.stake_coins, *limits) < 0:
            self._corrupt("a setting is negative")
        self.table = Table.opened(self.match_id, event)
        self.opened_us = self.time_us
        self._restart_clock()

    def _on_seat_taken(self, event: SeatTaken) -> None:
        seats = self.table.seats
        if self.phase != PHASE_WAITING or not 0 <= event.seat < len(seats) or seats[event.seat]:
            self._corrupt(f"seat {event.seat} is not free")
        if len(event.client_seed_hash) not in (0, HASH_BYTES):
            self._corrupt("the hash of a secret is not 32 bytes long")
        self.table = self.table.with_seat_taken(event)
        if self.table.is_full:
            if self.table.to_reveal:
                self.phase = PHASE_REVEALING
                self._restart_clock()
            else:
                self.due = _DEAL

    def _on_seed_revealed(self, event: SeedRevealed) -> None:
        if self.phase != PHASE_REVEALING or event.seat not in self.table.to_reveal:
            self._corrupt(f"seat {event.seat} has no secret to reveal")
        seat = self.table.seats[event.seat]
        assert seat is not None
        if secret_hash(self.match_id, seat.player_id, event.secret) != seat.client_seed_hash:
            self._corrupt(f"seat {event.seat} revealed another secret than it promised")
        self.table = self.table.with_secret(event.seat, event.secret)
        if not self.table.to_reveal:
            self.due = _DEAL

    def _on_seat_vacated(self, event: SeatVacated) -> None:
        seats = self.table.seats
        if self.phase != PHASE_WAITING or not 0 <= event.seat < len(seats) or not seats[event.seat]:
            self._corrupt(f"seat {event.seat} cannot be given up")
        self.table = self.table.with_seat_vacated(event)

    def _on_dealt(self, event: Dealt) -> None:
        if self.due is not _DEAL:
            self._corrupt("a deal is not due")
        seats = len(self.table.seats)
        hands: list[list[Card]] = [list(hand.cards) for hand in event.hands]
        stock: list[Card] = list(event.stock)
        cards = [card for hand in hands for card in hand] + stock
        deck = deck_cards(self.table.settings.deck)
        if (
            sorted(cards) != deck
            or [hand.seat for hand in event.hands] != list(range(seats))
            or any(len(hand) != HAND_SIZE for hand in hands)
            or event.trump_card != cards[-1]
            or not 0 <= event.first_attacker < seats
        ):
            self._corrupt("the deal does not fit the deck and the seats")
        self.phase = PHASE_PLAYING
        self.hands = [mask_of(hand) for hand in hands]
        self.stock = stock[::-1]
        self.trump_card = event.trump_card
        self.trump_suit = SUIT_OF[event.trump_card]
        self.in_play = self.holding = (1 << seats) - 1
        self.timeouts = [0] * seats
        if self.table.five_card_opening:
            self.attacks_max = OPENING_ATTACK_CARDS_MAX
        self.next_leader = event.first_attacker
        self._start_bout()

    # --- the bout ------------------------------------------------------------------------------

    def _start_bout(self) -> None:
        self.due = None
        self.bout += 1
        self._set_defender(self.next_leader, self.next_in_play(self.next_leader))
        self._restart_clock()

    def _set_defender(self, attacker: int, defender: int) -> None:
        """Set the roles at the start of a bout or after a transfer (R4.3, R5.2, R6.2)."""
        self.attacker = attacker
        self.defender = defender
        self.cap = min(self.hands[defender].bit_count(), self.attacks_max)
        others = self.in_play & ~(1 << defender)
        if not self.table.throw_in_all:
            others &= 1 << self.next_in_play(defender) | 1 << self.next_in_play(defender, -1)
        self.throwers = others

    def _play_card(self, seat: int, card: Card) -> None:
        """Move a card from a hand to the table and withdraw all passes (R5.3)."""
        if self.phase != PHASE_PLAYING or not 0 < card < 53:
            self._corrupt(f"seat {seat} played a card that cannot be played")
        bit = BIT_OF[card]
        hand = self.hands[seat] ^ bit
        if hand & bit:
            self._corrupt(f"seat {seat} played a card that it does not hold")
        self.hands[seat] = hand
        if not hand:
            self.holding &= ~(1 << seat)
        self.laid[card] = (seat, self.version)
        self.on_table |= bit
        self.ranks_on_table |= RANK_MASK_OF[card]
        self.passed = 0
        self.clock_record = self.last_record
        self._acted(seat)

    def _acted(self, seat: int) -> None:
        """Reset the timeouts of a seat that acted, unless the server acted for it (R10.3)."""
        if self.timed_out == NOBODY:
            self.timeouts[seat] = 0
        else:
            self.timed_out = NOBODY
            self.due = None

    def _record_cheat(self) -> None:
        if not self.table.tricky:
            self._corrupt("the play is illegal and the table is not tricky")
        self.cheats.add(self.version)

    def _on_attacked(self, event: Attacked) -> None:
        seat = event.seat
        card = event.card
        ranks = self.ranks_on_table
        if not self.attacks:
            if seat != self.attacker:
                self._corrupt(f"seat {seat} led out of turn")
            ranks = ALL_CARDS  # R4.1
        elif not has_seat(self.throwers, seat) or len(self.attacks) >= self.cap:
            self._corrupt(f"seat {seat} may not throw in")
        self._play_card(seat, card)
        self.attacks.append(card)
        if not ranks & BIT_OF[card]:
            self._record_cheat()
        if self.taking:
            self._close_if_settled()

    def _on_defended(self, event: Defended) -> None:
        seat = event.seat
        card = event.card
        target = event.attack_card
        if seat != self.defender or self.taking:
            self._corrupt(f"seat {seat} may not beat")
        if target not in self.attacks or target in self.beaten_by:
            self._corrupt("the beaten card is not an unbeaten attack card")
        self._play_card(seat, card)
        self.beaten_by[target] = card
        if not BEATERS[self.trump_suit][target] & BIT_OF[card]:
            self._record_cheat()
        if len(self.beaten_by) == len(self.attacks):
            self._close_if_settled()

    def _on_transferred(self, event: Transferred) -> None:
        seat = event.seat
        card = event.card
        if not self.table.transfer or seat != self.defender or self.taking or not self.attacks:
            self._corrupt(f"seat {seat} may not transfer")
        target = self.next_in_play(seat)
        if len(self.attacks) + 1 > self.transfer_room():
            self._corrupt("the transfer exceeds the cap of the next seat")
        self._play_card(seat, card)
        if self.beaten_by or RANK_OF[card] != RANK_OF[self.attacks[0]]:
            self._record_cheat()
        self.attacks.append(card)
        self._set_defender(seat, target)

    def _on_passed(self, event: Passed) -> None:
        seat = event.seat
        open_attack = self.unbeaten and not self.taking
        if not self.attacks or open_attack or not has_seat(self.awaited(), seat):
            self._corrupt(f"the bout does not wait for a pass of seat {seat}")
        self._acted(seat)
        self.passed |= 1 << seat
        self._close_if_settled()

    def _on_take_declared(self, event: TakeDeclared) -> None:
        if event.seat != self.defender or not self.unbeaten or self.taking:
            self._corrupt(f"seat {event.seat} may not take")
        self._acted(event.seat)
        self.taking = True
        self._restart_clock()
        self._close_if_settled()

    def _close_if_settled(self) -> None:
        """Close the bout if it waits for no more passes (R7.1, R7.2, R7.3, R11.5)."""
        if self.awaited():
            return
        if self.taking:
            self.due = _TAKE
            self.taker = (self.defender, TOOK_REASON_DECLARED)
        else:
            self.due = _DISCARD

    def _on_challenged(self, event: Challenged) -> None:
        accuser = event.seat
        accused = self.player_of(event.play_version)
        if accused in (None, accuser) or not has_seat(self.in_play, accuser):
            self._corrupt(f"seat {accuser} may not challenge version {event.play_version}")
        if event.upheld != (event.play_version in self.cheats):
            self._corrupt("the verdict of a challenge is wrong")
        self._acted(accuser)
        self.due = _TAKE
        if event.upheld:
            self.taker = (accused, TOOK_REASON_CHEAT)
        else:
            self.taker = (accuser, TOOK_REASON_FALSE_ACCUSATION)

    # --- after the bout ------------------------------------------------------------------------

    def _on_took(self, event: Took) -> None:
        seat, reason = self.taker
        if (
            self.due is not _TAKE
            or event.seat != seat
            or event.reason != reason
            or event.cards != self.table_cards()
        ):
            self._corrupt("the take is not the one that is due")
        self.hands[seat] |= self.on_table
        self.holding |= 1 << seat
        self.bouts_without_discard += 1
        # Only a defender who takes is skipped (R7.2, R11.4).
        self._clear_table(self.defender if seat != self.defender else NOBODY)

    def _on_discarded(self, event: Discarded) -> None:
        if self.due is not _DISCARD or event.cards != self.table_cards():
            self._corrupt("the wrong cards were discarded")
        self.discard |= self.on_table
        self.bouts_without_discard = 0
        self.attacks_max = ATTACK_CARDS_MAX  # R4.3: from the first successful defence on
        self._clear_table(self.defender)

    def _clear_table(self, leader: int) -> None:
        """End the bout. ``leader`` attacks next; NOBODY means the seat after the defender."""
        self.next_leader = leader
        self.attacks.clear()
        self.beaten_by.clear()
        self.laid.clear()
        self.cheats.clear()
        self.on_table = 0
        self.ranks_on_table = 0
        self.taking = False
        self.passed = 0
        # With cards in the stock no seat is out.
        if self.stock and min(map(int.bit_count, self.hands)) < HAND_SIZE:
            self.due = _DRAW
        else:
            self._settle_draws()

    def _on_drew(self, event: Drew) -> None:
        if self.due is not _DRAW:
            self._corrupt("a draw is not due")
        draws = self.draws_due()
        if [(draw.seat, draw.cards[:]) for draw in event.draws] != draws:
            self._corrupt("the wrong cards were drawn")
        for seat, cards in draws:
            hand = self.hands[seat]
            for card in cards:
                hand |= BIT_OF[card]
            self.hands[seat] = hand
            self.holding |= 1 << seat
            del self.stock[-len(cards) :]
        self._settle_draws()

    def _settle_draws(self) -> None:
        if self.outs_due():
            self.due = _GO_OUT
        else:
            self._settle_outs()

    def _on_went_out(self, event: WentOut) -> None:
        outs = self.outs_due()
        place = len(self.places) + 1  # R9.2
        if self.due is not _GO_OUT or event.seats != outs or event.place != place:
            self._corrupt("the wrong seats went out")
        self.places += [(place, seat) for seat in self.drawing_order() if seat in outs]
        for seat in outs:
            self.in_play &= ~(1 << seat)
        self._settle_outs()

    def _settle_outs(self) -> None:
        """Read the result after the bout and the draws (R9), or start the next bout."""
        left = self.in_play.bit_count()
        if left == 1:
            self._end(OUTCOME_PLAYED_OUT, durak=self.in_play.bit_length() - 1)
        elif left == 0 or self.bouts_without_discard >= BOUTS_WITHOUT_DISCARD_MAX:
            self._end(OUTCOME_DRAW)
        else:
            if self.next_leader == NOBODY:
                self.next_leader = self.next_in_play(self.defender)
            elif not self.in_play >> self.next_leader & 1:  # R7.4
                self.next_leader = self.next_in_play(self.next_leader)
            self._start_bout()

    # --- time and end --------------------------------------------------------------------------

    def _on_timed_out(self, event: TimedOut) -> None:
        seat = event.seat
        if not self.table.turn_us or not has_seat(self.on_clock(), seat):
            self._corrupt(f"seat {seat} is not on the clock")
        self.timeouts[seat] += 1
        self.timed_out = seat
        self.due = _SERVER_ACT

    def _on_left(self, event: Left) -> None:
        seat = event.seat
        if self.phase != PHASE_PLAYING or not has_seat(self.in_play, seat):
            self._corrupt(f"seat {seat} left but is not in play")
        if (event.reason == LEFT_REASON_TIMEOUTS) != (self.timed_out == seat):
            self._corrupt(f"the reason why seat {seat} left is wrong")
        self._end(OUTCOME_ABANDONED, leaver=seat)

    def _end(self, outcome: Outcome.ValueType, durak: int = NOBODY, leaver: int = NOBODY) -> None:
        self.due = _FINISH
        self.ending = MatchResult(outcome, durak, leaver)

    def _on_finished(self, event: Finished) -> None:
        cancelling = self.phase == PHASE_WAITING and self.version > 1
        if self.phase == PHASE_REVEALING and self.due is None:
            if event != self._result_of_prevented_deal(event.prevented_by):
                self._corrupt("the result is wrong")
        elif not (cancelling or self.due is _FINISH) or event != self.result_due():
            self._corrupt("the result is wrong")
        self.phase = PHASE_ENDED
        self.due = None
        self.result = event

    def _result_of_prevented_deal(self, seats: Sequence[int]) -> Finished | None:
        """Return the result if one seat left, or none of ``seats`` revealed in time (R3.6)."""
        has_left = len(seats) == 1 and 0 <= seats[0] < len(self.table.seats)
        if has_left or tuple(seats) == self.table.to_reveal:
            return self.prevented_deal(seats)
        return None


_FOLDS: Final[dict[str | None, Callable[[Match, Any], None]]] = {
    field.name: getattr(Match, f"_on_{field.name}")
    for field in Event.DESCRIPTOR.oneofs_by_name["kind"].fields
}


def fold(records: Iterable[Record]) -> Match:
    """Return the match of these records, from version 1 on. Raises CorruptLogError."""
    match = Match()
    for record in records:
        match.apply(record)
    return match
