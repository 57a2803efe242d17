"""Reads the leaves of streams for an audit, and checks that the signed tree proves them."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from domain.audit.seal import Sealed
from domain.transparency import checkpoint, merkle
from domain.transparency.checkpoint import Checkpoint, NoteError, VerifierKey
from eventstore.checkpoints import Checkpoints, Leaf, LeafKind, SignedHead
from service.checkpoints import proofs, signing_keys
from service.checkpoints.proofs import TreeBrokenError
from service.checkpoints.signing_keys import NoteKeyError


class Seals:
    """The leaves of streams, as an audit compares them with the log."""

    def __init__(self, checkpoints: Checkpoints, key_file: Path) -> None:
        """Read this tree. Without a usable key file no signature is checked."""
        self._checkpoints = checkpoints
        self._key_file = key_file

    async def read(self, kind: LeafKind, stream_ids: Sequence[UUID]) -> dict[UUID, list[Sealed]]:
        """Return the leaves of each stream that has any.

        Read the streams after their leaves: a log that has a leaf does not change.
        """
        leaves = await self._checkpoints.read_leaves(kind, stream_ids)
        flaws = await self._flaws(leaves) if leaves else []
        found: dict[UUID, list[Sealed]] = {}
        for leaf, flaw in zip(leaves, flaws, strict=True):
            sealed = Sealed(leaf.head.version, leaf.head.head_hash, flaw)
            found.setdefault(leaf.head.stream_id, []).append(sealed)
        return found

    async def _flaws(self, leaves: Sequence[Leaf]) -> list[str]:
        """Return for each leaf why the newest checkpoint does not prove it; "" if it does."""
        head = await self._checkpoints.read_latest_head()
        try:
            signed = _signed_head(head, public_keys(self._key_file))
            covered = [leaf for leaf in leaves if leaf.leaf_index < signed.size]
            paths = await proofs.read_nodes(
                lambda node: [
                    merkle.inclusion_proof(leaf.leaf_index, signed.size, node) for leaf in covered
                ],
                self._checkpoints.read_nodes,
            )
        except (NoteError, TreeBrokenError) as error:
            return [str(error)] * len(leaves)
        proven = {
            leaf.leaf_index
            for leaf, path in zip(covered, paths, strict=True)
            if merkle.verify_inclusion(
                proofs.leaf_hash(leaf.head), leaf.leaf_index, signed.size, path, signed.root
            )
        }
        return [
            "" if leaf.leaf_index in proven else f"leaf {leaf.leaf_index}, which it does not prove"
            for leaf in leaves
        ]


def public_keys(key_file: Path) -> list[VerifierKey]:
    """Return the public keys of a key file; none if there is no usable file."""
    try:
        return [key.verifier for key in signing_keys.read(key_file)]
    except NoteKeyError:
        return []


def _signed_head(head: SignedHead | None, keys: Sequence[VerifierKey]) -> Checkpoint:
    """Return the checkpoint of a head, signed by one of the keys if there are any.

    Raises NoteError.
    """
    if head is None:
        raise NoteError("a tree without a signed checkpoint")
    errors = []
    for key in keys:
        try:
            return checkpoint.verify_checkpoint(head.note, key)
        except NoteError as error:
            errors.append(error)  # another key may have signed it
    if errors:
        raise errors[0]
    return Checkpoint.parse(checkpoint.split(head.note)[0])
