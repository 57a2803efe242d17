from collections.abc import Sequence

import pytest
from hypothesis import given, strategies

from domain.transparency.merkle import (
    DISPUTE_LEAF,
    EMPTY_ROOT,
    MATCH_LEAF,
    CompactRange,
    Tree,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root,
    stream_leaf,
    verify_consistency,
    verify_inclusion,
)

# The vectors of the Certificate Transparency reference implementation.
CT_LEAVES = (
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
)
CT_ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
CT_INCLUSION = {
    (0, 8): (
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ),
    (5, 8): (
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
}
CT_CONSISTENCY = {
    (1, 1): (),
    (1, 8): CT_INCLUSION[0, 8],
    (6, 8): (
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
    (2, 5): (
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ),
}
SIZE_MAX = 40
LEAVES = [leaf_hash(bytes((number,))) for number in range(SIZE_MAX)]
TREE = Tree(LEAVES)
ROOTS = [root(size, TREE.node) for size in range(SIZE_MAX + 1)]


def ct_tree() -> Tree:
    return Tree(leaf_hash(bytes.fromhex(leaf)) for leaf in CT_LEAVES)


def by_definition(leaves: Sequence[bytes]) -> bytes:
    """Compute the root by the definition in RFC 6962 section 2.1."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    k = max(1 << power for power in range(8) if 1 << power < len(leaves))
    return node_hash(by_definition(leaves[:k]), by_definition(leaves[k:]))


def altered(proof: list[bytes]) -> list[list[bytes]]:
    """Return proofs with one error each: a flipped bit, or a step missing, doubled, added, cut."""
    wrong = [[*proof, bytes(32)], [bytes(32), *proof]]
    for at, step in enumerate(proof):
        flipped = bytes((step[0] ^ 1,)) + step[1:]
        wrong += [
            [*proof[:at], flipped, *proof[at + 1 :]],
            [*proof[:at], *proof[at + 1 :]],
            [*proof[:at], step, *proof[at:]],
            [*proof[:at], step[:-1], *proof[at + 1 :]],
        ]
    wrong += [
        [*proof[:at], proof[at + 1], proof[at], *proof[at + 2 :]] for at in range(len(proof) - 1)
    ]
    return wrong


def test_roots_are_those_of_certificate_transparency() -> None:
    tree = ct_tree()
    assert [root(size, tree.node).hex() for size in range(9)] == list(CT_ROOTS)


def test_a_compact_range_has_the_same_roots_at_every_size() -> None:
    grown = CompactRange()
    for size, leaf in enumerate(LEAVES):
        assert grown.root() == ROOTS[size]
        grown = CompactRange(grown.size, grown.hashes)  # as if stored and read again
        grown.append(leaf)
    assert grown.root() == ROOTS[SIZE_MAX]


def test_roots_are_those_of_the_definition() -> None:
    assert [by_definition(LEAVES[:size]) for size in range(SIZE_MAX + 1)] == ROOTS


@pytest.mark.parametrize(("size", "hashes"), [(3, 1), (4, 2), (0, 1), (-1, 1)])
def test_hashes_that_do_not_match_the_size_are_refused(size: int, hashes: int) -> None:
    with pytest.raises(ValueError, match="cannot be a tree"):
        CompactRange(size, [bytes(32)] * hashes)


@pytest.mark.parametrize(("index", "size"), CT_INCLUSION)
def test_inclusion_proofs_are_those_of_certificate_transparency(index: int, size: int) -> None:
    proof = inclusion_proof(index, size, ct_tree().node)
    assert tuple(step.hex() for step in proof) == CT_INCLUSION[index, size]


@pytest.mark.parametrize(("old", "new"), CT_CONSISTENCY)
def test_consistency_proofs_are_those_of_certificate_transparency(old: int, new: int) -> None:
    proof = consistency_proof(old, new, ct_tree().node)
    assert tuple(step.hex() for step in proof) == CT_CONSISTENCY[old, new]


@pytest.mark.parametrize("size", range(1, SIZE_MAX + 1))
def test_every_inclusion_proof_verifies_and_no_altered_one_does(size: int) -> None:
    for index in range(size):
        leaf, proof = LEAVES[index], inclusion_proof(index, size, TREE.node)
        assert verify_inclusion(leaf, index, size, proof, ROOTS[size])
        assert not verify_inclusion(LEAVES[index - 1], index, size, proof, ROOTS[size]) or size == 1
        assert not verify_inclusion(leaf, index, size, proof, ROOTS[size - 1])
        assert not any(
            verify_inclusion(leaf, other, size, proof, ROOTS[size])
            for other in range(-1, size + 1)
            if other != index
        )
        assert not any(
            verify_inclusion(leaf, index, size, wrong, ROOTS[size]) for wrong in altered(proof)
        )


@pytest.mark.parametrize("new", range(1, SIZE_MAX + 1))
def test_every_consistency_proof_verifies_and_no_altered_one_does(new: int) -> None:
    for old in range(1, new + 1):
        proof = consistency_proof(old, new, TREE.node)
        assert verify_consistency(old, new, proof, ROOTS[old], ROOTS[new])
        assert not verify_consistency(old, new, proof, ROOTS[old - 1], ROOTS[new])
        assert not verify_consistency(old, new, proof, ROOTS[old], ROOTS[new - 1])
        assert not any(
            verify_consistency(old, new, wrong, ROOTS[old], ROOTS[new]) for wrong in altered(proof)
        )


def test_every_tree_continues_the_empty_tree() -> None:
    assert verify_consistency(0, 5, [], EMPTY_ROOT, ROOTS[5])
    assert not verify_consistency(0, 5, [], ROOTS[1], ROOTS[5])
    assert not verify_consistency(0, 5, [bytes(32)], EMPTY_ROOT, ROOTS[5])
    assert not verify_consistency(6, 5, [], ROOTS[6], ROOTS[5])


@pytest.mark.parametrize(("index", "size"), [(0, 0), (5, 5), (-1, 5)])
def test_there_is_no_proof_of_a_missing_leaf(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="no leaf"):
        inclusion_proof(index, size, TREE.node)


@pytest.mark.parametrize(("old", "new"), [(0, 5), (6, 5)])
def test_there_is_no_consistency_proof_from_an_empty_or_larger_tree(old: int, new: int) -> None:
    with pytest.raises(ValueError, match="there is no proof"):
        consistency_proof(old, new, TREE.node)


@given(strategies.binary(min_size=16, max_size=16), strategies.integers(0, 2**32 - 1))
def test_a_leaf_identifies_one_match(match_id: bytes, version: int) -> None:
    leaf = stream_leaf(MATCH_LEAF, match_id, version, bytes(32))
    assert len(leaf) == 65
    assert leaf[13:29] == match_id
    assert int.from_bytes(leaf[29:33], "big") == version
    assert stream_leaf(DISPUTE_LEAF, match_id, version, bytes(32)) != leaf


def test_no_label_starts_with_another_one() -> None:
    assert not MATCH_LEAF.startswith(DISPUTE_LEAF)
    assert not DISPUTE_LEAF.startswith(MATCH_LEAF)
