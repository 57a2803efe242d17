"""Fair dealing: a deck that anyone can recompute (R3; docs/transcript-format.md).

The server commits to a seed before anyone sits down. Players commit to secrets as they sit down,
and reveal them when the table is full. The deck follows from the seed and all secrets, and all of
them are fixed before the first secret is revealed. So nobody can choose the deck, as long as one
player with a secret is honest.

>>> dealt = deal(36, bytes(32), match_id=bytes(16), secrets=[bytes(32), b""])
>>> [len(hand) for hand in dealt.hands], len(dealt.stock)
([6, 6], 24)
>>> dealt == deal(36, bytes(32), match_id=bytes(16), secrets=[bytes(32), b""])
True
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from domain.cards import SUIT_MASK, SUIT_OF, Card, CardMask, cards_in, deck_cards, mask_of

HAND_SIZE = 6
SEED_BYTES = 32
SECRET_BYTES = 32
HASH_BYTES = 32
_DEAL_LABEL = b"durak.v1.deal2"
_SECRET_LABEL = b"durak.v1.seed"


def seed_hash(server_seed: bytes) -> bytes:
    """Return the server's commitment: the SHA-256 of its 32-byte seed."""
    return hashlib.sha256(server_seed).digest()


def secret_hash(match_id: bytes, player_id: str, secret: bytes) -> bytes:
    """Return a player's commitment: a SHA-256 of the match id, the player id and the secret.

    It contains the match and the player, so it is worth nothing at another table or on another
    seat. The match id has 16 bytes, the secret 32, the player id at most 255 bytes of UTF-8.
    """
    player = player_id.encode()
    message = b"".join((_SECRET_LABEL, match_id, bytes((len(player),)), player, secret))
    return hashlib.sha256(message).digest()


def deal_key(server_seed: bytes, match_id: bytes, secrets: Sequence[bytes]) -> bytes:
    """Return the deal key: an HMAC-SHA256 (32 bytes) of the match id and the secrets.

    The key of the HMAC is the server seed (32 bytes). The match id has 16 bytes. Secrets are in
    seat order; each follows one byte with its length, so that different lists of secrets never
    have the same encoding.
    """
    message = b"".join(
        (_DEAL_LABEL, match_id, *(bytes((len(secret),)) + secret for secret in secrets))
    )
    return hmac.digest(server_seed, message, "sha256")


class UniformNumbers:
    """Uniformly distributed numbers from the stream of a deal key.

    The stream is HMAC-SHA256(key, block number as 8 bytes big-endian) for block 0, 1, and so on,
    read as big-endian words of 4 bytes. Words that would favour small numbers are skipped.
    """

    __slots__ = ("_words",)

    def __init__(self, key: bytes) -> None:
        self._words = _words(key)

    def below(self, bound: int) -> int:
        """Return the next number, from 0 to ``bound`` - 1."""
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


def shuffle(deck: list[Card], numbers: UniformNumbers) -> None:
    """Shuffle a deck in place by Fisher-Yates, from the last index down to 1."""
    for last in range(len(deck) - 1, 0, -1):
        chosen = numbers.below(last + 1)
        deck[last], deck[chosen] = deck[chosen], deck[last]


@dataclass(frozen=True, slots=True)
class Deal:
    """The cards after the deal.

    Attributes:
        hands: the cards of each seat, in the order in which they were dealt.
        trump_card: the card that shows the trump suit.
        stock: the stock in drawing order. The trump card is the last one (R3.2).
        first_attacker: the seat that leads first (R3.4).
    """

    hands: tuple[tuple[Card, ...], ...]
    trump_card: Card
    stock: tuple[Card, ...]
    first_attacker: int


def deal(deck_size: int, server_seed: bytes, match_id: bytes, secrets: Sequence[bytes]) -> Deal:
    """Shuffle and deal (R3.1 to R3.4).

    Args:
        deck_size: 24, 36 or 52.
        server_seed: 32 bytes.
        match_id: 16 bytes.
        secrets: one for each seat: 32 bytes, or empty for a seat that promised none.
    """
    seats = len(secrets)
    numbers = UniformNumbers(deal_key(server_seed, match_id, secrets))
    deck = deck_cards(deck_size)
    shuffle(deck, numbers)
    dealt = HAND_SIZE * seats
    hands = tuple(tuple(deck[seat:dealt:seats]) for seat in range(seats))
    if dealt == len(deck):  # R3.3: the last card dealt shows the trump suit and stays in its hand.
        trump_card = deck[-1]
        stock: tuple[Card, ...] = ()
    else:  # R3.2: the next card shows the trump suit and is drawn last.
        trump_card = deck[dealt]
        stock = (*deck[dealt + 1 :], trump_card)
    attacker = lowest_trump_holder([mask_of(hand) for hand in hands], SUIT_OF[trump_card])
    if attacker is None:
        attacker = numbers.below(seats)
    return Deal(hands, trump_card, stock, attacker)


def lowest_trump_holder(hands: Sequence[CardMask], trump_suit: int) -> int | None:
    """Return the seat that holds the lowest trump, or None if no seat holds a trump (R3.4)."""
    trumps = [
        (next(cards_in(held)), seat)
        for seat, hand in enumerate(hands)
        if (held := hand & SUIT_MASK[trump_suit])
    ]
    return min(trumps)[1] if trumps else None
