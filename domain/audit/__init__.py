"""The auditor: a second implementation of the rules, which judges finished work and plays none.

It shares no code with the rest of the core, so that a mistake there shows here. Start with `audit`
(one match) and `domain.audit.transcript` (a transcript file).

- `records` chain, framing, order · `table` opening and seats · `deck` cards and shuffle
- `bout` one bout and what each move breaks · `state` what must come next · `score` the result
- `referee` who, when, which card · `consequences` what follows from the rules · `coins` the ledger
"""

from domain.audit.coins import EntryKind, LedgerEntry
from domain.audit.findings import (
    AuditReport,
    Cheat,
    Facts,
    Finding,
    Kind,
    Severity,
    Verdict,
)
from domain.audit.judge import audit
from domain.audit.records import Stored

__all__ = [
    "AuditReport",
    "Cheat",
    "EntryKind",
    "Facts",
    "Finding",
    "Kind",
    "LedgerEntry",
    "Severity",
    "Stored",
    "Verdict",
    "audit",
]
