"""Simulates matches with all cards open, in about a tenth of a millisecond each.

A simulation follows the rules (R4 to R9) for honest players who act in a fixed order: the defender
answers all cards at once, then the others throw in clockwise from the attacker. All seats follow
one policy. This is enough for playouts; real matches are decided by `domain.match.decide`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from domain.bots.packed_cards import BEATERS_OF, PLAIN, SAME_RANK, TRUMPS, Packed
from domain.bots.policy import PhasePolicy, Policy
from domain.match.deal import HAND_SIZE
from domain.match.state import ATTACK_CARDS_MAX, BOUTS_WITHOUT_DISCARD_MAX

DRAW: Final = -1


class Variant(NamedTuple):
    """The variant of durak: the settings of the table that affect play."""

    throw_in_all: bool = True
    transfers: bool = False
    draw_allowed: bool = True


class Simulation:
    """A match in progress with all cards open and packed.

    Attributes:
        hands: the cards of each seat, 0 for a seat that is out.
        stock: the stock; its last card is drawn next.
        in_play: the seats in play, ascending.
        attacker: the attacker. Without attack cards on the table, it leads next.
        defender: the defender.
        variant: the variant of durak.
        attacks_max: the maximum number of attack cards in a bout, regardless of hands (R4.3).
        cap: the maximum number of attack cards in this bout.
        attacks: the number of attack cards on the table.
        unbeaten: the attack cards that are not beaten.
        table: all cards on the table.
        ranks: all cards of the ranks on the table.
        weak: the plain cards that the defender probably cannot beat with a plain card.
        beaten: any attack card is beaten.
        taking: the defender has declared "take".
        passed: the seats that have passed, as a bit mask.
        bouts: the number of bouts played in the simulation.
        bouts_without_discard: the bouts in a row that ended without a discard (R9.5).
    """

    __slots__ = (
        "attacker",
        "attacks",
        "attacks_max",
        "beaten",
        "bouts",
        "bouts_without_discard",
        "cap",
        "defender",
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
        """Start a bout with all of these seats in play."""
        self.hands = hands
        self.stock = stock
        self.in_play = list(range(len(hands)))
        self.attacker = attacker
        self.variant = variant
        self.attacks_max = attacks_max
        self.bouts_without_discard = 0
        self.bouts = 0
        self._start_bout()

    def copy(self) -> Simulation:
        """Return an independent copy."""
        twin = Simulation(
            self.hands.copy(), self.stock.copy(), self.attacker, self.variant, self.attacks_max
        )
        twin.in_play = self.in_play  # shared: the list is replaced, never changed
        twin.bouts_without_discard = self.bouts_without_discard
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
        """Return the next seat in play."""
        in_play = self.in_play
        if len(in_play) == 2:
            return in_play[0] if in_play[1] == seat else in_play[1]
        at = in_play.index(seat) + 1
        return in_play[at] if at < len(in_play) else in_play[0]

    def _start_bout(self) -> None:
        """Start a bout with an empty table."""
        self.table = self.ranks = self.weak = 0
        self.unbeaten = []
        self.attacks = self.passed = 0
        self.beaten = self.taking = False
        self._set_defender(self.after(self.attacker))

    def _set_defender(self, defender: int) -> None:
        self.defender = defender
        held = self.hands[defender].bit_count()
        self.cap = min(held, self.attacks_max)

    # --- moves ---------------------------------------------------------------------------------

    def attack(self, seat: int, card: Packed) -> None:
        """Lead a card or throw it in."""
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
        """Transfer the attack (R6)."""
        seat = self.defender
        self.attack(seat, card)
        self.attacker = seat
        self._set_defender(self.after(seat))

    def can_transfer(self) -> bool:
        """Return whether a transfer is allowed, given a card of the right rank (R6.1, R6.2)."""
        if not self.variant.transfers or self.beaten or self.taking:
            return False
        held = self.hands[self.after(self.defender)].bit_count()
        return min(held, self.attacks_max) > self.attacks

    # --- playouts ------------------------------------------------------------------------------

    def play_out(self, policy: Policy) -> int:
        """Play to the end. Return the durak's seat, or DRAW between the seats ``in_play``."""
        while True:
            durak = self.play_bout(policy)
            if durak is not None:
                return durak

    def play_bout(self, policy: Policy) -> int | None:
        """Play the bout to its end. Return the durak, DRAW, or None if the match goes on."""
        phase = policy.for_stock(len(self.stock), len(self.in_play))
        if not self.attacks:
            self.attack(self.attacker, phase.lead(self.hands[self.attacker]))
        while True:
            if self.unbeaten and not self.taking:
                self._defend(phase)
            if self.attacks >= self.cap or not self._throw_in(phase):
                return self.close()

    def _defend(self, phase: PhasePolicy) -> None:
        """Let the defender beat everything, transfer or take."""
        hands, defender, table, ranks = self.hands, self.defender, self.table, self.ranks
        transfer = self.can_transfer() if self.variant.transfers else False
        plan = phase.defend(hands[defender], self.unbeaten, table, ranks, transfer=transfer)
        if not plan:
            self.taking = True
            return
        if not plan[0][0]:
            self.transfer(plan[0][1])
            self._defend(phase)
            return
        for target, card in plan:  # the same as `beat` for each, but faster
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
        """Let the throwers add one card. Return whether one of them did."""
        hands, ranks, passed, taking = self.hands, self.ranks, self.passed, self.taking
        for seat in self.throwers():
            fitting = hands[seat] & ranks
            if fitting and not (passed and passed >> seat & 1):
                card = phase.add_to_take(fitting) if taking else phase.throw_in(fitting, self.weak)
                if card:
                    self.attack(seat, card)
                    return True
        return False

    def throwers(self) -> list[int]:
        """Return the seats that may throw in, clockwise from the attacker (R5.2)."""
        in_play = self.in_play
        if len(in_play) == 2:
            return [self.attacker]
        at = in_play.index(self.attacker)
        order = in_play[at:] + in_play[:at]
        order.remove(self.defender)
        if self.variant.throw_in_all or len(in_play) == 3:
            return order
        at = in_play.index(self.defender)
        beside = (in_play[at - 1], self.after(self.defender))
        return [seat for seat in order if seat in beside]

    def close(self) -> int | None:
        """Close the bout and draw (R7, R8). Return the result (R9), None if the match goes on."""
        self.bouts += 1
        defender = self.defender
        if self.taking:
            self.hands[defender] |= self.table
            self.bouts_without_discard += 1
            leader = self.after(defender)
        else:
            self.bouts_without_discard = 0
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
        if self.bouts_without_discard >= BOUTS_WITHOUT_DISCARD_MAX:
            return DRAW
        self.attacker = leader
        self._start_bout()
        return None

    def _draw(self) -> None:
        """Fill the hands: the attacker first, the defender last (R8)."""
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
