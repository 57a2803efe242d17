"""The Merkle tree over ended matches (RFC 6962 section 2.1, RFC 9162 section 2.1).

A tree of n leaves is kept as the hashes of its complete subtrees: the node (level, index) covers
the leaves index · 2^level ... (index + 1) · 2^level − 1. Whoever stores them can make every proof
by looking up a few; whoever only appends needs no more than a `CompactRange`.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final

HASH_SIZE_BYTES: Final = 32
EMPTY_ROOT: Final = hashlib.sha256(b"").digest()
LEAF_LABEL: Final = b"durak.v1.leaf"

Node = Callable[[int, int], bytes]
"""The hash of a complete subtree, by level and index."""


def match_leaf(match_id: bytes, last_version: int, head_hash: bytes) -> bytes:
    """The leaf of an ended match, before hashing.

    "durak.v1.leaf" ‖ match id (16 bytes) ‖ last version (4 bytes, big-endian) ‖ head hash (32
    bytes): 65 bytes, so no two matches read the same.
    """
    assert len(match_id) == 16, "the bytes of a UUID"
    assert len(head_hash) == HASH_SIZE_BYTES, "a link of the hash chain"
    return LEAF_LABEL + match_id + last_version.to_bytes(4, "big") + head_hash


def leaf_hash(leaf: bytes) -> bytes:
    """SHA-256(0x00 ‖ leaf)."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 ‖ left ‖ right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


# --- growing -------------------------------------------------------------------------------------


class CompactRange:
    """A tree that only grows: its size, and one hash for each bit that is set in the size.

    ``hashes`` are those of the largest complete subtrees from left to right, which is all that has
    to be kept to go on.
    """

    __slots__ = ("hashes", "size")

    def __init__(self, size: int = 0, hashes: Iterable[bytes] = ()) -> None:
        """Go on from a size and its hashes. Raises ValueError where they do not fit."""
        self.size = size
        self.hashes = list(hashes)
        if size < 0 or size.bit_count() != len(self.hashes):
            raise ValueError(f"{len(self.hashes)} hashes are no tree of {size} leaves")

    def append(self, leaf: bytes) -> list[tuple[int, int, bytes]]:
        """Append a leaf hash.

        Returns the nodes that are complete now, as (level, index, hash), the leaf's own first: what
        has to be stored for proofs.
        """
        level, index, node = 0, self.size, leaf
        nodes = [(level, index, node)]
        while index & 1:
            node = node_hash(self.hashes.pop(), node)
            level, index = level + 1, index >> 1
            nodes.append((level, index, node))
        self.hashes.append(node)
        self.size += 1
        return nodes

    def root(self) -> bytes:
        """The root hash."""
        return _joined(self.hashes)


class Tree:
    """A tree in memory, for tests and tools: every complete subtree, by level and index."""

    def __init__(self, leaf_hashes: Iterable[bytes] = ()) -> None:
        self._range = CompactRange()
        self._nodes: dict[tuple[int, int], bytes] = {}
        for leaf in leaf_hashes:
            self.append(leaf)

    @property
    def size(self) -> int:
        """The number of leaves."""
        return self._range.size

    def append(self, leaf: bytes) -> None:
        """Append a leaf hash."""
        for level, index, node in self._range.append(leaf):
            self._nodes[level, index] = node

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree. Raises KeyError where it is not complete."""
        return self._nodes[level, index]


def root(size: int, node: Node) -> bytes:
    """The root hash of the first ``size`` leaves."""
    return _range_hash(0, size, node)


def _range_hash(start: int, end: int, node: Node) -> bytes:
    """The hash of the leaves start ... end − 1, as they stand together in some tree."""
    hashes = []
    while start < end:
        level = (end - start).bit_length() - 1
        if start:
            level = min(level, (start & -start).bit_length() - 1)
        hashes.append(node(level, start >> level))
        start += 1 << level
    return _joined(hashes)


def _joined(hashes: Sequence[bytes]) -> bytes:
    """One hash of complete subtrees that stand side by side, the largest on the left."""
    if not hashes:
        return EMPTY_ROOT
    joined = hashes[-1]
    for left in reversed(hashes[:-1]):
        joined = node_hash(left, joined)
    return joined


def _split(size: int) -> int:
    """The largest power of two below a size of at least 2: where the RFC cuts a tree."""
    return 1 << (size - 1).bit_length() - 1


# --- proofs --------------------------------------------------------------------------------------


def inclusion_proof(index: int, size: int, node: Node) -> list[bytes]:
    """The proof that a leaf is in the tree of the first ``size`` leaves (RFC 9162, 2.1.3.1).

    Raises ValueError where there is no such leaf.
    """
    if not 0 <= index < size:
        raise ValueError(f"there is no leaf {index} in a tree of {size}")
    proof = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            proof.append(_range_hash(middle, end, node))
            end = middle
        else:
            proof.append(_range_hash(start, middle, node))
            start = middle
    return proof[::-1]


def consistency_proof(old: int, new: int, node: Node) -> list[bytes]:
    """The proof that a tree's first ``old`` leaves are those of an older one (RFC 9162, 2.1.4.1).

    Raises ValueError unless 0 < old <= new.
    """
    if not 0 < old <= new:
        raise ValueError(f"nothing to prove from {old} leaves to {new}")
    proof = []
    start, end, whole = 0, new, True
    while old != end:
        middle = start + _split(end - start)
        if old <= middle:
            proof.append(_range_hash(middle, end, node))
            end = middle
        else:
            proof.append(_range_hash(start, middle, node))
            start, whole = middle, False
    if not whole:
        proof.append(_range_hash(start, end, node))
    return proof[::-1]


def verify_inclusion(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], expected_root: bytes
) -> bool:
    """Whether a leaf hash is in the tree of this size and root (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size or not _are_hashes(proof):
        return False
    place, last, found = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = node_hash(sibling, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and found == expected_root


def verify_consistency(
    old: int, new: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes
) -> bool:
    """Whether a tree of ``new`` leaves grew out of one of ``old`` (RFC 9162, 2.1.4.2).

    Every tree grew out of the empty one, with an empty proof.
    """
    if not 0 <= old <= new or not _are_hashes(proof):
        return False
    if old in (0, new):
        same = old_root == (EMPTY_ROOT if old == 0 else new_root)
        return same and not proof
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not path:
        return False
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    found_old = found_new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            found_old = node_hash(sibling, found_old)
            found_new = node_hash(sibling, found_new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found_new = node_hash(found_new, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and found_old == old_root and found_new == new_root


def _are_hashes(proof: Sequence[bytes]) -> bool:
    return all(len(step) == HASH_SIZE_BYTES for step in proof)
