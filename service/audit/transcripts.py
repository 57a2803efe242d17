"""Exports a match as a transcript: one file with its coins and its place in the signed tree."""

from domain.audit.transcript import FORMAT_VERSION
from durak.v1.transcript_pb2 import InclusionProof, Transcript, TranscriptRecord
from eventstore.checkpoints import Checkpoints, Leaf, SignedHead
from eventstore.whole_matches import WholeMatch
from service.checkpoints import proofs
from service.judging.ledger_entries import entries_of


async def export(match: WholeMatch, checkpoints: Checkpoints) -> bytes:
    """Return the bytes of the file; without a proof if no checkpoint holds the match.

    Raises TreeBrokenError.
    """
    transcript = Transcript(
        format_version=FORMAT_VERSION,
        match_id=match.match_id.bytes,
        records=[TranscriptRecord(record=one.record, hash=one.hash) for one in match.records],
        ledger=entries_of(match.records, match.transfers),
    )
    head = await checkpoints.read_latest_head()
    leaf = await checkpoints.read_leaf(match.match_id)
    if head is not None and leaf is not None and leaf.leaf_index < head.tree_size:
        transcript.inclusion.CopyFrom(await prove_inclusion(leaf, head, checkpoints))
        transcript.checkpoint = head.note
    return transcript.SerializeToString(deterministic=True)


async def prove_inclusion(leaf: Leaf, head: SignedHead, checkpoints: Checkpoints) -> InclusionProof:
    """Return the proof that a leaf is in the tree of a checkpoint. Raises TreeBrokenError."""
    size = head.tree_size
    hashes = await proofs.inclusion_proof(leaf.leaf_index, size, checkpoints.read_nodes)
    return InclusionProof(leaf_index=leaf.leaf_index, tree_size=size, hashes=hashes)
