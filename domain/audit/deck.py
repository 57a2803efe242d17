"""Cards and the shuffle (R1, R3; DESIGN "Fair dealing")."""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# By card number 1 ... 52; entry 0 is no card.
RANK: Final[tuple[int, ...]] = (0, *([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] * 4))
SUIT: Final[tuple[str, ...]] = ("", *("♣" * 13), *("♦" * 13), *("♥" * 13), *("♠" * 13))
DECKS: Final = {
    24: [card for card in range(1, 53) if RANK[card] >= 9],
    36: [card for card in range(1, 53) if RANK[card] >= 6],
    52: list(range(1, 53)),
}
_RANK_NAMES: Final = {11: "J", 12: "Q", 13: "K", 14: "A"}


def is_card(number: int) -> bool:
    """Return whether this is the number of a card."""
    return 1 <= number <= 52


def label(number: int) -> str:
    """Return a card as people write it, as in ``10♥``; ``card 60`` for a number without a card."""
    if not is_card(number):
        return f"card {number}"
    rank = RANK[number]
    return f"{_RANK_NAMES.get(rank, rank)}{SUIT[number]}"


def labels(cards: Sequence[int]) -> str:
    """Return several cards in order, as people write them."""
    return " ".join(label(card) for card in cards) or "no card"


def beats(card: int, attack: int, trump: str) -> bool:
    """R1.3: the same suit and higher, or a trump against a plain card."""
    if SUIT[card] == SUIT[attack]:
        return RANK[card] > RANK[attack]
    return SUIT[card] == trump


def seed_hash(server_seed: bytes) -> bytes:
    """Return the hash that the server publishes before any player sits down."""
    return hashlib.sha256(server_seed).digest()


def promise(match_id: bytes, player_id: str, secret: bytes) -> bytes:
    """Return the hash by which a player promises a secret for one match.

    Empty for an id of more than 255 bytes, which has no promise: one byte holds the length.
    """
    digest = hashlib.sha256(b"durak.v1.seed" + match_id)
    name = player_id.encode()
    if len(name) > 255:
        return b""
    digest.update(bytes([len(name)]) + name)
    digest.update(secret)
    return digest.digest()


@dataclass(frozen=True, slots=True)
class Deal:
    """The cards after the deal: hands in dealing order, the stock in drawing order."""

    hands: list[list[int]]
    trump_card: int
    stock: list[int]
    first_attacker: int

    def __str__(self) -> str:
        """Name the event; which cards differ is said one by one."""
        return "dealt"


def deal(size: int, server_seed: bytes, match_id: bytes, secrets: Sequence[bytes]) -> Deal:
    """Shuffle a deck of this size and deal it (R3.1 to R3.4).

    Args:
        size: cards in the deck: 24, 36 or 52.
        server_seed: 32 bytes.
        match_id: 16 bytes.
        secrets: one for each seat, of 32 bytes; empty for a seat that promised none.
    """
    message = b"durak.v1.deal2" + match_id
    for secret in secrets:
        message += bytes([len(secret)]) + secret
    words = _words(hmac.new(server_seed, message, hashlib.sha256).digest())
    cards = list(DECKS[size])
    for i in range(size - 1, 0, -1):
        j = _draw(words, i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    seats = len(secrets)
    hands: list[list[int]] = [[] for _ in range(seats)]
    for turn in range(6 * seats):  # R3.1: one at a time, from seat 0
        hands[turn % seats].append(cards[turn])
    rest = cards[6 * seats :]
    trump_card = rest[0] if rest else hands[-1][-1]  # R3.2, R3.3
    stock = rest[1:] + rest[:1]
    first = lowest_trump(hands, SUIT[trump_card])
    return Deal(hands, trump_card, stock, _draw(words, seats) if first is None else first)


def lowest_trump(hands: Sequence[Sequence[int]], trump: str) -> int | None:
    """R3.4: the seat that holds the lowest trump."""
    holders = [
        (RANK[card], seat)
        for seat, hand in enumerate(hands)
        for card in hand
        if SUIT[card] == trump
    ]
    return min(holders)[1] if holders else None


def _words(key: bytes) -> Iterator[int]:
    """Yield the stream of a deal key as 32-bit words."""
    block = 0
    while True:
        digest = hmac.digest(key, block.to_bytes(8, "big"), hashlib.sha256)
        for start in range(0, 32, 4):
            yield int.from_bytes(digest[start : start + 4], "big")
        block += 1


def _draw(words: Iterator[int], m: int) -> int:
    """Return a number below ``m`` without bias: words at the uneven top are skipped."""
    top = 2**32 - 2**32 % m
    return next(word for word in words if word < top) % m
