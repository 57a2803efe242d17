"""One way in which the cards of a match may lie, and how the match then goes.

A world is played to its end in a tenth of a millisecond, with every seat following one policy. It
keeps to the rules (R4–R9) for honest players who act in a fixed order: the defender answers
everything at once, then the others throw in from the attacker on clockwise. That is all that a
play-out needs; real matches are decided by `domain.match.decide`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from domain.bots.packed_cards import BEATERS_OF, PLAIN, SAME_RANK, TRUMPS, Packed
from domain.bots.policy import PhasePolicy, Policy
from domain.match.deal import HAND_SIZE
from domain.match.state import ATTACK_CARDS_MAX, DRY_BOUTS_MAX

DRAW: Final = -1


class Variant(NamedTuple):
    """The kind of durak: what the settings of the table say of play."""

    throw_in_all: bool = True
    transfers: bool = False
    draw_allowed: bool = True


class Simulation:
    """A match at some moment with all cards open, packed by strength.

    ``hands`` is by seat (0 for seats that are out), ``stock`` ends with the card drawn next,
    ``in_play`` has the seats in play, rising. ``attacks`` is the number of attack cards on the
    table, ``unbeaten`` those that nothing has beaten yet, ``passed`` the seats that have passed,
    as a bit mask. With no attacks the attacker leads next. ``beaten`` is whether any card is,
    ``weak`` what the defender seems to have nothing plain against, having spent a trump.
    """

    __slots__ = (
        "attacker",
        "attacks",
        "attacks_max",
        "beaten",
        "bouts",
        "cap",
        "defender",
        "dry_bouts",
        "hands",
        "in_play",
        "passed",
        "ranks",
        "stock",
        "table",
        "taking",
        "unbeaten",
        "variant",
        "weak",
    )

    hands: list[Packed]
    stock: list[Packed]
    in_play: list[int]
    unbeaten: list[Packed]
    table: Packed
    ranks: Packed
    weak: Packed

    def __init__(
        self,
        hands: list[Packed],
        stock: list[Packed],
        attacker: int,
        variant: Variant,
        attacks_max: int = ATTACK_CARDS_MAX,
    ) -> None:
        """The start of a bout in which all of these seats are in play."""
        self.hands = hands
        self.stock = stock
        self.in_play = list(range(len(hands)))
        self.attacker = attacker
        self.variant = variant
        self.attacks_max = attacks_max
        self.dry_bouts = 0
        self.bouts = 0
        self._clear()

    def copy(self) -> Simulation:
        """An independent copy."""
        twin = Simulation.__new__(Simulation)
        twin.hands = self.hands.copy()
        twin.stock = self.stock.copy()
        twin.in_play = self.in_play  # replaced, never changed
        twin.attacker = self.attacker
        twin.variant = self.variant
        twin.attacks_max = self.attacks_max
        twin.dry_bouts = self.dry_bouts
        twin.bouts = self.bouts
        twin.table = self.table
        twin.ranks = self.ranks
        twin.weak = self.weak
        twin.unbeaten = self.unbeaten.copy()
        twin.attacks = self.attacks
        twin.beaten = self.beaten
        twin.taking = self.taking
        twin.passed = self.passed
        twin.defender = self.defender
        twin.cap = self.cap
        return twin

    def after(self, seat: int) -> int:
        """The next seat in play."""
        in_play = self.in_play
        if len(in_play) == 2:
            return in_play[0] if in_play[1] == seat else in_play[1]
        at = in_play.index(seat) + 1
        return in_play[at] if at < len(in_play) else in_play[0]

    def _clear(self) -> None:
        """Begin a bout."""
        self.table = self.ranks = self.weak = 0
        self.unbeaten = []
        self.attacks = self.passed = 0
        self.beaten = self.taking = False
        self._face(self.after(self.attacker))

    def _face(self, defender: int) -> None:
        self.defender = defender
        held = self.hands[defender].bit_count()
        self.cap = min(held, self.attacks_max)

    # --- moves ---------------------------------------------------------------------------------

    def attack(self, seat: int, card: Packed) -> None:
        """Lead, or throw in."""
        self.hands[seat] ^= card
        self.table |= card
        self.ranks |= SAME_RANK[card]
        self.passed = 0
        self.unbeaten.append(card)
        self.attacks += 1

    def beat(self, target: Packed, card: Packed) -> None:
        """Beat one attack card."""
        self.hands[self.defender] ^= card
        self.table |= card
        self.ranks |= SAME_RANK[card]
        self.passed = 0
        self.unbeaten.remove(target)
        self.beaten = True
        if card & TRUMPS:
            self.weak |= BEATERS_OF[target] & PLAIN

    def transfer(self, card: Packed) -> None:
        """Pass the attack on (R6)."""
        seat = self.defender
        self.attack(seat, card)
        self.attacker = seat
        self._face(self.after(seat))

    def can_transfer(self) -> bool:
        """R6.1 and R6.2, but for holding a card of the rank."""
        if not self.variant.transfers or self.beaten or self.taking:
            return False
        held = self.hands[self.after(self.defender)].bit_count()
        return min(held, self.attacks_max) > self.attacks

    # --- playing on ----------------------------------------------------------------------------

    def play_out(self, policy: Policy) -> int:
        """Play to the end. Gives the durak's seat, or DRAW; `in_play` are the last in play."""
        while True:
            durak = self.play_bout(policy)
            if durak is not None:
                return durak

    def play_bout(self, policy: Policy) -> int | None:
        """Play until nobody adds anything, and close the bout. None if the match goes on."""
        phase = policy.at(len(self.stock))
        if not self.attacks:
            self.attack(self.attacker, phase.lead(self.hands[self.attacker]))
        while True:
            if self.unbeaten and not self.taking:
                self._answer(phase)
            if self.attacks >= self.cap or not self._throw_in(phase):
                return self._close()

    def _answer(self, phase: PhasePolicy) -> None:
        """The defender beats everything, transfers, or takes."""
        hands, defender, table, ranks = self.hands, self.defender, self.table, self.ranks
        transfer = self.can_transfer() if self.variant.transfers else False
        plan = phase.answer(hands[defender], self.unbeaten, table, ranks, transfer=transfer)
        if not plan:
            self.taking = True
            return
        if not plan[0][0]:
            self.transfer(plan[0][1])
            self._answer(phase)
            return
        for target, card in plan:  # `beat` for all at once
            hands[defender] ^= card
            table |= card
            ranks |= SAME_RANK[card]
            if card > PLAIN:
                self.weak |= BEATERS_OF[target] & PLAIN
        self.table, self.ranks = table, ranks
        self.unbeaten = []
        self.beaten = True
        self.passed = 0

    def _throw_in(self, phase: PhasePolicy) -> bool:
        """Let the throwers add one card, if any wants to."""
        hands, ranks, passed, taking = self.hands, self.ranks, self.passed, self.taking
        for seat in (self.attacker,) if len(self.in_play) == 2 else self._throwers():
            fitting = hands[seat] & ranks
            if fitting and not (passed and passed >> seat & 1):
                card = phase.give(fitting) if taking else phase.throw(fitting, self.weak)
                if card:
                    self.attack(seat, card)
                    return True
        return False

    def _throwers(self) -> list[int]:
        """Who of three or more may throw in (R5.2), from the attacker on clockwise."""
        in_play = self.in_play
        at = in_play.index(self.attacker)
        order = in_play[at:] + in_play[:at]
        order.remove(self.defender)
        if self.variant.throw_in_all or len(in_play) == 3:
            return order
        at = in_play.index(self.defender)
        beside = (in_play[at - 1], self.after(self.defender))
        return [seat for seat in order if seat in beside]

    def _close(self) -> int | None:
        """End the bout, draw, and read the result (R7–R9); None if the match goes on."""
        self.bouts += 1
        defender = self.defender
        if self.taking:
            self.hands[defender] |= self.table
            self.dry_bouts += 1
            leader = self.after(defender)
        else:
            self.dry_bouts = 0
            self.attacks_max = ATTACK_CARDS_MAX
            leader = defender
        if self.stock:
            self._draw()
        if not self.stock:
            hands, in_play = self.hands, self.in_play
            holding = [seat for seat in in_play if hands[seat]]
            if len(holding) < 2:
                if holding:
                    return holding[0]
                return DRAW if self.variant.draw_allowed else defender
            if len(holding) < len(in_play):
                while not hands[leader]:
                    leader = self.after(leader)
                self.in_play = holding
        if self.dry_bouts >= DRY_BOUTS_MAX:
            return DRAW
        self.attacker = leader
        self._clear()
        return None

    def _draw(self) -> None:
        """Fill up the hands: the attacker first, the defender last (R8)."""
        in_play, defender = self.in_play, self.defender
        if len(in_play) == 2:
            self._fill(self.attacker)
        else:
            at = in_play.index(self.attacker)
            for seat in in_play[at:] + in_play[:at]:
                if seat != defender:
                    self._fill(seat)
        self._fill(defender)

    def _fill(self, seat: int) -> None:
        hand, stock = self.hands[seat], self.stock
        need = min(HAND_SIZE - hand.bit_count(), len(stock))
        if need > 0:
            for card in stock[-need:]:
                hand |= card
            del stock[-need:]
            self.hands[seat] = hand
