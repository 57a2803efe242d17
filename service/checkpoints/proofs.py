"""Leaves, roots and proofs of the tree, from the nodes in the store."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from domain.transparency import merkle
from domain.transparency.merkle import CompactRange, Node
from durak.v1.transcript_pb2 import InclusionProof
from eventstore.checkpoints import Leaf, LeafKind, NodeKey, StreamHead

Nodes = Callable[[Collection[NodeKey]], Awaitable[Mapping[NodeKey, bytes]]]
"""Reads hashes of complete subtrees: `Checkpoints.read_nodes` or `TreeUpdate.read_nodes`."""
Proof = TypeVar("Proof")

LABELS: Final[Mapping[LeafKind, bytes]] = MappingProxyType(
    {
        LeafKind.MATCH: merkle.MATCH_LEAF,
        LeafKind.DISPUTE: merkle.DISPUTE_LEAF,
        LeafKind.ADMINISTRATION: merkle.ADMINISTRATION_LEAF,
    }
)
_BLANK = bytes(merkle.HASH_SIZE_BYTES)


class TreeBrokenError(Exception):
    """The tree in the database lacks a node, or differs from the signed tree."""


async def read_nodes(make: Callable[[Node], Proof], nodes: Nodes) -> Proof:
    """Return the result of `make`, which computes it from nodes. Read all its nodes in one query.

    `make` runs twice: first to collect the keys of its nodes, then with their hashes. Raises
    TreeBrokenError if a node is missing, and the errors of `make`.
    """
    wanted: list[NodeKey] = []

    def note_down(level: int, index: int) -> bytes:
        wanted.append((level, index))
        return _BLANK

    make(note_down)  # the nodes that it reads depend only on sizes, not on hashes
    found = await nodes(wanted)
    missing = [key for key in wanted if key not in found]
    if missing:
        raise TreeBrokenError(f"the tree lacks the node {missing[0]}")
    return make(lambda level, index: found[level, index])


async def root(size: int, nodes: Nodes) -> bytes:
    """Return the root of the first `size` leaves. Raises TreeBrokenError."""
    return await read_nodes(lambda node: merkle.root(size, node), nodes)


async def compact_range(size: int, nodes: Nodes) -> CompactRange:
    """Return the tree of the first `size` leaves, ready for appends. Raises TreeBrokenError."""

    def make(node: Node) -> list[bytes]:
        start, hashes = 0, []
        for level in reversed(range(size.bit_length())):
            if size >> level & 1:
                hashes.append(node(level, start >> level))
                start += 1 << level
        return hashes

    return CompactRange(size, await read_nodes(make, nodes))


def leaf_hash(head: StreamHead) -> bytes:
    """Return the hash of the leaf that a stream with this head has."""
    leaf = merkle.stream_leaf(LABELS[head.kind], head.stream_id.bytes, head.version, head.head_hash)
    return merkle.leaf_hash(leaf)


async def prove_leaf(leaf: Leaf, size: int, nodes: Nodes) -> InclusionProof:
    """Return the proof of a leaf in the tree of `size` leaves. Raises TreeBrokenError."""
    hashes = await inclusion_proof(leaf.leaf_index, size, nodes)
    return InclusionProof(leaf_index=leaf.leaf_index, tree_size=size, hashes=hashes)


async def inclusion_proof(index: int, size: int, nodes: Nodes) -> list[bytes]:
    """Prove that a leaf is in the tree of `size` leaves. Raises ValueError, TreeBrokenError."""
    return await read_nodes(lambda node: merkle.inclusion_proof(index, size, node), nodes)


async def consistency_proof(old: int, new: int, nodes: Nodes) -> list[bytes]:
    """Prove that a tree continues an older one. For the empty tree the proof is empty.

    Raises ValueError unless 0 <= old <= new, and TreeBrokenError.
    """
    if old == 0:
        return []
    return await read_nodes(lambda node: merkle.consistency_proof(old, new, node), nodes)
