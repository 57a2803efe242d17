"""Exports a match as a transcript: one file with its coins and its place in the signed tree."""

from domain.audit.transcript import FORMAT_VERSION
from durak.v1.transcript_pb2 import Transcript, TranscriptRecord
from eventstore.checkpoints import Checkpoints, LeafKind
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
    if head is not None:
        leaf = await checkpoints.read_leaf(LeafKind.MATCH, match.match_id, head.tree_size)
        if leaf is not None:
            proof = await proofs.prove_leaf(leaf, head.tree_size, checkpoints.read_nodes)
            transcript.inclusion.CopyFrom(proof)
            transcript.checkpoint = head.note
    return transcript.SerializeToString(deterministic=True)
