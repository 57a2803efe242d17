"""One way in which the cards of a match may lie, and how the match then goes.

A world is played to its end in a tenth of a millisecond, with every seat following one policy. It
keeps to the rules (R4–R9) for honest players who act in a fixed order: the defender answers
everything at once, then the others throw in from the attacker on clockwise. That is all that a
play-out needs; real matches are decided by `domain.decide`.
"""

from __future__ import annotations

from typing import Final

from domain.bots.policy import Policy
from domain.bots.strength import BEATS, MATES, PLAIN, TRUMPS, Packed
from domain.deal import HAND_SIZE
from domain.state import ATTACK_CARDS_MAX, DRY_BOUTS_MAX

DRAW: Final = -1


class World:
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
        "draw_allowed",
        "dry_bouts",
        "hands",
        "in_play",
        "passed",
        "ranks",
        "stock",
        "table",
        "taking",
        "throw_in_all",
        "transfers",
        "unbeaten",
        "weak",
    )

    hands: list[Packed]
    stock: list[Packed]
    in_play: list[int]
    unbeaten: list[Packed]
    table: Packed
    ranks: Packed

    def __init__(
        self,
        hands: list[Packed],
        stock: list[Packed],
        attacker: int,
        *,
        throw_in_all: bool = True,
        transfers: bool = False,
        draw_allowed: bool = True,
        attacks_max: int = ATTACK_CARDS_MAX,
    ) -> None:
        """The start of a bout in which all of these seats are in play."""
        self.hands = hands
        self.stock = stock
        self.in_play = list(range(len(hands)))
        self.attacker = attacker
        self.throw_in_all = throw_in_all
        self.transfers = transfers
        self.draw_allowed = draw_allowed
        self.attacks_max = attacks_max
        self.dry_bouts = 0
        self.bouts = 0
        self.clear()

    def clear(self) -> None:
        """Begin a bout."""
        self.table = self.ranks = self.weak = 0
        self.unbeaten = []
        self.attacks = 0
        self.beaten = self.taking = False
        self.passed = 0
        self._face(self.after(self.attacker))

    def copy(self) -> World:
        """An independent copy."""
        twin = World.__new__(World)
        for slot in World.__slots__:
            setattr(twin, slot, getattr(self, slot))
        twin.hands = self.hands.copy()
        twin.stock = self.stock.copy()
        twin.in_play = self.in_play.copy()
        twin.unbeaten = self.unbeaten.copy()
        return twin

    def after(self, seat: int) -> int:
        """The next seat in play."""
        in_play = self.in_play
        at = in_play.index(seat) + 1
        return in_play[at] if at < len(in_play) else in_play[0]

    def _face(self, defender: int) -> None:
        self.defender = defender
        self.cap = min(self.hands[defender].bit_count(), self.attacks_max)

    # --- moves ---------------------------------------------------------------------------------

    def attack(self, seat: int, card: Packed) -> None:
        """Lead, or throw in."""
        self._lay(seat, card)
        self.unbeaten.append(card)
        self.attacks += 1

    def beat(self, target: Packed, card: Packed) -> None:
        """Beat one attack card."""
        self._lay(self.defender, card)
        self.unbeaten.remove(target)
        self.beaten = True
        if card & TRUMPS:
            self.weak |= BEATS[target] & PLAIN

    def transfer(self, card: Packed) -> None:
        """Pass the attack on (R6)."""
        seat = self.defender
        self.attack(seat, card)
        self.attacker = seat
        self._face(self.after(seat))

    def can_transfer(self) -> bool:
        """R6.1 and R6.2, but for holding a card of the rank."""
        if not self.transfers or self.beaten or self.taking:
            return False
        held = self.hands[self.after(self.defender)].bit_count()
        return min(held, self.attacks_max) > self.attacks

    def _lay(self, seat: int, card: Packed) -> None:
        self.hands[seat] ^= card
        self.table |= card
        self.ranks |= MATES[card]
        self.passed = 0

    # --- playing on ----------------------------------------------------------------------------

    def play_out(self, policy: Policy) -> int:
        """Play to the end. Gives the durak's seat, or DRAW; `in_play` are the last in play."""
        while True:
            self._play_bout(policy)
            durak = self._close()
            if durak is not None:
                return durak

    def _play_bout(self, policy: Policy) -> None:
        """Until nobody adds anything."""
        if not self.attacks:
            self.attack(self.attacker, policy.lead(self.hands[self.attacker], len(self.stock)))
        while True:
            if self.unbeaten and not self.taking:
                self._answer(policy)
            if self.attacks >= self.cap or not self._throw_in(policy):
                return

    def _answer(self, policy: Policy) -> None:
        """The defender beats everything, transfers, or takes."""
        hand = self.hands[self.defender]
        stock = len(self.stock)
        plan, value = policy.answer(hand, self.unbeaten, self.table, self.ranks, stock)
        if self.transfers and self.can_transfer():
            card, worth = policy.transfer(hand, self.unbeaten[0], stock)
            if card and worth > value:
                self.transfer(card)
                self._answer(policy)
                return
        self.taking = not plan
        for target, card in plan:
            self.beat(target, card)

    def _throw_in(self, policy: Policy) -> bool:
        """Let the throwers add one card, if any wants to."""
        ranks, stock, taking = self.ranks, len(self.stock), self.taking
        weak = 0 if taking else self.weak
        for seat in self._throwers():
            fitting = self.hands[seat] & ranks
            if fitting and not self.passed >> seat & 1:
                card = policy.throw(fitting, stock, taking=taking, weak=weak)
                if card:
                    self.attack(seat, card)
                    return True
        return False

    def _throwers(self) -> list[int]:
        """Who may throw in (R5.2), from the attacker on clockwise."""
        in_play = self.in_play
        if len(in_play) == 2:
            return [self.attacker]
        at = in_play.index(self.attacker)
        order = in_play[at:] + in_play[:at]
        order.remove(self.defender)
        if self.throw_in_all or len(in_play) == 3:
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
                return DRAW if self.draw_allowed else defender
            if len(holding) < len(in_play):
                while not hands[leader]:
                    leader = self.after(leader)
                self.in_play = holding
        if self.dry_bouts >= DRY_BOUTS_MAX:
            return DRAW
        self.attacker = leader
        self.clear()
        return None

    def _draw(self) -> None:
        """Fill up the hands: the attacker first, the defender last (R8)."""
        hands, stock = self.hands, self.stock
        at = self.in_play.index(self.attacker)
        order = self.in_play[at:] + self.in_play[:at]
        order.remove(self.defender)
        order.append(self.defender)
        for seat in order:
            need = HAND_SIZE - hands[seat].bit_count()
            while need > 0 and stock:
                hands[seat] |= stock.pop()
                need -= 1
