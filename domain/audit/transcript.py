"""Verifies a transcript from the file and a public key alone.

The format is described in docs/transcript-format.md.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from domain.audit import claims
from domain.audit.findings import Finding, Kind, Notebook, Severity
from domain.audit.proof import verify_proof
from domain.audit.records import first_difference
from domain.audit.report import AuditReport, audit
from domain.transparency.checkpoint import Checkpoint
from durak.v1.transcript_pb2 import Transcript

FORMAT_VERSION: Final = 1
_CLAUSE: Final = "transcript format"


class Outcome(StrEnum):
    """The outcome of a verification."""

    PROVEN = "proven"
    """No fault, and a signed checkpoint covers every byte of the records."""
    CONSISTENT = "consistent"
    """No fault, but no signature covers the records: anyone can make up a match by the rules."""
    REFUTED = "refuted"
    """There are faults."""


class Verification(NamedTuple):
    """The result of verifying a transcript. Sentences are for people, findings for tools."""

    outcome: Outcome
    proven: tuple[str, ...]
    not_proven: tuple[str, ...]
    findings: tuple[Finding, ...]
    """The findings of the report, and those of the file and its proof."""
    report: AuditReport | None
    """None if the file cannot be read."""
    checkpoint: Checkpoint | None
    """The file's checkpoint, if the given key has signed it."""


def verify(data: bytes, public_key: str | None) -> Verification:
    """Verify a transcript. Never raises on bad input: a file that cannot be read is a finding.

    Args:
        data: the bytes of the file.
        public_key: the verifier key of the service, as ``name+key id+base64``
            (`domain.transparency.checkpoint.VerifierKey`). Without a key nothing is proven.
    """
    notes = Notebook()
    transcript = _read(data, notes)
    if transcript is None:
        return Verification(Outcome.REFUTED, (), claims.LIMITS, tuple(notes.findings), None, None)
    report = audit(
        [(n, it.record, it.hash) for n, it in enumerate(transcript.records, start=1)],
        match_id=transcript.match_id,
        ledger=transcript.ledger,
    )
    facts = report.facts
    notes.version = facts.head_version
    inclusion = transcript.inclusion if transcript.HasField("inclusion") else None
    proof = verify_proof(facts, transcript.checkpoint, inclusion, public_key, notes)
    anchor = proof.signed if proof.holds else None
    findings = (*report.findings, *notes.findings)
    return Verification(
        outcome=_outcome(findings, is_anchored=anchor is not None),
        proven=claims.proven(facts, findings, transcript.inclusion.leaf_index, anchor),
        not_proven=claims.not_proven(facts, transcript, anchor, has_key=public_key is not None),
        findings=findings,
        report=report,
        checkpoint=proof.signed,
    )


def _read(data: bytes, notes: Notebook) -> Transcript | None:
    """Read the file, which must be the canonical form of a transcript of a known version."""
    try:
        transcript = Transcript.FromString(data)
    except DecodeError:
        notes.fault(Kind.FORMAT, _CLAUSE, "a Transcript", f"{len(data)} bytes of something else")
        return None
    if transcript.format_version != FORMAT_VERSION:
        known = f"format version {FORMAT_VERSION}"
        notes.fault(Kind.FORMAT, _CLAUSE, known, transcript.format_version)
        return None
    transcript.DiscardUnknownFields()
    canonical = transcript.SerializeToString(deterministic=True)
    if canonical != data:
        expected = f"the {len(canonical)} bytes that known fields have in canonical form"
        found = f"{len(data)} bytes, others from {first_difference(canonical, data)} on"
        notes.fault(Kind.FORMAT, _CLAUSE, expected, found)
    return transcript


def _outcome(findings: Iterable[Finding], *, is_anchored: bool) -> Outcome:
    if any(finding.severity is Severity.FAULT for finding in findings):
        return Outcome.REFUTED
    return Outcome.PROVEN if is_anchored else Outcome.CONSISTENT
