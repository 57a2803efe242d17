"""A policy: how a sensible player plays from their own hand, the table and the stock (R14.3).

Every card has a value: low plain cards are a burden, high cards and trumps are worth keeping. Card
values, and the cost of losing the turn, depend on how much of the stock is left, and at the end on
how many seats are in play. All decisions compare these numbers. The prices of the normal bot were
tuned by play against itself and against the easy bot (docs/bots.md).

Cards are packed (`domain.bots.packed_cards`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from domain.bots.packed_cards import BEATERS_OF, PLAIN, RANK_INDEX, SAME_RANK, Packed

Plan: TypeAlias = list[tuple[Packed, Packed]]
"""The defender's plan: (attack card, card that beats it) for each card. Empty: take. An attack card
of 0: transfer with the card."""

CROWD: Final = 4
"""With this many seats in play a policy keeps its trumps: others throw in anyway."""
_FAR: Final = 1e9


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices in one phase of a match. Only their ratios matter.

    Attributes:
        plain: value of a plain card for each rank above ``middle``.
        middle: the rank of a plain card without value, 0 for a two to 12 for an ace.
        trump: value of the trump eight.
        trump_rank: value of a trump for each rank above the eight.
        pair: discount on leading a card for each other card of its rank in the hand.
        throw_in: a card is thrown in if it is worth less than this.
        add_to_take: a card is added to a take if it is worth less than this.
        turn: cost of taking, for the lost turn.
        burden: cost of taking, for each card.
        new_rank: cost of showing a rank that is not on the table.
        transfer: value of a transfer.
    """

    plain: float
    middle: float
    trump: float
    trump_rank: float
    pair: float
    throw_in: float
    add_to_take: float
    turn: float
    burden: float
    new_rank: float
    transfer: float

    def card_values(self) -> dict[Packed, float]:
        """Return the value of every packed card. No trump is worth less than an ace."""
        ace = self.plain * (12 - self.middle)
        return {
            bit: self.plain * (rank - self.middle)
            if bit & PLAIN
            else max(ace, self.trump + self.trump_rank * (rank - 6))
            for bit, rank in RANK_INDEX.items()
        }


class PhasePolicy:
    """The policy in one phase: which card to lead, throw in or beat with, and when to take."""

    __slots__ = ("_add_to_take", "_new_rank", "_pair", "_press", "_prices", "_throw_in", "_values")

    def __init__(self, prices: Prices, press: float) -> None:
        """Play by these prices.

        ``press`` is the discount on throwing in a card that probably costs the defender a trump.
        """
        self._prices = prices
        self._pair, self._new_rank = prices.pair, prices.new_rank
        self._throw_in, self._add_to_take = prices.throw_in, prices.add_to_take
        self._press = press
        self._values = values = prices.card_values()
        # The choices below rely on the weakest card being the cheapest.
        assert [*values.values()] == sorted(values.values())

    def lead(self, hand: Packed) -> Packed:
        """Return the card to lead."""
        values, pair = self._values, self._pair
        best, least = 0, _FAR
        while hand:
            card = hand & -hand
            price = values[card]
            if price - 2 * pair >= least:
                break  # no later rank has enough cards to be cheaper
            same_rank = hand & SAME_RANK[card]
            if card & PLAIN:
                price -= pair * ((same_rank & PLAIN).bit_count() - 1)
            if price < least:
                best, least = card, price
            hand ^= same_rank & PLAIN or card
        return best

    def throw_in(self, fitting: Packed, weak: Packed) -> Packed:
        """Return the card to throw in, or 0 for none.

        ``fitting`` are the cards that can be thrown in, at least one. ``weak`` are the cards that
        the defender probably cannot beat with a plain card.
        """
        values = self._values
        best = fitting & -fitting
        price = values[best]
        weak &= fitting
        if weak:
            pressing = weak & -weak
            if values[pressing] - self._press < price:
                best, price = pressing, values[pressing] - self._press
        return best if price < self._throw_in else 0

    def add_to_take(self, fitting: Packed) -> Packed:
        """Return the card to add when the defender takes, or 0 for none."""
        card = fitting & -fitting
        return card if self._values[card] < self._add_to_take else 0

    def defend(
        self,
        hand: Packed,
        unbeaten: Sequence[Packed],
        table: Packed,
        ranks: Packed,
        *,
        transfer: bool = False,
    ) -> Plan:
        """Return the defender's plan: beat everything, transfer, or take (an empty plan).

        Args:
            hand: the defender's cards.
            unbeaten: the attack cards to beat.
            table: all cards on the table.
            ranks: all cards of the ranks on the table.
            transfer: a transfer is allowed, given a card of the right rank.
        """
        plan, value = self._beat(hand, unbeaten, ranks)
        transferable = hand & SAME_RANK[unbeaten[0]] if transfer else 0
        if not plan and not transferable:
            return plan
        taken = self._taken(table)
        if value < taken:
            plan, value = [], taken
        card = transferable & -transferable
        if card and self._prices.transfer - self._values[card] > value:
            return [(0, card)]
        return plan

    def _beat(self, hand: Packed, unbeaten: Sequence[Packed], ranks: Packed) -> tuple[Plan, float]:
        """Return a plan that beats everything, and its value. The plan is empty if there is no way.

        The strongest attack cards are beaten first. Cards of ranks on the table are preferred.
        """
        values, new_rank = self._values, self._new_rank
        plan: Plan = []
        value = 0.0
        for target in unbeaten if len(unbeaten) == 1 else sorted(unbeaten, reverse=True):
            options = BEATERS_OF[target] & hand
            if not options:
                return [], -_FAR
            card = options & -options
            price = values[card]
            if not card & ranks:
                price += new_rank
                known = options & ranks
                if known and values[known & -known] < price:
                    card = known & -known
                    price = values[card]
            plan.append((target, card))
            hand ^= card
            ranks |= SAME_RANK[card]
            value -= price
        return plan, value

    def _taken(self, table: Packed) -> float:
        """Return the value of taking these cards."""
        prices, values = self._prices, self._values
        value = -prices.turn - prices.burden * table.bit_count()
        while table:
            card = table & -table
            table ^= card
            value += values[card]
        return value


