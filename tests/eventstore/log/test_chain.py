from __future__ import annotations

from hashlib import sha256
from uuid import UUID

import pytest

from eventstore import first_hash, next_hash, verify_chain
from eventstore.log.chain import ChainBroken

MATCH = UUID("00112233-4455-6677-8899-aabbccddeeff")


def test_first_hash_covers_the_label_and_the_sixteen_bytes_of_the_id() -> None:
    label_and_id = bytes.fromhex(
        "647572616b2e76312e6d61746368" + "00112233445566778899aabbccddeeff"
    )
    assert first_hash(MATCH) == sha256(label_and_id).digest()


def test_each_hash_covers_the_hash_before_and_the_record() -> None:
    before = bytes(range(32))
    assert next_hash(before, b"record") == sha256(before + b"record").digest()


def chain(*records: bytes) -> list[tuple[bytes, bytes]]:
    pairs, head = [], first_hash(MATCH)
    for record in records:
        head = next_hash(head, record)
        pairs.append((record, head))
    return pairs


def test_verify_chain_returns_the_head() -> None:
    pairs = chain(b"a", b"b", b"c")
    assert verify_chain(MATCH, pairs) == pairs[-1][1]
    assert verify_chain(MATCH, []) == first_hash(MATCH)


@pytest.mark.parametrize(
    ("changed", "broken_at"),
    [
        (lambda pairs: [pairs[0], (b"B", pairs[1][1]), pairs[2]], 2),
        (lambda pairs: [pairs[0], pairs[2]], 2),
        (lambda pairs: [pairs[1], pairs[0], pairs[2]], 1),
        (lambda pairs: [pairs[0], pairs[0], pairs[1], pairs[2]], 2),
        (lambda pairs: [*pairs[:2], (pairs[2][0], bytes(32))], 3),
    ],
    ids=["a record changed", "one removed", "two swapped", "one doubled", "a hash changed"],
)
def test_verify_chain_names_the_first_broken_version(changed, broken_at: int) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with pytest.raises(ChainBroken) as broken:
        verify_chain(MATCH, changed(chain(b"a", b"b", b"c")))
    assert broken.value.version == broken_at


def test_a_chain_of_another_match_does_not_verify() -> None:
    with pytest.raises(ChainBroken):
        verify_chain(UUID(int=1), chain(b"a"))
