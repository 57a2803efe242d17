"""Cards and the shuffle, a second time (R1, R3; DESIGN "Fair dealing").

Nothing here is shared with the code that plays: a mistake made there must show here.
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

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
    """Whether this is the number of a card."""
    return 1 <= number <= 52


def label(number: int) -> str:
    """A card as people write it; any other number as it stands."""
    if not is_card(number):
        return f"card {number}"
    rank = RANK[number]
    return f"{_RANK_NAMES.get(rank, rank)}{SUIT[number]}"


def labels(cards: Sequence[int]) -> str:
    """Several cards, in order."""
    return " ".join(label(card) for card in cards) or "no card"


def beats(card: int, attack: int, trump: str) -> bool:
    """R1.3: same suit and higher, or a trump on what is none."""
    if SUIT[card] == SUIT[attack]:
        return RANK[card] > RANK[attack]
    return SUIT[card] == trump


def seed_hash(server_seed: bytes) -> bytes:
    """What the server promises before anybody sits down."""
    return hashlib.sha256(server_seed).digest()


class Deal(NamedTuple):
    """The cards after the deal: hands in dealing order, the stock in drawing order."""

    hands: list[list[int]]
    trump_card: int
    stock: list[int]
    first_attacker: int


def deal(size: int, server_seed: bytes, match_id: bytes, client_seeds: Sequence[bytes]) -> Deal:
    """Shuffle a deck of this size with these seeds and deal it to as many seats (R3.1 to R3.4).

    Client seeds are at most 255 bytes here, since each stands behind one byte of its length.
    """
    message = b"durak.v1.deal" + match_id
    for client_seed in client_seeds:
        message += bytes([len(client_seed)]) + client_seed
    numbers = _numbers(hmac.new(server_seed, message, hashlib.sha256).digest())
    cards = list(DECKS[size])
    for i in range(size - 1, 0, -1):
        j = _draw(numbers, i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    seats = len(client_seeds)
    hands: list[list[int]] = [[] for _ in range(seats)]
    for turn in range(6 * seats):  # R3.1: one at a time, from seat 0
        hands[turn % seats].append(cards[turn])
    rest = cards[6 * seats :]
    trump_card = rest[0] if rest else hands[-1][-1]  # R3.2, R3.3
    stock = rest[1:] + rest[:1]
    first = lowest_trump(hands, SUIT[trump_card])
    return Deal(hands, trump_card, stock, _draw(numbers, seats) if first is None else first)


def lowest_trump(hands: Sequence[Sequence[int]], trump: str) -> int | None:
    """R3.4: the seat with the lowest trump."""
    holders = [
        (RANK[card], seat)
        for seat, hand in enumerate(hands)
        for card in hand
        if SUIT[card] == trump
    ]
    return min(holders)[1] if holders else None


def _numbers(key: bytes) -> Iterator[int]:
    """The stream of a deal key, as numbers of 32 bits."""
    block = 0
    while True:
        digest = hmac.digest(key, block.to_bytes(8, "big"), hashlib.sha256)
        for start in range(0, 32, 4):
            yield int.from_bytes(digest[start : start + 4], "big")
        block += 1


def _draw(numbers: Iterator[int], m: int) -> int:
    top = 2**32 - 2**32 % m
    return next(number for number in numbers if number < top) % m
