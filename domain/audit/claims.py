"""The claims that a verified transcript proves, and those that it does not, in sentences."""

from collections.abc import Iterable
from typing import Final

from domain.audit.findings import Finding, Kind, Severity
from domain.audit.report import Facts
from domain.transparency.checkpoint import Checkpoint
from durak.v1.transcript_pb2 import Transcript

_INTACT: Final = "The records fit their hash chain, from the first to the last."
_SHUFFLED: Final = (
    "The deck is the one that the promised server seed and the players' promised secrets give."
)
_LEGAL: Final = "Every move, verdict, timeout and draw follows the rules."
_SETTLED: Final = "Outcome, places and shares follow from the rules."
_PAID: Final = "Every coin of the match moved as its events demand, and none is left over."
_IN_TREE: Final = (
    "The match is leaf {index} in the tree of {size} leaves that {name} has signed: "
    "no record was changed since."
)
LIMITS: Final = (
    "That the records were true when they were written: a server can record any match.",
    "That the server, which knows the deck from its seed, showed no card of it to a player.",
    "That all clients were shown the same tree: compare checkpoints with others or a witness.",
    "That only the service had the signing key.",
)
"""Claims that no file can prove."""
_NO_KEY: Final = "That the service has signed it: no public key was given."
_NO_CHECKPOINT: Final = "That the service has signed it: the transcript has no checkpoint."
_NOT_IN_TREE: Final = "That the service has signed it: the signed tree does not hold these records."
_RUNNING: Final = "The result: the match has not ended."
_COINS_UNSIGNED: Final = (
    "That the ledger entries are those of the service: they fit the events, but are not signed."
)

_BYTES: Final = frozenset(
    (
        Kind.UNREADABLE,
        Kind.UNKNOWN_CONTENT,
        Kind.NOT_CANONICAL,
        Kind.CHAIN,
        Kind.MATCH_ID,
        Kind.VERSION,
        Kind.FORMAT,
    )
)
_DECK: Final = frozenset((Kind.SEED, Kind.REVEAL, Kind.SHUFFLE, Kind.FIRST_ATTACKER))
_RESULT: Final = frozenset((Kind.OUTCOME, Kind.PLACE, Kind.SHARE))
_COINS: Final = frozenset((Kind.STAKE, Kind.REFUND, Kind.PAYOUT, Kind.ESCROW, Kind.LEDGER))
_PROOF: Final = frozenset((Kind.CHECKPOINT, Kind.INCLUSION, Kind.FORMAT))


def proven(
    facts: Facts, findings: Iterable[Finding], leaf_index: int, anchor: Checkpoint | None
) -> tuple[str, ...]:
    """Return the claims that no fault contradicts: none if the bytes are broken.

    Args:
        facts: the match as the audit reads it.
        findings: all findings of the transcript.
        leaf_index: the match's place in the tree of ``anchor``.
        anchor: the signed checkpoint whose tree holds the match; None if nothing proves that.
    """
    faults = {finding.kind for finding in findings if finding.severity is Severity.FAULT}
    if faults & _BYTES:
        return ()
    claims = [_INTACT]
    if anchor is not None:
        claims.append(_IN_TREE.format(index=leaf_index, size=anchor.size, name=anchor.origin))
    was_dealt = facts.bouts > 0
    if was_dealt and not faults & _DECK:
        claims.append(_SHUFFLED)
    if not faults - _DECK - _RESULT - _COINS - _PROOF:
        claims.append(_LEGAL)
    if facts.is_ended and not faults - _COINS - _PROOF:
        claims.append(_SETTLED)
    if not faults - _PROOF and facts.stake_coins:
        claims.append(_PAID)
    return tuple(claims)


def not_proven(
    facts: Facts, transcript: Transcript, anchor: Checkpoint | None, *, has_key: bool
) -> tuple[str, ...]:
    """Return the claims that this transcript leaves unproven, and those that none can prove."""
    gaps = []
    if anchor is None:
        if not transcript.checkpoint:
            gaps.append(_NO_CHECKPOINT)
        else:
            gaps.append(_NOT_IN_TREE if has_key else _NO_KEY)
    if not facts.is_ended:
        gaps.append(_RUNNING)
    if transcript.ledger:
        gaps.append(_COINS_UNSIGNED)
    return (*gaps, *LIMITS)
