"""The state of a match in play: the cards, the turn, and the next consequence (R4 to R9).

`State.expected` is what the rules force to be the next event, and `State.apply` carries an event
out. Comparing it with the log is the task of `domain.audit.comparison`.
"""

from domain.audit import score
from domain.audit.bout import Bout
from domain.audit.consequences import (
    Consequence,
    Discard,
    Draws,
    Expected,
    GoingOut,
    PickUp,
    SeatDraw,
)
from domain.audit.deck import DECKS, SUIT, Deal
from domain.audit.score import Score
from domain.audit.table import Table
from durak.v1.events_pb2 import (
    TOOK_REASON_CHEAT,
    TOOK_REASON_DECLARED,
    TOOK_REASON_FALSE_ACCUSATION,
)

BOUTS_WITHOUT_DISCARD_MAX = 50


class State:
    """A match in play. Before the deal ``hands`` is empty; ``bout`` is None between bouts."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.hands: list[set[int]] = []
        self.stock: list[int] = []
        self.trump = ""
        self.in_play: set[int] = set()
        self.went_out: list[list[int]] = []
        self.bout: Bout | None = None
        self.closed: Bout | None = None
        """The bout that ended last."""
        self.leader = 0
        self.bouts = 0
        self.bouts_without_discard = 0
        """How many bouts in a row have ended without a discard (R9.5)."""
        self.limit = 5 if table.five_card_opening else 6
        self.expected: Expected | None = None
        self.score: Score | None = None
        """The result by the rules, once the match has ended."""
        self.is_ended = False

    # --- seats -----------------------------------------------------------------------------------

    def after(self, seat: int, step: int = 1) -> int:
        """Return the next seat in play, clockwise; with ``step`` -1 the one before."""
        size = self.table.size
        return next(
            turn % size
            for turn in range(seat + step, seat + step * (size + 1), step)
            if turn % size in self.in_play
        )

    def clockwise(self, bout: Bout) -> list[int]:
        """R8.2: the attacker, the others clockwise, the defender last."""
        size = self.table.size
        circle = [(bout.attacker + step) % size for step in range(size)]
        return [s for s in circle if s in self.in_play and s != bout.defender] + [bout.defender]

    def awaited(self, bout: Bout) -> set[int]:
        """Return the seats whose pass the bout waits for (R7.1 to R7.3, R11.5)."""
        if self.table.tricky:
            return self.in_play - {bout.defender} - bout.passed
        if len(bout.rows) >= bout.room:
            return set()
        return {seat for seat in bout.throwers if self.hands[seat]} - bout.passed

    def on_clock(self) -> set[int]:
        """Return the seats that the table waits for (R10.1, R10.7)."""
        bout = self.bout
        if bout is None or self.expected is not None:
            return set()
        if not bout.rows:
            return {bout.attacker}
        if not bout.is_beaten() and not bout.taking:
            return {bout.defender}
        return self.awaited(bout)

    def face(self, attacker: int, defender: int) -> None:
        """Set who attacks whom; cap and throwers follow from it (R4.3, R5.2, R6.2)."""
        assert self.bout is not None
        throwers = self.in_play - {defender}
        if not self.table.all_throw_in:
            throwers &= {self.after(defender), self.after(defender, -1)}
        room = min(len(self.hands[defender]), self.limit)
        self.bout.face(attacker, defender, room, frozenset(throwers))

    # --- what the rules force --------------------------------------------------------------------

    def expect_end_of_bout(self) -> None:
        """R7.1 to R7.3: the bout ends once no attack card is open and no pass is awaited."""
        bout = self.bout
        if bout is None or not bout.rows or not (bout.taking or bout.is_beaten()):
            return
        if self.awaited(bout):
            return
        cards = bout.cards()
        if bout.taking:
            pick_up = PickUp(bout.defender, cards, TOOK_REASON_DECLARED)
            self.expected = Expected("R7.2", pick_up)
        else:
            self.expected = Expected("R7.1", Discard(cards))

    def expect_penalty(self, seat: int, *, cheated: bool) -> None:
        """R11.4: the seat that was wrong picks up the table, the cheat or the false accuser."""
        assert self.bout is not None
        reason = TOOK_REASON_CHEAT if cheated else TOOK_REASON_FALSE_ACCUSATION
        self.expected = Expected("R11.4", PickUp(seat, self.bout.cards(), reason))

    def _expect_draws(self, closed: Bout, now_us: int) -> None:
        draws = self._draws(closed) if self.stock else []
        if draws:
            self.expected = Expected("R8", Draws(draws))
        else:
            self._expect_outs(closed, now_us)

    def _draws(self, closed: Bout) -> list[SeatDraw]:
        draws = []
        taken = 0
        for seat in self.clockwise(closed):
            cards = self.stock[taken : taken + max(0, 6 - len(self.hands[seat]))]
            if cards:
                draws.append(SeatDraw(seat, cards))
                taken += len(cards)
        return draws

    def _expect_outs(self, closed: Bout, now_us: int) -> None:
        out = [] if self.stock else [s for s in sorted(self.in_play) if not self.hands[s]]
        if len(out) == len(self.in_play) and not self.table.draw_allowed:
            out = [seat for seat in out if seat != closed.defender]  # R9.4
        if out:
            place = sum(map(len, self.went_out)) + 1
            self.expected = Expected("R9.1", GoingOut(out, place))
        else:
            self._next_bout(now_us)

    def _next_bout(self, now_us: int) -> None:
        """Start the next bout, or expect the result (R7.4, R9.3 to R9.5)."""
        if len(self.in_play) <= 1 or self.bouts_without_discard >= BOUTS_WITHOUT_DISCARD_MAX:
            seats = list(range(self.table.size))
            ending = score.settled(self.table.stake, seats, self.went_out, sorted(self.in_play))
            self.expected = Expected("R9", ending)
            return
        if self.leader not in self.in_play:
            self.leader = self.after(self.leader)  # R7.4
        self.bouts += 1
        self.bout = Bout(now_us)
        self.face(self.leader, self.after(self.leader))

    # --- carrying it out -------------------------------------------------------------------------

    def apply(self, event: Consequence, now_us: int) -> None:
        """Carry out a consequence that is expected, or that `can_apply` accepts."""
        self.expected = None
        match event:
            case Deal():
                self._deal(event, now_us)
            case Discard():
                self.bouts_without_discard = 0
                self.limit = 6  # R4.3: the table has seen its first successful defence
                self._end_bout(now_us)
            case PickUp():
                self._pick_up(event, now_us)
            case Draws():
                self._draw(event, now_us)
            case GoingOut():
                self._go_out(event, now_us)
            case Score():
                self.score = event
                self.is_ended = True
                self.bout = None

    def _deal(self, deal: Deal, now_us: int) -> None:
        self.hands = [set(hand) for hand in deal.hands]
        self.stock = list(deal.stock)
        self.trump = SUIT[deal.trump_card]
        self.in_play = set(range(self.table.size))
        self.leader = deal.first_attacker
        self._next_bout(now_us)

    def _pick_up(self, pick_up: PickUp, now_us: int) -> None:
        assert self.bout is not None
        self.hands[pick_up.seat].update(self.bout.cards())
        self.bouts_without_discard += 1
        self._end_bout(now_us, taker=pick_up.seat)

    def _end_bout(self, now_us: int, taker: int | None = None) -> None:
        """End the bout. The defender attacks next, or the seat after a defender who took."""
        bout = self.bout
        assert bout is not None
        self.closed, self.bout = bout, None
        # R7.2, R11.4. The seat may be out by then: `_next_bout` goes on to one in play (R7.4).
        passed_over = (bout.defender + 1) % self.table.size
        self.leader = passed_over if taker == bout.defender else bout.defender
        self._expect_draws(bout, now_us)

    def _draw(self, drew: Draws, now_us: int) -> None:
        assert self.closed is not None
        for seat, cards in drew.draws:
            self.hands[seat].update(cards)
            self.stock = [card for card in self.stock if card not in cards]
        self._expect_outs(self.closed, now_us)

    def _go_out(self, out: GoingOut, now_us: int) -> None:
        assert self.closed is not None
        self.went_out.append([seat for seat in self.clockwise(self.closed) if seat in out.seats])
        self.in_play.difference_update(out.seats)
        self._next_bout(now_us)

    def can_apply(self, event: Consequence) -> bool:
        """Return whether the match can go on from a consequence that the rules do not expect."""
        match event:
            case Deal():
                cards = sorted(card for cards in (*event.hands, event.stock) for card in cards)
                fits = [len(hand) for hand in event.hands] == [6] * self.table.size
                known = event.trump_card in cards and 0 <= event.first_attacker < self.table.size
                return fits and known and cards == DECKS[self.table.deck]
            case Discard():
                return self.bout is not None
            case PickUp():
                return self.bout is not None and event.seat in self.in_play
            case Draws():
                stock = set(self.stock)
                known = all(s in self.in_play and stock.issuperset(c) for s, c in event.draws)
                return self.closed is not None and known
            case GoingOut():
                return self.closed is not None and self.in_play.issuperset(event.seats)
            case Score():
                return True
