"""Determinization: samples the hidden cards in agreement with all that a seat knows (R14.4).

Each sample is a `Simulation` with all cards open, which a bot can play out.
"""

from dataclasses import dataclass
from typing import Final

from domain.bots.card_memory import CardMemory
from domain.bots.observation import observe
from domain.bots.packed_cards import Packed, pack_mask, split
from domain.bots.simulation import Simulation, Variant
from domain.match.state import ATTACK_CARDS_MAX, OPENING_ATTACK_CARDS_MAX
from durak.v1.settings_pb2 import ThrowIn
from durak.v1.table_pb2 import TableView

_STATE_MASK: Final = (1 << 64) - 1
MISSING_BELIEF: Final = 0.8
"""The probability that a seat does not hold a card that it seems to be missing. Measured on normal
bots (docs/bots.md)."""


class SeededRandom:
    """Pseudo-random numbers: a 64-bit linear congruential generator (Knuth's MMIX)."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        """Start from the lowest 64 bits of ``seed``."""
        self._state = seed & _STATE_MASK

    def below(self, count: int) -> int:
        """Return a number from 0 to ``count`` - 1."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _STATE_MASK
        return (self._state >> 33) % count

    def shuffle(self, cards: list[Packed]) -> None:
        """Shuffle a list in place (Fisher-Yates)."""
        state = self._state
        for last in range(len(cards) - 1, 0, -1):
            state = (state * 6364136223846793005 + 1442695040888963407) & _STATE_MASK
            other = (state >> 33) % (last + 1)
            cards[last], cards[other] = cards[other], cards[last]
        self._state = state


@dataclass(frozen=True, slots=True)
class HiddenHand:
    """The unknown cards of a hand.

    Attributes:
        seat: the seat that holds them.
        count: their number.
        drawn_since: how many of them may have been drawn after the seat seemed to miss cards.
        missing: the unseen cards that the seat seems to be missing.
    """

    seat: int
    count: int
    drawn_since: int
    missing: Packed


class Determinizer:
    """Samples the hidden cards of a match.

    All arrangements of the hidden cards are equally likely, except that a hand seldom gets cards
    that it seems to be missing.
    """

    def __init__(self, view: TableView, memory: CardMemory) -> None:
        """Prepare samples from a seat's view and its memory."""
        trump_suit = view.trump_suit - 1
        self._base = _base_simulation(
            view, [pack_mask(cards, trump_suit) for cards in memory.known]
        )
        unseen = pack_mask(memory.unseen, trump_suit)
        self._unseen = split(unseen)
        self._bottom = split(pack_mask(memory.under_stock, trump_suit))
        self._hidden = [
            HiddenHand(
                seat,
                count,
                memory.drawn_since[seat],
                pack_mask(memory.missing[seat], trump_suit) & unseen,
            )
            for seat in range(len(memory.hand_sizes))
            if (count := memory.hidden_count(seat))
        ]

    @property
    def is_unique(self) -> bool:
        """True if the place of every card is known, so that all samples are equal."""
        return not self._hidden or self._hidden[0].count == len(self._unseen)

    def sample(self, rng: SeededRandom) -> Simulation:
        """Return a random simulation."""
        simulation = self._base.copy()
        cards = self._unseen.copy()
        rng.shuffle(cards)
        for hidden in self._hidden:
            if hidden.missing:
                _replace_missing(cards, hidden, rng)
            for card in cards[: hidden.count]:
                simulation.hands[hidden.seat] |= card
            del cards[: hidden.count]
        simulation.stock = self._bottom + cards
        return simulation


def _replace_missing(cards: list[Packed], hidden: HiddenHand, rng: SeededRandom) -> None:
    """Exchange most cards that the hand seems to be missing for others."""
    others = [card for card in cards[hidden.count :] if not card & hidden.missing]
    for place in range(hidden.count - hidden.drawn_since):
        card = cards[place]
        if card & hidden.missing and others and rng.below(100) < 100 * MISSING_BELIEF:
            other = cards.index(others.pop())
            cards[place], cards[other] = cards[other], card


def _base_simulation(view: TableView, hands: list[Packed]) -> Simulation:
    """Return the current table with the known cards in the hands and no stock."""
    settings = view.settings
    is_opening = settings.five_card_opening and not view.discard_count
    simulation = Simulation(
        hands,
        [],
        view.attacker,
        Variant(
            settings.throw_in == ThrowIn.THROW_IN_ALL, settings.transfer, settings.draw_allowed
        ),
        OPENING_ATTACK_CARDS_MAX if is_opening else ATTACK_CARDS_MAX,
    )
    seen = observe(view)
    simulation.in_play = [seat.seat for seat in view.seats if not seat.place]
    simulation.bouts_without_discard = view.bouts_without_discard
    simulation.defender = view.defender
    simulation.table, simulation.ranks, simulation.weak = seen.table, seen.ranks, seen.weak
    simulation.unbeaten = seen.unbeaten
    simulation.attacks = len(view.table)
    simulation.cap = simulation.attacks + view.attacks_left
    simulation.beaten = len(seen.unbeaten) < simulation.attacks
    simulation.taking = view.taking
    simulation.passed = sum(1 << seat.seat for seat in view.seats if seat.passed)
    return simulation
