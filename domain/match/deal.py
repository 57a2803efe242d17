"""Fair dealing: a deck that anybody can recompute (R3; DESIGN "Fair dealing").

The server commits to a seed before anybody sits down, each player adds one of their own, and the
deck follows from all of them. Nobody who did not know every seed could have chosen it.
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from domain.cards import SUIT_MASK, SUIT_OF, Card, CardMask, cards_in, deck_cards, mask_of

HAND_SIZE = 6
SEED_BYTES = 32
CLIENT_SEED_BYTES_MAX = 64
_DEAL_LABEL = b"durak.v1.deal"


def seed_hash(server_seed: bytes) -> bytes:
    """The server's promise: SHA-256 of its 32-byte seed."""
    return hashlib.sha256(server_seed).digest()


def deal_key(server_seed: bytes, match_id: bytes, client_seeds: Sequence[bytes]) -> bytes:
    """HMAC-SHA256 (32 bytes) of the match id (16 bytes) and the client seeds by seat.

    Each client seed stands behind one byte of its length, so no two lists of seeds read the same.
    """
    message = b"".join(
        (_DEAL_LABEL, match_id, *(bytes((len(seed),)) + seed for seed in client_seeds))
    )
    return hmac.digest(server_seed, message, "sha256")


class UniformNumbers:
    """Uniform random numbers from the stream of a deal key.

    The stream is HMAC-SHA256(key, block number as 8 bytes big-endian) for block 0, 1, ..., read as
    big-endian words of 4 bytes. Words that would favour small numbers are skipped.
    """

    __slots__ = ("_words",)

    def __init__(self, key: bytes) -> None:
        self._words = _words(key)

    def below(self, bound: int) -> int:
        """The next number in 0 ... bound - 1."""
        limit = (1 << 32) - (1 << 32) % bound
        for word in self._words:
            if word < limit:
                return word % bound
        raise AssertionError("the stream has no end")


def _words(key: bytes) -> Iterator[int]:
    block = 0
    while True:
        digest = hmac.digest(key, block.to_bytes(8, "big"), "sha256")
        for at in range(0, len(digest), 4):
            yield int.from_bytes(digest[at : at + 4], "big")
        block += 1


def shuffle(deck: list[Card], draws: UniformNumbers) -> None:
    """Shuffle a deck in place: Fisher-Yates from the last index down to 1."""
    for last in range(len(deck) - 1, 0, -1):
        chosen = draws.below(last + 1)
        deck[last], deck[chosen] = deck[chosen], deck[last]


@dataclass(frozen=True, slots=True)
class Deal:
    """The cards after the deal: hands by seat in dealing order, the stock in drawing order."""

    hands: tuple[tuple[Card, ...], ...]
    trump_card: Card
    stock: tuple[Card, ...]
    first_attacker: int


def deal(
    deck_size: int, server_seed: bytes, match_id: bytes, client_seeds: Sequence[bytes]
) -> Deal:
    """Shuffle and deal to as many seats as there are client seeds (R3.1 to R3.4)."""
    seats = len(client_seeds)
    draws = UniformNumbers(deal_key(server_seed, match_id, client_seeds))
    deck = deck_cards(deck_size)
    shuffle(deck, draws)
    dealt = HAND_SIZE * seats
    hands = tuple(tuple(deck[seat:dealt:seats]) for seat in range(seats))
    if dealt == len(deck):  # R3.3: the last card dealt shows the trumps and stays in its hand.
        trump_card = deck[-1]
        stock: tuple[Card, ...] = ()
    else:  # R3.2: the next card shows the trumps and is drawn last.
        trump_card = deck[dealt]
        stock = (*deck[dealt + 1 :], trump_card)
    attacker = lowest_trump_holder([mask_of(hand) for hand in hands], SUIT_OF[trump_card])
    if attacker is None:
        attacker = draws.below(seats)
    return Deal(hands, trump_card, stock, attacker)


def lowest_trump_holder(hands: Sequence[CardMask], trump_suit: int) -> int | None:
    """The seat that holds the lowest trump, or None where no seat holds one (R3.4)."""
    trumps = [
        (next(cards_in(held)), seat)
        for seat, hand in enumerate(hands)
        if (held := hand & SUIT_MASK[trump_suit])
    ]
    return min(trumps)[1] if trumps else None
