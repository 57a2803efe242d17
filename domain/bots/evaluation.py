"""Evaluates hands while there is a stock (R14.4).

Every hand gets a value. Of all seats in play, seat s is the durak with a probability proportional
to exp(-value of s). The weights are a logistic regression over the bouts of matches that the normal
bot played against itself (docs/bots.md).
"""

from math import exp
from types import MappingProxyType
from typing import Final, NamedTuple

from domain.bots.packed_cards import PLAIN, RANK_INDEX, Packed
from domain.bots.simulation import Simulation
from durak.v1.settings_pb2 import Deck

_LOWEST_RANK: Final = {Deck.DECK_24: 7, Deck.DECK_36: 4, Deck.DECK_52: 0}
_ACE: Final = 12
_LOWEST_OF_RANK: Final = sum(1 << 3 * rank for rank in range(13))


class Weights(NamedTuple):
    """The weights for one phase of a match, in log-odds.

    A plain card has the value ``plain + low * d + low2 * d * d``, where d is its distance below the
    ace: 0 for an ace, 1 for the lowest rank of the deck. The same holds for a trump with
    ``trump``, ``trump_low`` and ``trump_low2``. ``lead`` is added for the next attacker, ``pair``
    for each plain card whose rank the hand already has.
    """

    lead: float
    pair: float
    plain: float
    low: float
    low2: float
    trump: float
    trump_low: float
    trump_low2: float

    def card_values(self, deck: Deck.ValueType) -> dict[Packed, float]:
        """Return the value of every packed card."""
        values = {}
        for card, rank in RANK_INDEX.items():
            below = (_ACE - rank) / (_ACE - _LOWEST_RANK[deck])
            if card & PLAIN:
                values[card] = self.plain + below * (self.low + below * self.low2)
            else:
                values[card] = self.trump + below * (self.trump_low + below * self.trump_low2)
        return values


_PHASES: Final = (  # (maximum number of stock cards per seat in play, weights)
    (1, Weights(0.313, 0.394, -0.326, -0.216, -0.262, 0.721, -1.262, 0.765)),
    (3, Weights(0.204, 0.096, -0.154, -0.186, -0.161, 0.533, -1.107, 0.735)),
    (6, Weights(0.065, 0.027, -0.169, -0.051, -0.038, 0.421, -1.027, 0.669)),
    (99, Weights(0.054, 0.043, -0.116, 0.069, -0.104, 0.405, -1.014, 0.674)),
)


class HandEvaluator:
    """Evaluates hands of one deck."""

    __slots__ = ("_phases",)

    def __init__(self, deck: Deck.ValueType) -> None:
        """Prepare the card values of a deck."""
        self._phases = [(most, weights, weights.card_values(deck)) for most, weights in _PHASES]

    def chances(self, simulation: Simulation) -> list[float]:
        """Return the probability of each seat that it does not become the durak.

        The simulation is at the start of a bout.
        """
        in_play = simulation.in_play
        share = len(simulation.stock) / len(in_play)
        weights, values = next((w, cards) for most, w, cards in self._phases if share <= most)
        odds = [0.0] * len(simulation.hands)
        total = 0.0
        for seat in in_play:
            hand = simulation.hands[seat]
            plain = hand & PLAIN
            ranks = (plain | plain >> 1 | plain >> 2) & _LOWEST_OF_RANK
            value = weights.pair * (plain.bit_count() - ranks.bit_count())
            if seat == simulation.attacker:
                value += weights.lead
            while hand:
                card = hand & -hand
                hand ^= card
                value += values[card]
            odds[seat] = exp(-value)
            total += odds[seat]
        return [1.0 - own / total for own in odds]


HAND_EVALUATORS: Final = MappingProxyType({deck: HandEvaluator(deck) for deck in _LOWEST_RANK})
"""Evaluator by deck."""
