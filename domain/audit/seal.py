"""Compares a log with its leaf in the signed tree."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from domain.audit.findings import Finding, Kind, Notebook
from domain.audit.records import Log

_CLAUSE: Final = "design: checkpoints"


class Sealed(NamedTuple):
    """The head of a stream as its leaf has it."""

    version: int
    head_hash: bytes
    flaw: str = ""
    """The reason why the signed tree does not prove this leaf; empty if it does."""


def judge_seals(log: Log, seals: Iterable[Sealed]) -> list[Finding]:
    """Judge that the log is the one that was signed: every leaf has its head."""
    notes = Notebook()
    notes.version = log.head_version
    for version, head_hash, flaw in seals:
        if flaw:
            notes.fault(Kind.CHECKPOINT, _CLAUSE, "a leaf that the signed tree proves", flaw)
        if (version, head_hash) != (log.head_version, log.head_hash):
            signed = f"the signed log: version {version} with hash {head_hash.hex()}"
            found = f"another log: version {log.head_version} with hash {log.head_hash.hex()}"
            notes.fault(Kind.INCLUSION, _CLAUSE, signed, found)
    return notes.findings
