"""Ways in which the cards that a seat has not seen may lie (R14.4)."""

from typing import Final

from domain.bots.memory import Memory
from domain.bots.sight import look
from domain.bots.strength import Packed, pack, singles
from domain.bots.world import World
from domain.state import ATTACK_CARDS_MAX, ATTACK_CARDS_MAX_OPENING
from durak.v1.settings_pb2 import ThrowIn
from durak.v1.table_pb2 import TableView

_MASK: Final = (1 << 64) - 1


class Chance:
    """Numbers drawn from a seed: a 64-bit linear congruential generator (Knuth's MMIX)."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        """``seed`` is any number; its lowest 64 bits count."""
        self._state = seed & _MASK

    def shuffle(self, cards: list[Packed]) -> None:
        """Shuffle in place (Fisher-Yates)."""
        state = self._state
        for last in range(len(cards) - 1, 0, -1):
            state = (state * 6364136223846793005 + 1442695040888963407) & _MASK
            other = (state >> 33) % (last + 1)
            cards[last], cards[other] = cards[other], cards[last]
        self._state = state


class Worlds:
    """The worlds that agree with all that a seat knows, each as likely as the next."""

    def __init__(self, view: TableView, memory: Memory) -> None:
        """Take what is known from the view of the seat and what it remembers."""
        trump_suit = view.trump_suit - 1
        self._base = _base(view, [pack(cards, trump_suit) for cards in memory.known])
        self._unseen = singles(pack(memory.unseen, trump_suit))
        self._bottom = singles(pack(memory.under_stock, trump_suit))
        seats = range(len(memory.counts))
        self._hidden = [(seat, memory.hidden(seat)) for seat in seats if memory.hidden(seat)]

    @property
    def is_one(self) -> bool:
        """The place of every card is known."""
        return not self._hidden or self._hidden[0][1] == len(self._unseen)

    def draw(self, chance: Chance) -> World:
        """One of them."""
        world = self._base.copy()
        cards = self._unseen.copy()
        chance.shuffle(cards)
        for seat, count in self._hidden:
            for card in cards[:count]:
                world.hands[seat] |= card
            del cards[:count]
        world.stock = self._bottom + cards
        return world


def _base(view: TableView, hands: list[Packed]) -> World:
    """The table as it stands, with the known cards in the hands and no stock yet."""
    settings = view.settings
    is_opening = settings.five_card_opening and not view.discard_count
    world = World(
        hands,
        [],
        view.attacker,
        throw_in_all=settings.throw_in == ThrowIn.THROW_IN_ALL,
        transfers=settings.transfer,
        draw_allowed=settings.draw_allowed,
        attacks_max=ATTACK_CARDS_MAX_OPENING if is_opening else ATTACK_CARDS_MAX,
    )
    sight = look(view)
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
