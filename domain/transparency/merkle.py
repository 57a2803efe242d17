"""The Merkle tree over streams of records (RFC 6962 section 2.1, RFC 9162 section 2.1).

A tree of n leaves is stored as the hashes of its complete subtrees. The node (level, index) covers
the leaves index · 2^level ... (index + 1) · 2^level − 1. With these nodes every proof needs only a
few lookups. Appending only needs a `CompactRange`.

>>> leaves = [leaf_hash(leaf) for leaf in (b"a", b"b", b"c")]
>>> tree = Tree(leaves)
>>> root_hash = root(tree.size, tree.node)
>>> proof = inclusion_proof(1, tree.size, tree.node)
>>> verify_inclusion(leaves[1], 1, tree.size, proof, root_hash)
True
>>> verify_inclusion(leaves[2], 1, tree.size, proof, root_hash)
False
>>> proof = consistency_proof(2, 3, tree.node)
>>> verify_consistency(2, 3, proof, root(2, tree.node), root_hash)
True
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final

HASH_SIZE_BYTES: Final = 32
EMPTY_ROOT: Final = hashlib.sha256(b"").digest()
MATCH_LEAF: Final = b"durak.v1.leaf"
"""The label of the leaf of an ended match."""
DISPUTE_LEAF: Final = b"durak.v1.dispute.leaf"
"""The label of a leaf of a dispute, which has one for each version that was the newest."""
ADMINISTRATION_LEAF: Final = b"durak.v1.administration.leaf"
"""The label of a leaf of the administrative log, which has leaves as a dispute has."""

Node = Callable[[int, int], bytes]
"""Returns the hash of a complete subtree, given its level and index."""


def stream_leaf(label: bytes, stream_id: bytes, version: int, head_hash: bytes) -> bytes:
    """Return the leaf of a stream of records, before hashing.

    label ‖ id of the stream (16 bytes) ‖ version (4 bytes, big-endian) ‖ hash of that version (32
    bytes). Each kind of stream has its own label, and no label starts with another one. So leaves
    of different streams differ.
    """
    assert len(stream_id) == 16, "the bytes of a UUID"
    assert len(head_hash) == HASH_SIZE_BYTES, "a link of the hash chain"
    return label + stream_id + version.to_bytes(4, "big") + head_hash


def leaf_hash(leaf: bytes) -> bytes:
    """Return SHA-256(0x00 ‖ leaf)."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return SHA-256(0x01 ‖ left ‖ right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


# --- growing -------------------------------------------------------------------------------------


class CompactRange:
    """An append-only tree: its size, and one hash for each bit that is set in the size.

    ``hashes`` are the hashes of the largest complete subtrees from left to right. An append needs
    nothing else.
    """

    __slots__ = ("hashes", "size")

    def __init__(self, size: int = 0, hashes: Iterable[bytes] = ()) -> None:
        """Continue from a size and its hashes. Raises ValueError if they do not match."""
        self.size = size
        self.hashes = list(hashes)
        if size < 0 or size.bit_count() != len(self.hashes):
            raise ValueError(f"{len(self.hashes)} hashes cannot be a tree of {size} leaves")

    def append(self, leaf: bytes) -> list[tuple[int, int, bytes]]:
        """Append a leaf hash.

        Returns the newly complete nodes as (level, index, hash), starting with the leaf. Store them
        for proofs.
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
        """Return the root hash."""
        return _joined(self.hashes)


class Tree:
    """A tree in memory, for tests and tools, with the hash of every complete subtree."""

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
        """Return the hash of a complete subtree. Raises KeyError if it is not complete."""
        return self._nodes[level, index]


def root(size: int, node: Node) -> bytes:
    """Return the root hash of the first ``size`` leaves."""
    return _range_hash(0, size, node)


def _range_hash(start: int, end: int, node: Node) -> bytes:
    """Return the hash of the subtree of the leaves start ... end − 1."""
    hashes = []
    while start < end:
        level = (end - start).bit_length() - 1
        if start:
            level = min(level, (start & -start).bit_length() - 1)
        hashes.append(node(level, start >> level))
        start += 1 << level
    return _joined(hashes)


def _joined(hashes: Sequence[bytes]) -> bytes:
    """Return one hash for adjacent complete subtrees, the largest on the left."""
    if not hashes:
        return EMPTY_ROOT
    joined = hashes[-1]
    for left in reversed(hashes[:-1]):
        joined = node_hash(left, joined)
    return joined


def _split(size: int) -> int:
    """Return the largest power of two below a size of at least 2: where the RFC splits a tree."""
    return 1 << (size - 1).bit_length() - 1


# --- proofs --------------------------------------------------------------------------------------


def inclusion_proof(index: int, size: int, node: Node) -> list[bytes]:
    """Return the proof that a leaf is in the tree of the first ``size`` leaves (RFC 9162, 2.1.3.1).

    Raises ValueError if there is no such leaf.
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
    """Return the proof that a tree of ``new`` leaves continues one of ``old`` (RFC 9162, 2.1.4.1).

    Raises ValueError unless 0 < old <= new.
    """
    if not 0 < old <= new:
        raise ValueError(f"there is no proof from {old} leaves to {new}")
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
    """Return whether a leaf hash is in the tree of this size and root (RFC 9162, 2.1.3.2)."""
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
    """Return whether a tree of ``new`` leaves continues one of ``old`` (RFC 9162, 2.1.4.2).

    Every tree continues the empty tree, with an empty proof.
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
