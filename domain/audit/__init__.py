"""The auditor: a second implementation of the rules. It judges stored matches and plays none.

It shares no code with the game, so that a mistake in either shows as a difference. Start at
`report` (audit one match) or `transcript` (verify a transcript file, in which a match is one part
beside its ledger entries and its proof).

- `findings`, `report`: the results · `transcript`, `proof`, `claims`: what a file proves
- `records`: chain, framing, order · `commands`: actor, request and time of each command
- `table`: opening and seats · `deck`: cards and shuffle · `score`: places and shares
- `state`: cards, turn, and the next consequence · `bout`: the rules that each play breaks
- `referee` reads a log with `moves` (players), `clock` (deadlines) and `comparison` (consequences)
- `seal`: the leaf of the match in the signed tree
- `coins`: the coins of the match · `ledger`: the entries that they must have
"""

from domain.audit.findings import Cheat, Finding, Kind, Severity, Verdict
from domain.audit.records import Stored
from domain.audit.report import AuditReport, Facts, audit

__all__ = [
    "AuditReport",
    "Cheat",
    "Facts",
    "Finding",
    "Kind",
    "Severity",
    "Stored",
    "Verdict",
    "audit",
]
