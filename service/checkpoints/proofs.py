"""The tree of ended matches over what the store keeps of it: roots and proofs."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from domain.transparency import merkle
from domain.transparency.merkle import CompactRange, Node
from eventstore.checkpoints import NodeKey

Nodes = Callable[[Collection[NodeKey]], Awaitable[Mapping[NodeKey, bytes]]]
"""Reads hashes of complete subtrees: `Checkpoints.nodes`, or that of a turn."""
Proof = TypeVar("Proof")

_BLANK = bytes(merkle.HASH_SIZE_BYTES)


class TreeBrokenError(Exception):
    """The tree in the database lacks a node, or is not the one that was signed."""


async def read_nodes(make: Callable[[Node], Proof], nodes: Nodes) -> Proof:
    """What `make` makes of the nodes that it asks for, all of them read at once.

    Raises TreeBrokenError where one is missing, and what `make` raises.
    """
    wanted: list[NodeKey] = []

    def note_down(level: int, index: int) -> bytes:
        wanted.append((level, index))
        return _BLANK

    make(note_down)  # which nodes it asks for follows from the sizes alone
    found = await nodes(wanted)
    missing = [key for key in wanted if key not in found]
    if missing:
        raise TreeBrokenError(f"the tree lacks the node {missing[0]}")
    return make(lambda level, index: found[level, index])


async def root(size: int, nodes: Nodes) -> bytes:
    """The root of the first `size` leaves. Raises TreeBrokenError."""
    return await read_nodes(lambda node: merkle.root(size, node), nodes)


async def compact_range(size: int, nodes: Nodes) -> CompactRange:
    """The tree of the first `size` leaves, ready to grow. Raises TreeBrokenError."""

    def make(node: Node) -> list[bytes]:
        start, hashes = 0, []
        for level in reversed(range(size.bit_length())):
            if size >> level & 1:
                hashes.append(node(level, start >> level))
                start += 1 << level
        return hashes

    return CompactRange(size, await read_nodes(make, nodes))


async def inclusion_proof(index: int, size: int, nodes: Nodes) -> list[bytes]:
    """That a leaf is in the tree of the first `size`. Raises ValueError, TreeBrokenError."""
    return await read_nodes(lambda node: merkle.inclusion_proof(index, size, node), nodes)


async def consistency_proof(old: int, new: int, nodes: Nodes) -> list[bytes]:
    """That a tree grew out of an older one; the empty tree needs none.

    Raises ValueError unless 0 <= old <= new, and TreeBrokenError.
    """
    if old == 0:
        return []
    return await read_nodes(lambda node: merkle.consistency_proof(old, new, node), nodes)
