"""Where the cards are and whose turn it is, a second time (R4 to R9).

`State` tells what the rules say must come next (`due`) and carries it out (`carry_out`); judging
what the log says instead is the referee's part.
"""

from types import MappingProxyType
from typing import Any, Final, NamedTuple

from domain.audit import score
from domain.audit.bout import Bout
from domain.audit.deck import SUIT, labels
from domain.audit.score import Score
from domain.audit.table import Table
from durak.v1.events_pb2 import (
    TOOK_REASON_CHEAT,
    TOOK_REASON_DECLARED,
    TOOK_REASON_FALSE_ACCUSATION,
)

DRY_BOUTS_MAX = 50


class Due(NamedTuple):
    """What must be the next event.

    ``value`` is its content as plain data, by kind. dealt: (hands, trump card, stock,
    first attacker) · discarded: (cards,) ·
    took: (seat, cards, reason) · drew: ((seat, cards), ...) · went_out: (seats, place) ·
    finished: a `Score`.
    """

    kind: str
    clause: str
    value: tuple[Any, ...] | None
    """None: what it has to be cannot be told (the seed is not known)."""


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
        """The bout that ended last, until the next one starts."""
        self.leader = 0
        self.bouts = 0
        self.dry_bouts = 0
        self.limit = 5 if table.five_card_opening else 6
        self.due: Due | None = None
        self.score: Score | None = None
        self.is_ended = False

    # --- seats -----------------------------------------------------------------------------------

    def after(self, seat: int, step: int = 1) -> int:
        """The next seat in play, clockwise, or the one before with ``step`` -1."""
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
        """The seats whose pass the bout waits for (R7.1 to R7.3, R11.5)."""
        if self.table.tricky:
            return self.in_play - {bout.defender} - bout.passed
        if len(bout.rows) >= bout.room:
            return set()
        return {seat for seat in bout.throwers if self.hands[seat]} - bout.passed

    def on_clock(self) -> set[int]:
        """R10.1, R10.7: who keeps the table waiting."""
        bout = self.bout
        if bout is None or self.due is not None:
            return set()
        if not bout.rows:
            return {bout.attacker}
        if not bout.is_beaten() and not bout.taking:
            return {bout.defender}
        return self.awaited(bout)

    def face(self, attacker: int, defender: int) -> None:
        """Make a seat the bout's defender: cap and throwers are counted anew (R4.3, R5.2, R6.2)."""
        assert self.bout is not None
        throwers = self.in_play - {defender}
        if not self.table.all_throw_in:
            throwers &= {self.after(defender), self.after(defender, -1)}
        room = min(len(self.hands[defender]), self.limit)
        self.bout.face(attacker, defender, room, frozenset(throwers))

    # --- what must come next ---------------------------------------------------------------------

    def close_if_settled(self) -> None:
        """R7.1 to R7.3: the bout ends once nothing is open and no pass is awaited."""
        bout = self.bout
        if bout is None or not bout.rows or not (bout.taking or bout.is_beaten()):
            return
        if self.awaited(bout):
            return
        cards = bout.cards()
        if bout.taking:
            self.due = Due("took", "R7.2", (bout.defender, cards, TOOK_REASON_DECLARED))
        else:
            self.due = Due("discarded", "R7.1", (cards,))

    def punish(self, seat: int, *, cheat: bool) -> None:
        """R11.4: whoever was wrong picks up the table."""
        assert self.bout is not None
        reason = TOOK_REASON_CHEAT if cheat else TOOK_REASON_FALSE_ACCUSATION
        self.due = Due("took", "R11.4", (seat, self.bout.cards(), reason))

    def _draws(self, bout: Bout) -> list[tuple[int, list[int]]]:
        draws = []
        taken = 0
        for seat in self.clockwise(bout):
            cards = self.stock[taken : taken + max(0, 6 - len(self.hands[seat]))]
            if cards:
                draws.append((seat, cards))
                taken += len(cards)
        return draws

    def _after_bout(self, now_us: int) -> None:
        assert self.closed is not None
        draws = self._draws(self.closed) if self.stock else []
        if draws:
            self.due = Due("drew", "R8", tuple(draws))
        else:
            self._after_draws(now_us)

    def _after_draws(self, now_us: int) -> None:
        assert self.closed is not None
        out = [] if self.stock else [s for s in sorted(self.in_play) if not self.hands[s]]
        if len(out) == len(self.in_play) and not self.table.draw_allowed:
            out.remove(self.closed.defender)  # R9.4
        if out:
            place = sum(map(len, self.went_out)) + 1
            self.due = Due("went_out", "R9.1", (out, place))
        else:
            self._after_outs(now_us)

    def _after_outs(self, now_us: int) -> None:
        if len(self.in_play) <= 1 or self.dry_bouts >= DRY_BOUTS_MAX:
            seats = list(range(self.table.size))
            ending = score.settled(self.table.stake, seats, self.went_out, sorted(self.in_play))
            self.due = Due("finished", "R9", ending)
            return
        if self.leader not in self.in_play:
            self.leader = self.after(self.leader)  # R7.4
        self.bouts += 1
        self.bout = Bout(now_us)
        self.face(self.leader, self.after(self.leader))

    # --- carrying it out -------------------------------------------------------------------------

    def carry_out(self, kind: str, value: tuple[Any, ...], now_us: int) -> None:
        """Do what an event of this kind and content does; it need not have been due."""
        self.due = None
        if kind == "dealt":
            self._deal(value, now_us)
        elif kind == "discarded":
            self.dry_bouts = 0
            self.limit = 6  # R4.3: the table has seen its first successful defence
            assert self.bout is not None
            self._end_bout(self.bout.defender, now_us)
        elif kind == "took":
            self._pick_up(value[0], now_us)
        elif kind == "drew":
            for seat, cards in value:
                self.hands[seat].update(cards)
                self.stock = [card for card in self.stock if card not in cards]
            self._after_draws(now_us)
        elif kind == "went_out":
            assert self.closed is not None
            self.went_out.append([s for s in self.clockwise(self.closed) if s in value[0]])
            self.in_play.difference_update(value[0])
            self._after_outs(now_us)
        elif isinstance(value, Score):
            self.score = value
            self.is_ended = True
            self.bout = None

    def _deal(self, value: tuple[Any, ...], now_us: int) -> None:
        hands, trump_card, stock, first = value
        self.hands = [set(hand) for hand in hands]
        self.stock = list(stock)
        self.trump = SUIT[trump_card]
        self.in_play = set(range(self.table.size))
        self.leader = first
        self._after_outs(now_us)

    def _pick_up(self, seat: int, now_us: int) -> None:
        assert self.bout is not None
        self.hands[seat].update(self.bout.cards())
        self.dry_bouts += 1
        defender = self.bout.defender
        # R7.2, R11.4: the attack passes over a defender who takes. Who comes after them is known
        # once it is known who goes out, and R7.4 says the same of both.
        passed_over = (defender + 1) % self.table.size
        self._end_bout(passed_over if seat == defender else defender, now_us)

    def _end_bout(self, leader: int, now_us: int) -> None:
        self.closed, self.bout = self.bout, None
        self.leader = leader
        self._after_bout(now_us)

    def can_carry_out(self, kind: str, value: tuple[Any, ...]) -> bool:
        """Whether what the log says makes sense at all, so that one can go on from there."""
        if kind == "dealt":
            hands, trump_card, stock, first = value
            cards = [card for hand in hands for card in hand] + stock
            fits = len(hands) == self.table.size and all(len(hand) == 6 for hand in hands)
            whole = len(set(cards)) == len(cards) == self.table.deck
            return fits and whole and trump_card in cards and first < self.table.size
        if kind == "discarded":
            return self.bout is not None
        if kind == "took":
            return self.bout is not None and value[0] in self.in_play
        if kind == "drew":
            known = all(s in self.in_play and set(c) <= set(self.stock) for s, c in value)
            return self.closed is not None and known
        if kind == "went_out":
            return self.closed is not None and set(value[0]) <= self.in_play
        return True


_WHY: Final = MappingProxyType(
    {
        TOOK_REASON_DECLARED: "declared",
        TOOK_REASON_CHEAT: "caught cheating",
        TOOK_REASON_FALSE_ACCUSATION: "accused falsely",
    }
)


def describe(kind: str, value: tuple[Any, ...] | None) -> str:
    """What an event says, in words."""
    if value is None or kind in ("dealt", "finished"):
        return kind
    if kind == "discarded":
        return f"discarded {labels(value[0])}"
    if kind == "took":
        why = _WHY.get(value[2], f"reason {value[2]}")
        return f"seat {value[0]} took {labels(value[1])} ({why})"
    if kind == "drew":
        return "drew: " + "; ".join(f"seat {seat} {labels(cards)}" for seat, cards in value)
    return f"seats {', '.join(map(str, value[0]))} went out on place {value[1]}"