class Policy:
    """A policy for a whole match."""

    __slots__ = ("_crowd_end", "_crowd_late", "_early", "_end", "_few", "_late")

    def __init__(
        self,
        end: Prices,
        late: Prices,
        early: Prices,
        crowd_end: Prices,
        crowd_late: Prices,
        *,
        few: int,
        press: float,
    ) -> None:
        """Play by these prices.

        Args:
            end: the prices without a stock.
            late: the prices with up to ``few`` cards in the stock.
            early: the prices with more cards in the stock.
            crowd_end: the prices without a stock while `CROWD` seats are in play.
            crowd_late: the same with up to ``few`` cards in the stock.
            few: the boundary between late and early.
            press: see `PhasePolicy`.
        """
        self._end, self._late, self._early = (
            PhasePolicy(prices, press) for prices in (end, late, early)
        )
        self._crowd_end, self._crowd_late = (
            PhasePolicy(prices, press) for prices in (crowd_end, crowd_late)
        )
        self._few = few

    def for_stock(self, stock: int, in_play: int) -> PhasePolicy:
        """Return the policy for this number of cards in the stock and of seats in play."""
        if stock > self._few:
            return self._early
        if in_play >= CROWD:
            return self._crowd_late if stock else self._crowd_end
        return self._late if stock else self._end


_END: Final = Prices(
    plain=1.2,
    middle=12.0,
    trump=1.5,
    trump_rank=0.5,
    pair=2.5,
    throw_in=19.0,
    add_to_take=0.3,
    turn=8.8,
    burden=2.0,
    new_rank=0.3,
    transfer=0.0,
)
_LATE: Final = Prices(
    plain=0.5,
    middle=15.1,
    trump=2.5,
    trump_rank=0.3,
    pair=1.5,
    throw_in=7.0,
    add_to_take=1.4,
    turn=6.8,
    burden=0.0,
    new_rank=0.3,
    transfer=-1.3,
)
NORMAL: Final = Policy(
    end=_END,
    late=_LATE,
    early=Prices(
        plain=0.3,
        middle=10.1,
        trump=13.5,
        trump_rank=0.6,
        pair=1.4,
        throw_in=4.8,
        add_to_take=0.6,
        turn=8.1,
        burden=0.9,
        new_rank=0.1,
        transfer=2.0,
    ),
    crowd_end=replace(_END, plain=2.0, trump=3.0, trump_rank=1.0, pair=0.05, throw_in=0.5),
    crowd_late=replace(_LATE, throw_in=1.0, pair=0.05),
    few=5,
    press=2.0,
)
"""The policy of the normal bot."""
