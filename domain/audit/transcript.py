"""Checks a transcript with nothing but the file and a public key, and says what that proves.

The format is described in docs/transcript-format.md.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from domain.audit.coins import LedgerEntry
from domain.audit.findings import AuditReport, Finding, Kind, Notebook, Severity
from domain.audit.judge import audit
from domain.transparency import checkpoint, merkle
from domain.transparency.checkpoint import Checkpoint, NoteError, VerifierKey
from durak.v1.transcript_pb2 import LedgerEntry as LedgerEntryMessage
from durak.v1.transcript_pb2 import Transcript

FORMAT_VERSION: Final = 1
_CLAUSE: Final = "design: checkpoints"
_FORMAT_CLAUSE: Final = "transcript format"

_INTACT: Final = "The records fit their hash chain, from the first to the last."
_SHUFFLED: Final = "The deck is the one that the promised server seed and the players' seeds give."
_LEGAL: Final = "Every move, verdict, act of the clock and draw is what the rules allow or demand."
_SETTLED: Final = "Outcome, places and shares are what the rules give."
_PAID: Final = "Every coin of the match moved as its events say, and none was left over."
_IN_TREE: Final = (
    "The match stands as leaf {index} in the tree of {size} matches that {name} has signed: "
    "nothing in its records was changed since."
)
# What no file can prove.
_LIMITS: Final = (
    "That what a record says was true when it was written: a server can write down any match.",
    "That the server did not look into the deck, which it knows from its seed, or tell a player.",
    "That everybody was shown the same tree: compare checkpoints with others, or with a witness.",
    "That the signing key was in the service's hands alone.",
)
_NO_KEY: Final = "That the service vouches for it: no public key was given."
_NO_CHECKPOINT: Final = "That the service vouches for it: the transcript has no checkpoint."
_NOT_IN_TREE: Final = "That the service vouches for it: what it signed is not this match."
_RUNNING: Final = "Anything about the result: the match had not ended."
_COINS_UNKNOWN: Final = "Ledger entries are not part of the signed tree: they fit the events."


class Outcome(StrEnum):
    """What a verification comes to."""

    PROVEN = "proven"
    """No fault, and a signed checkpoint vouches for every byte of the records."""
    CONSISTENT = "consistent"
    """No fault, and nobody vouches for it: it may be a match that somebody made up by the rules."""
    REFUTED = "refuted"
    """There are faults."""


class Verification(NamedTuple):
    """What was checked, and what it proves. Sentences are for people, findings for tools."""

    outcome: Outcome
    proven: tuple[str, ...]
    not_proven: tuple[str, ...]
    findings: tuple[Finding, ...]
    """Those of the report, and those of the file and its proof."""
    report: AuditReport | None
    """None where the file could not be read."""
    checkpoint: Checkpoint | None
    """The checkpoint that vouches for the match, once its signature is verified."""


def verify(data: bytes, public_key: str | None) -> Verification:
    """Verify a transcript. Never raises on bad input: what cannot be read is a finding.

    Args:
        data: the bytes of the file.
        public_key: the verifier key of the service, as ``name+key id+base64``
            (`domain.transparency.checkpoint.VerifierKey`); None where there is none at hand.
    """
    notes = Notebook()
    transcript = _read(data, notes)
    if transcript is None:
        return Verification(Outcome.REFUTED, (), _LIMITS, tuple(notes.findings), None, None)
    report = audit(
        [(n, it.record, it.hash) for n, it in enumerate(transcript.records, start=1)],
        match_id=transcript.match_id,
        ledger=[entry_of(message) for message in transcript.ledger],
    )
    notes.version = report.facts.head_version
    signed = _verify_checkpoint(transcript, public_key, notes)
    anchor = _verify_inclusion(transcript, report, signed, notes)
    findings = (*report.findings, *notes.findings)
    return Verification(
        outcome=_outcome(findings, anchor),
        proven=_proven(report, findings, transcript, anchor),
        not_proven=_not_proven(report, transcript, public_key, anchor),
        findings=findings,
        report=report,
        checkpoint=signed,
    )


def entry_of(message: LedgerEntryMessage) -> LedgerEntry:
    """A ledger entry of a transcript as the audit takes it."""
    return LedgerEntry(
        message.transfer_id,
        message.kind,
        message.match_id,
        message.version,
        message.player_id,
        message.coins,
        message.event_time.seconds * 1_000_000 + message.event_time.nanos // 1000,
    )


def _read(data: bytes, notes: Notebook) -> Transcript | None:
    try:
        transcript = Transcript.FromString(data)
    except DecodeError:
        notes.fault(Kind.FORMAT, _FORMAT_CLAUSE, "a Transcript", f"{len(data)} bytes that are none")
        return None
    if transcript.format_version != FORMAT_VERSION:
        found = transcript.format_version
        notes.fault(Kind.FORMAT, _FORMAT_CLAUSE, f"format version {FORMAT_VERSION}", found)
        return None
    transcript.DiscardUnknownFields()
    canonical = transcript.SerializeToString(deterministic=True)
    if canonical != data:
        expected = f"the {len(canonical)} bytes that known fields have in canonical form"
        other = f"{len(data)} bytes, others from {_first_difference(canonical, data)} on"
        notes.fault(Kind.FORMAT, _FORMAT_CLAUSE, expected, other)
    for entry in transcript.ledger:
        if not 0 <= entry.event_time.nanos < 1_000_000_000 or entry.event_time.nanos % 1000:
            notes.version = entry.version
            notes.fault(Kind.LEDGER, _FORMAT_CLAUSE, "microseconds", f"{entry.event_time.nanos} ns")
    return transcript


def _first_difference(one: bytes, other: bytes) -> int:
    """Where two strings of bytes part, counted from 0."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _verify_checkpoint(
    transcript: Transcript, public_key: str | None, notes: Notebook
) -> Checkpoint | None:
    if not transcript.checkpoint:
        if transcript.HasField("inclusion"):
            notes.fault(Kind.CHECKPOINT, _CLAUSE, "a checkpoint for the proof", "none")
        return None
    try:
        unsigned = Checkpoint.parse(checkpoint.split(transcript.checkpoint)[0])
        if public_key is None:
            _check_size(transcript, unsigned, notes)
            return None
        return checkpoint.verify_checkpoint(transcript.checkpoint, VerifierKey.parse(public_key))
    except NoteError as error:
        notes.fault(Kind.CHECKPOINT, _CLAUSE, "a checkpoint signed by the given key", error)
        return None


