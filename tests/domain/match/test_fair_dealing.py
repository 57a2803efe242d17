"""The fair deal: test vectors from other tools, and a second implementation."""

import hashlib
import hmac
import struct

import pytest

from domain.cards import card_name
from domain.match.deal import UniformNumbers, deal, deal_key, secret_hash, seed_hash, shuffle
from tests.domain.tables import MATCH_ID, full, names, settings

SEED = bytes(range(32))
SECRETS = [b"", bytes(range(32, 64)), b"\xff" * 32]


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """HMAC by the text of RFC 2104: H(K xor opad, H(K xor ipad, text)), block length 64."""
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()


def words_of(key: bytes, count: int) -> list[int]:
    """The first words of the stream of a deal key."""
    blocks = (hmac_sha256(key, struct.pack(">Q", number)) for number in range(-(-count // 8)))
    return [word for block in blocks for word in struct.unpack(">8I", block)][:count]


def test_RFC_4231_test_case_2_holds_for_the_hmac_in_use() -> None:
    expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    message = b"what do ya want for nothing?"
    assert hmac.digest(b"Jefe", message, "sha256").hex() == expected
    assert hmac_sha256(b"Jefe", message).hex() == expected


def test_the_commitment_is_the_sha256_of_the_seed() -> None:
    # printf of bytes 00 … 1f | openssl dgst -sha256
    assert (
        seed_hash(SEED).hex() == "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"
    )


def test_the_deal_key_matches_openssl() -> None:
    # openssl dgst -sha256 -mac HMAC -macopt hexkey:000102…1f over
    # "durak.v1.deal2", 16 bytes 00 … 0f, then 00, 20 and 32 bytes 20 … 3f, 20 and 32 bytes ff
    message = b"durak.v1.deal2" + bytes(range(16))
    message += b"\x00" + b"\x20" + bytes(range(32, 64)) + b"\x20" + b"\xff" * 32
    expected = "4bbe9fcb54564ba1e9138f5791abe0d2491d2d73379fdb097d4c4c3af37dd17b"
    assert hmac_sha256(SEED, message).hex() == expected
    assert deal_key(SEED, bytes(range(16)), SECRETS).hex() == expected


def test_the_hash_of_a_secret_matches_openssl() -> None:
    # openssl dgst -sha256 over "durak.v1.seed", 16 bytes 00 … 0f, 08 "player-A", 32 bytes 20 … 3f
    expected = "d0571d8f29a11d68eb5a5c4d9c7df43e8131b23b22a13baa1b0452e9f8235fd4"
    assert secret_hash(bytes(range(16)), "player-A", bytes(range(32, 64))).hex() == expected


def test_a_hash_is_worth_nothing_for_another_match_or_player() -> None:
    secret = SECRETS[1]
    hashes = {
        secret_hash(match_id, player_id, secret)
        for match_id in (bytes(16), bytes(15) + b"\x01")
        for player_id in ("ann", "anna", "")
    }
    assert len(hashes) == 6


def test_the_length_bytes_make_lists_of_secrets_unambiguous() -> None:
    lists = [[b"ab", b""], [b"a", b"b"], [b"", b"ab"], [b"ab"]]
    assert len({deal_key(SEED, MATCH_ID, secrets) for secrets in lists}) == len(lists)


def test_the_stream_is_read_as_big_endian_words_of_blocks_0_1() -> None:
    words = words_of(SEED, 20)
    draws = UniformNumbers(SEED)
    assert [draws.below(1 << 32) for _ in range(20)] == words
    # openssl dgst -sha256 -mac HMAC -macopt hexkey:000102…1f over eight zero bytes
    assert (
        b"".join(struct.pack(">I", word) for word in words[:8]).hex()
        == "9f0cd9b94097fe4929918d2b8942b34439574261a35dc50163f06c67d4e48899"
    )


def test_words_that_would_favour_small_numbers_are_skipped() -> None:
    bound = 3 << 30  # 2^32 mod bound = 2^30, so words from 3 * 2^30 on are skipped
    fair = [word for word in words_of(SEED, 400) if word < bound]
    draws = UniformNumbers(SEED)
    assert [draws.below(bound) for _ in range(250)] == fair[:250]
    assert len(fair) < 340, "about a quarter of the words is skipped"


def test_fisher_yates_runs_from_the_last_index_down_to_1() -> None:
    words = words_of(SEED, 3)
    deck = [10, 20, 30, 40]
    expected = deck.copy()
    for last, word in zip((3, 2, 1), words, strict=True):
        chosen = word % (last + 1)
        expected[last], expected[chosen] = expected[chosen], expected[last]
    shuffle(deck, UniformNumbers(SEED))  # type: ignore[arg-type] # any list works
    assert deck == expected


def reference_deck(size: int, seats: int, match_id: bytes) -> tuple[list[int], int]:
    """Return the shuffled deck and the random seat, implemented from docs/transcript-format.md."""
    letters = (b"A", b"B", b"C", b"D", b"E", b"F")[:seats]
    secrets = b"".join(bytes([32]) + letter * 32 for letter in letters)
    key = hmac_sha256(SEED, b"durak.v1.deal2" + match_id + secrets)
    lowest = {24: 9, 36: 6, 52: 2}[size]
    deck = [1 + 13 * suit + rank - 2 for suit in range(4) for rank in range(lowest, 15)]
    words = words_of(key, size)  # a skipped word has a probability of one in ten million
    for last in range(size - 1, 0, -1):
        chosen = words[size - 1 - last] % (last + 1)
        deck[last], deck[chosen] = deck[chosen], deck[last]
    return deck, words[size - 1] % seats


@pytest.mark.parametrize(
    ("size", "seats"), [(24, 2), (24, 4), (36, 2), (36, 3), (36, 6), (52, 2), (52, 6)]
)
def test_R3_1_R3_2_anyone_can_recompute_the_deal(size: int, seats: int) -> None:
    deck, _ = reference_deck(size, seats, MATCH_ID)
    dealt = full(settings(deck=size, seats=seats), SEED).records[-1].event.dealt
    for seat in range(seats):  # one at a time from seat 0
        assert list(dealt.hands[seat].cards) == deck[seat : 6 * seats : seats]
    rest = deck[6 * seats :]
    if rest:
        assert dealt.trump_card == rest[0]
        assert list(dealt.stock) == [*rest[1:], rest[0]]
    else:
        assert dealt.trump_card == deck[-1]
        assert list(dealt.stock) == []


def test_R3_4_without_a_trump_in_any_hand_the_stream_chooses_the_seat() -> None:
    found = 0
    for number in range(400):
        match_id = number.to_bytes(16, "big")
        deck, drawn = reference_deck(52, 2, match_id)
        suit = (deck[12] - 1) // 13
        if any((card - 1) // 13 == suit for card in deck[:12]):
            continue
        assert deal(52, SEED, match_id, [b"A" * 32, b"B" * 32]).first_attacker == drawn
        found += 1
    assert found > 3


def test_a_whole_deal_computed_with_openssl() -> None:
    # All HMACs are from openssl, the rest from a script that shares no code with domain.match.deal.
    cards = deal(24, SEED, bytes(16), [b"", b""])
    assert [names(hand) for hand in cards.hands] == [
        "K♥ 9♦ J♦ J♥ J♣ 10♠",
        "A♣ Q♠ Q♦ 10♥ K♣ A♦",
    ]
    assert card_name(cards.trump_card) == "J♠"
