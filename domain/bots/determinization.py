"""Ways in which the cards that a seat has not seen may lie (R14.4)."""

from dataclasses import dataclass
from typing import Final

from domain.bots.card_memory import CardMemory
from domain.bots.observation import observe
from domain.bots.packed_cards import Packed, pack_mask, split
from domain.bots.simulation import Simulation, Variant
from domain.match.state import ATTACK_CARDS_MAX, ATTACK_CARDS_MAX_OPENING
from durak.v1.settings_pb2 import ThrowIn
from durak.v1.table_pb2 import TableView

_MASK: Final = (1 << 64) - 1
MISSING_BELIEF: Final = 0.8
"""How far a seat is believed not to hold what it seems to be missing: normal bots are right in four
cases of five (docs/bots.md)."""


class SeededRandom:
    """Numbers drawn from a seed: a 64-bit linear congruential generator (Knuth's MMIX)."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        """``seed`` is any number; its lowest 64 bits count."""
        self._state = seed & _MASK

    def below(self, count: int) -> int:
        """A number from 0 up to ``count``, which is left out."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return (self._state >> 33) % count

    def shuffle(self, cards: list[Packed]) -> None:
        """Shuffle in place (Fisher-Yates)."""
        state = self._state
        for last in range(len(cards) - 1, 0, -1):
            state = (state * 6364136223846793005 + 1442695040888963407) & _MASK
            other = (state >> 33) % (last + 1)
            cards[last], cards[other] = cards[other], cards[last]
        self._state = state


@dataclass(frozen=True, slots=True)
class HiddenHand:
    """The cards of a hand that are not known.

    ``count`` of them, of which the last ``fresh`` may have come after it seemed to be ``missing``
    some cards.
    """

    seat: int
    count: int
    fresh: int
    missing: Packed


class Determinizer:
    """The worlds that agree with all that a seat knows.

    Each is as likely as the next, but for hands that seem to be missing cards.
    """

    def __init__(self, view: TableView, memory: CardMemory) -> None:
        """Take what is known from the view of the seat and what it remembers."""
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
                memory.fresh[seat],
                pack_mask(memory.missing[seat], trump_suit) & unseen,
            )
            for seat in range(len(memory.counts))
            if (count := memory.hidden(seat))
        ]

    @property
    def is_one(self) -> bool:
        """The place of every card is known."""
        return not self._hidden or self._hidden[0].count == len(self._unseen)

    def draw(self, chance: SeededRandom) -> Simulation:
        """One of them."""
        world = self._base.copy()
        cards = self._unseen.copy()
        chance.shuffle(cards)
        for hidden in self._hidden:
            if hidden.missing:
                _replace_missing(cards, hidden, chance)
            for card in cards[: hidden.count]:
                world.hands[hidden.seat] |= card
            del cards[: hidden.count]
        world.stock = self._bottom + cards
        return world


def _replace_missing(cards: list[Packed], hidden: HiddenHand, chance: SeededRandom) -> None:
    """Change cards that the hand seems to be missing, as far as that is believed, for others."""
    others = [card for card in cards[hidden.count :] if not card & hidden.missing]
    for place in range(hidden.count - hidden.fresh):
        card = cards[place]
        if card & hidden.missing and others and chance.below(100) < 100 * MISSING_BELIEF:
            other = cards.index(others.pop())
            cards[place], cards[other] = cards[other], card


def _base_simulation(view: TableView, hands: list[Packed]) -> Simulation:
    """The table as it stands, with the known cards in the hands and no stock yet."""
    settings = view.settings
    is_opening = settings.five_card_opening and not view.discard_count
    world = Simulation(
        hands,
        [],
        view.attacker,
        Variant(
            settings.throw_in == ThrowIn.THROW_IN_ALL, settings.transfer, settings.draw_allowed
        ),
        ATTACK_CARDS_MAX_OPENING if is_opening else ATTACK_CARDS_MAX,
    )
    sight = observe(view)
    world.in_play = [seat.seat for seat in view.seats if not seat.place]
    world.dry_bouts = view.bouts_without_discard
    world.defender = view.defender
    world.table, world.ranks, world.weak = sight.table, sight.ranks, sight.weak
    world.unbeaten = sight.unbeaten
    world.attacks = len(view.table)
    world.cap = world.attacks + view.attacks_left
    world.beaten = len(sight.unbeaten) < world.attacks
    world.taking = view.taking
    world.passed = sum(1 << seat.seat for seat in view.seats if seat.passed)
    return world