def _check_size(transcript: Transcript, head: Checkpoint, notes: Notebook) -> None:
    size = transcript.inclusion.tree_size
    if size != head.size:
        notes.fault(Kind.INCLUSION, _CLAUSE, f"a tree of {head.size} leaves", size)


def _verify_inclusion(
    transcript: Transcript, report: AuditReport, signed: Checkpoint | None, notes: Notebook
) -> Checkpoint | None:
    """The checkpoint, if the match as it stands here is a leaf of its tree."""
    if transcript.checkpoint and not transcript.HasField("inclusion"):
        notes.fault(Kind.INCLUSION, _CLAUSE, "a proof that leads to the checkpoint", "none")
    if not report.facts.is_ended:
        last = f"version {report.facts.head_version} as the last record"
        if transcript.HasField("inclusion"):
            notes.fault(Kind.UNFINISHED, _CLAUSE, "an ended match, if it is in the tree", last)
        else:  # cut off with its proof, it looks like one that runs
            notes.note(Kind.UNFINISHED, _CLAUSE, "a match that has ended, to prove more", last)
    if signed is None or not transcript.HasField("inclusion"):
        return None
    _check_size(transcript, signed, notes)
    facts, proof = report.facts, transcript.inclusion
    if len(facts.match_id) == 16:
        leaf = merkle.match_leaf(facts.match_id, facts.head_version, facts.head_hash)
        place = proof.leaf_index, signed.size, list(proof.hashes)
        if merkle.verify_inclusion(merkle.leaf_hash(leaf), *place, signed.root):
            return signed
    head = f"version {facts.head_version} with hash {facts.head_hash.hex()}"
    notes.fault(Kind.INCLUSION, _CLAUSE, f"a leaf of the signed tree: {signed.root.hex()}", head)
    return None


def _outcome(findings: Iterable[Finding], anchor: Checkpoint | None) -> Outcome:
    if any(finding.severity is Severity.FAULT for finding in findings):
        return Outcome.REFUTED
    return Outcome.CONSISTENT if anchor is None else Outcome.PROVEN


# --- what it proves ------------------------------------------------------------------------------

_BYTES: Final = frozenset(
    (Kind.UNREADABLE, Kind.UNKNOWN_CONTENT, Kind.CHAIN, Kind.MATCH_ID, Kind.VERSION, Kind.FORMAT)
)
_DECK: Final = frozenset((Kind.SEED, Kind.SHUFFLE, Kind.FIRST_ATTACKER))
_RESULT: Final = frozenset((Kind.OUTCOME, Kind.PLACE, Kind.SHARE))
_COINS: Final = frozenset((Kind.STAKE, Kind.REFUND, Kind.PAYOUT, Kind.ESCROW, Kind.LEDGER))
_PROOF: Final = frozenset((Kind.CHECKPOINT, Kind.INCLUSION, Kind.FORMAT))


def _proven(
    report: AuditReport,
    findings: Iterable[Finding],
    transcript: Transcript,
    anchor: Checkpoint | None,
) -> tuple[str, ...]:
    """The claims that no fault stands against. Where the bytes are broken there is none."""
    faults = {finding.kind for finding in findings if finding.severity is Severity.FAULT}
    if faults & _BYTES:
        return ()
    claims = [_INTACT]
    if anchor is not None:
        place = transcript.inclusion.leaf_index, anchor.size
        claims.append(_IN_TREE.format(index=place[0], size=place[1], name=anchor.origin))
    was_dealt = report.facts.bouts > 0
    if was_dealt and not faults & _DECK:
        claims.append(_SHUFFLED)
    if not faults - _DECK - _RESULT - _COINS - _PROOF:
        claims.append(_LEGAL)
    if report.facts.is_ended and not faults - _COINS - _PROOF:
        claims.append(_SETTLED)
    if not faults - _PROOF and report.facts.stake_coins:
        claims.append(_PAID)
    return tuple(claims)


def _not_proven(
    report: AuditReport, transcript: Transcript, public_key: str | None, anchor: Checkpoint | None
) -> tuple[str, ...]:
    gaps = []
    if anchor is None:
        if not transcript.checkpoint:
            gaps.append(_NO_CHECKPOINT)
        else:
            gaps.append(_NO_KEY if public_key is None else _NOT_IN_TREE)
    if not report.facts.is_ended:
        gaps.append(_RUNNING)
    if transcript.ledger:
        gaps.append(_COINS_UNKNOWN)
    return (*gaps, *_LIMITS)
