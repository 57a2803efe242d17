"""Checks that a match is a leaf of a signed tree: checkpoint signature and inclusion proof."""

from typing import Final, NamedTuple

from domain.audit.findings import Kind, Notebook
from domain.audit.report import Facts
from domain.transparency import checkpoint, merkle
from domain.transparency.checkpoint import Checkpoint, NoteError, VerifierKey
from durak.v1.transcript_pb2 import InclusionProof

_CLAUSE: Final = "design: checkpoints"


class Proof(NamedTuple):
    """The result of checking a proof."""

    signed: Checkpoint | None
    """The checkpoint, if the given key has signed it."""
    holds: bool
    """True if the match is a leaf of the tree of ``signed``."""


def verify_proof(
    facts: Facts,
    note: str,
    inclusion: InclusionProof | None,
    public_key: str | None,
    notes: Notebook,
) -> Proof:
    """Check the proof that a match is in a signed tree.

    Args:
        facts: the match as the audit reads it.
        note: the signed checkpoint, or an empty text.
        inclusion: the path from the match's leaf to the checkpoint's root, if there is one.
        public_key: the verifier key of the service. Without a key nothing is proven, but a path
            that does not lead to the root of the checkpoint is a fault.
        notes: collects the findings.
    """
    if inclusion is not None and not note:
        notes.fault(Kind.CHECKPOINT, _CLAUSE, "a checkpoint for the proof", "none")
    head = _read_checkpoint(note, public_key, notes) if note else None
    if inclusion is None and note:
        notes.fault(Kind.INCLUSION, _CLAUSE, "a proof that leads to the checkpoint", "none")
    if not facts.is_ended:
        _report_unfinished(facts, notes, has_proof=inclusion is not None)
    if head is None or inclusion is None:
        return Proof(None if public_key is None else head, holds=False)
    if inclusion.tree_size != head.size:
        size = f"a tree of {head.size} leaves"
        notes.fault(Kind.INCLUSION, _CLAUSE, size, inclusion.tree_size)
    holds = _holds(facts, inclusion, head, notes)
    if public_key is None:
        return Proof(None, holds=False)  # a wrong path is a fault, a right one proves nothing
    return Proof(head, holds)


def _read_checkpoint(note: str, public_key: str | None, notes: Notebook) -> Checkpoint | None:
    """Return the checkpoint of a note; with a key, only if the key has signed it."""
    try:
        if public_key is None:
            return Checkpoint.parse(checkpoint.split(note)[0])
        return checkpoint.verify_checkpoint(note, VerifierKey.parse(public_key))
    except NoteError as error:
        notes.fault(Kind.CHECKPOINT, _CLAUSE, "a checkpoint signed by the given key", error)
        return None


def _report_unfinished(facts: Facts, notes: Notebook, *, has_proof: bool) -> None:
    last = f"version {facts.head_version} as the last record"
    if has_proof:
        notes.fault(Kind.UNFINISHED, _CLAUSE, "an ended match, if it is in the tree", last)
    else:  # a transcript that was cut off with its proof looks like one of a running match
        notes.note(Kind.UNFINISHED, _CLAUSE, "a match that has ended, to prove more", last)


def _holds(facts: Facts, proof: InclusionProof, head: Checkpoint, notes: Notebook) -> bool:
    if len(facts.match_id) == 16:
        leaf = merkle.stream_leaf(merkle.MATCH_LEAF, *facts[:3])
        place = proof.leaf_index, head.size, list(proof.hashes)
        if merkle.verify_inclusion(merkle.leaf_hash(leaf), *place, head.root):
            return True
    found = f"version {facts.head_version} with hash {facts.head_hash.hex()}"
    notes.fault(Kind.INCLUSION, _CLAUSE, f"a leaf of the tree of root {head.root.hex()}", found)
    return False
