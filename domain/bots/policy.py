"""How a sensible player plays who looks at their own hand, the table and the stock (R14.3).

Every card has a worth: low plain cards are a burden, high cards and trumps are kept. What they are
worth, and what it costs to lose the turn, depends on how much of the stock is left. All decisions
compare these numbers. They were found by play against itself and against the easy bot
(docs/bots.md).

Cards are packed by strength (`domain.bots.strength`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from domain.bots.packed_cards import BEATERS_OF, PLAIN, RANK_INDEX, SAME_RANK, Packed

Plan: TypeAlias = list[tuple[Packed, Packed]]
"""What to beat with what: (attack card, card)."""

_FAR: Final = 1e9


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in one phase of a match, in units of nothing but each other.

    A plain card is worth ``plain`` for each rank above ``middle``; a trump ``trump``, and
    ``trump_rank`` for each rank above the eight. ``pair``: how much rather a card is led for each
    other card of its rank in the hand. A card is thrown in if it is worth less than ``throw``,
    or ``give`` where the defender takes. ``turn``: what taking costs, and ``burden`` for each card
    taken. ``quiet``: what a rank costs that was not on the table. ``transfer``: what it is worth
    to have the attack pass on.
    """

    plain: float
    middle: float
    trump: float
    trump_rank: float
    pair: float
    throw: float
    give: float
    turn: float
    burden: float
    quiet: float
    transfer: float

    def of_cards(self) -> dict[Packed, float]:
        """The worth of every card, by strength. No trump is worth less than an ace."""
        ace = self.plain * (12 - self.middle)
        return {
            bit: self.plain * (rank - self.middle)
            if bit & PLAIN
            else max(ace, self.trump + self.trump_rank * (rank - 6))
            for bit, rank in RANK_INDEX.items()
        }


class PhasePolicy:
    """A way to play in one phase: which card to lead, throw in or beat with, and when to take."""

    __slots__ = ("_give", "_pair", "_press", "_quiet", "_throw", "_worth", "_worths")

    def __init__(self, worths: Prices, press: float) -> None:
        """Play by these worths.

        ``press``: how much rather a card is thrown in that seems to cost the defender a trump.
        """
        self._worths = worths
        self._pair, self._quiet = worths.pair, worths.quiet
        self._throw, self._give = worths.throw, worths.give
        self._press = press
        self._worth = worth = worths.of_cards()
        # the weakest card is the cheapest, which the choices use
        assert [*worth.values()] == sorted(worth.values())

    def lead(self, hand: Packed) -> Packed:
        """The card to lead."""
        worth, pair = self._worth, self._pair
        best, least = 0, _FAR
        while hand:
            card = hand & -hand
            price = worth[card]
            if price - 2 * pair >= least:
                break  # no rank from here on has mates enough
            mates = hand & SAME_RANK[card]
            if card & PLAIN:
                price -= pair * ((mates & PLAIN).bit_count() - 1)
            if price < least:
                best, least = card, price
            hand ^= mates & PLAIN or card
        return best

    def throw(self, fitting: Packed, weak: Packed) -> Packed:
        """The card of ``fitting``, which has some, to throw in; 0 for none.

        ``weak`` are cards that the defender seems to have nothing plain against.
        """
        worth = self._worth
        best = fitting & -fitting
        price = worth[best]
        weak &= fitting
        if weak:
            pressing = weak & -weak
            if worth[pressing] - self._press < price:
                best, price = pressing, worth[pressing] - self._press
        return best if price < self._throw else 0

    def give(self, fitting: Packed) -> Packed:
        """The same where the defender takes."""
        card = fitting & -fitting
        return card if self._worth[card] < self._give else 0

    def answer(
        self,
        hand: Packed,
        unbeaten: Sequence[Packed],
        table: Packed,
        ranks: Packed,
        *,
        transfer: bool = False,
    ) -> Plan:
        """What the defender beats with what; nothing is to take, and to beat 0 is to transfer.

        ``table`` are all cards on it, ``ranks`` all cards of a rank that is on it; ``transfer``:
        whether the defender may.
        """
        plan, value = self._beat(hand, unbeaten, ranks)
        passed_on = hand & SAME_RANK[unbeaten[0]] if transfer else 0
        if not plan and not passed_on:
            return plan
        taken = self._taken(table)
        if value < taken:
            plan, value = [], taken
        card = passed_on & -passed_on
        if card and self._worths.transfer - self._worth[card] > value:
            return [(0, card)]
        return plan

    def _beat(self, hand: Packed, unbeaten: Sequence[Packed], ranks: Packed) -> tuple[Plan, float]:
        """How to beat everything, the hardest first, and what that is worth; no plan if it cannot.

        A card of a rank that is on the table already is rather spent.
        """
        worth, quiet = self._worth, self._quiet
        plan: Plan = []
        value = 0.0
        for target in unbeaten if len(unbeaten) == 1 else sorted(unbeaten, reverse=True):
            options = BEATERS_OF[target] & hand
            if not options:
                return [], -_FAR
            card = options & -options
            price = worth[card]
            if not card & ranks:
                price += quiet
                known = options & ranks
                if known and worth[known & -known] < price:
                    card = known & -known
                    price = worth[card]
            plan.append((target, card))
            hand ^= card
            ranks |= SAME_RANK[card]
            value -= price
        return plan, value

    def _taken(self, table: Packed) -> float:
        """What it is worth to take these cards."""
        worths, worth = self._worths, self._worth
        value = -worths.turn - worths.burden * table.bit_count()
        while table:
            card = table & -table
            table ^= card
            value += worth[card]
        return value


class Policy:
    """A way to play through a whole match."""

    __slots__ = ("_early", "_end", "_few", "_late")

    def __init__(self, end: Prices, late: Prices, early: Prices, *, few: int, press: float) -> None:
        """Play by these worths: with no stock, with up to ``few`` cards in it, and with more.

        ``press`` as for `Phase`.
        """
        self._end, self._late, self._early = (PhasePolicy(w, press) for w in (end, late, early))
        self._few = few

    def at(self, stock: int) -> PhasePolicy:
        """How to play with so many cards in the stock."""
        if not stock:
            return self._end
        return self._late if stock <= self._few else self._early


NORMAL: Final = Policy(
    end=Prices(
        plain=1.2,
        middle=12.0,
        trump=1.5,
        trump_rank=0.5,
        pair=2.5,
        throw=19.0,
        give=0.3,
        turn=8.8,
        burden=2.0,
        quiet=0.3,
        transfer=0.0,
    ),
    late=Prices(
        plain=0.5,
        middle=15.1,
        trump=2.5,
        trump_rank=0.3,
        pair=1.5,
        throw=7.0,
        give=1.4,
        turn=6.8,
        burden=0.0,
        quiet=0.3,
        transfer=-1.3,
    ),
    early=Prices(
        plain=0.3,
        middle=10.1,
        trump=13.5,
        trump_rank=0.6,
        pair=1.4,
        throw=4.8,
        give=0.6,
        turn=8.1,
        burden=0.9,
        quiet=0.1,
        transfer=2.0,
    ),
    few=5,
    press=2.0,
)
"""The normal bot's way to play."""
