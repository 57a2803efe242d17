"""How a sensible player plays who looks at their own hand, the table and the stock (R14.3).

Every card has a worth: low plain cards are a burden, high cards and trumps are kept. What they are
worth, and what it costs to lose the turn, depends on how much of the stock is left. All decisions
compare these numbers. They were found by play against itself and against the easy bot
(docs/bots.md).

Cards are packed by strength (`domain.bots.strength`).
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from domain.bots.strength import BEATS, MATES, PLAIN, RANK, Packed

Plan: TypeAlias = list[tuple[Packed, Packed]]
"""What to beat with what: (attack card, card)."""


_FAR: Final = 1e9


@dataclass(frozen=True, slots=True)
class Worths:
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
            for bit, rank in RANK.items()
        }


class Policy:
    """A way to play: which card to lead, throw in or beat with, and when to take."""

    __slots__ = ("_few", "_phases", "_press")

    def __init__(self, end: Worths, late: Worths, early: Worths, *, few: int, press: float) -> None:
        """Play by these worths: with no stock, with up to ``few`` cards in it, and with more.

        ``press``: how much rather a card is thrown in that seems to cost the defender a trump.
        """
        self._press = press
        self._few = few
        self._phases = tuple((worths, worths.of_cards()) for worths in (end, late, early))
        for _, worth in self._phases:  # the weakest card is the cheapest, which the choices use
            assert [*worth.values()] == sorted(worth.values())

    def _phase(self, stock: int) -> tuple[Worths, dict[Packed, float]]:
        return self._phases[0 if not stock else 1 if stock <= self._few else 2]

    def lead(self, hand: Packed, stock: int) -> Packed:
        """The card to lead; ``stock`` is the number of cards in the stock."""
        worths, worth = self._phase(stock)
        pair = worths.pair
        best, least = 0, _FAR
        while hand:
            card = hand & -hand
            price = worth[card]
            if price - 2 * pair >= least:
                break  # no rank from here on has mates enough
            mates = hand & MATES[card]
            if card & PLAIN:
                price -= pair * ((mates & PLAIN).bit_count() - 1)
            if price < least:
                best, least = card, price
            hand ^= mates & PLAIN or card
        return best

    def throw(self, fitting: Packed, stock: int, *, taking: bool, weak: Packed = 0) -> Packed:
        """The card of ``fitting`` to throw in, or 0 for none.

        ``weak`` are cards that the defender seems to have nothing plain against.
        """
        if not fitting:
            return 0
        worths, worth = self._phase(stock)
        best = fitting & -fitting
        price = worth[best]
        weak &= fitting
        if weak:
            pressing = weak & -weak
            if worth[pressing] - self._press < price:
                best, price = pressing, worth[pressing] - self._press
        return best if price < (worths.give if taking else worths.throw) else 0

    def answer(
        self, hand: Packed, unbeaten: list[Packed], table: Packed, ranks: Packed, stock: int
    ) -> tuple[Plan, float]:
        """What the defender beats with what, and what it is worth; no plan is to take.

        ``table`` are all cards on it, ``ranks`` all cards of a rank that is on it.
        """
        worths, worth = self._phase(stock)
        taken = -worths.turn - worths.burden * table.bit_count()
        while table:
            card = table & -table
            table ^= card
            taken += worth[card]
        plan: Plan = []
        value = 0.0
        for target in sorted(unbeaten, reverse=True):  # the hardest first
            options = BEATS[target] & hand
            if not options:
                return [], taken
            card = options & -options
            price = worth[card]
            if not card & ranks:
                price += worths.quiet
                known = options & ranks
                if known and worth[known & -known] < price:
                    card = known & -known
                    price = worth[card]
            plan.append((target, card))
            hand ^= card
            ranks |= MATES[card]
            value -= price
        return (plan, value) if value >= taken else ([], taken)

    def transfer(self, hand: Packed, led: Packed, stock: int) -> tuple[Packed, float]:
        """The card to transfer the attack with (0 where there is none), and what it is worth."""
        worths, worth = self._phase(stock)
        options = hand & MATES[led]
        card = options & -options
        return (card, worths.transfer - worth[card]) if card else (0, -_FAR)


NORMAL: Final = Policy(
    end=Worths(
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
    late=Worths(
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
    early=Worths(
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
