"""The results of an audit as plain data: findings, illegal plays, and verdicts on challenges."""

from enum import StrEnum
from typing import Final, NamedTuple

FINDINGS_MAX: Final = 200
TEXT_CHARS_MAX: Final = 1_000


class Severity(StrEnum):
    """Whether a finding is a fault."""

    FAULT = "fault"
    """The log, the coins or the proof are wrong."""
    NOTE = "note"
    """Allowed, and worth the auditor's attention."""


class Kind(StrEnum):
    """The kinds of findings. The values are stable: tools may rely on them."""

    # The bytes and their order.
    UNREADABLE = "unreadable"
    UNKNOWN_CONTENT = "unknown_content"
    NOT_CANONICAL = "not_canonical"
    CHAIN = "chain"
    MATCH_ID = "match_id"
    VERSION = "version"
    TIME = "time"
    ACTOR = "actor"
    REQUEST = "request"
    # The table and the deal.
    OPENING = "opening"
    SETTINGS = "settings"
    RULES_VERSION = "rules_version"
    SEED = "seed"
    SEATING = "seating"
    SHUFFLE = "shuffle"
    FIRST_ATTACKER = "first_attacker"
    REVEAL = "reveal"
    # Moves.
    OUT_OF_PLAY = "out_of_play"
    OUT_OF_TURN = "out_of_turn"
    CARD_NOT_HELD = "card_not_held"
    CAP = "cap"
    RANK = "rank"
    TARGET = "target"
    BEAT = "beat"
    TRANSFER = "transfer"
    TAKE = "take"
    PASS = "pass"  # noqa: S105 - the move
    CHALLENGE = "challenge"
    VERDICT = "verdict"
    # The consequences of the rules.
    MISSING = "missing"
    UNEXPECTED = "unexpected"
    DISCARDED = "discarded"
    TOOK = "took"
    DREW = "drew"
    WENT_OUT = "went_out"
    # The clock and leaving.
    TIMEOUT = "timeout"
    SERVER_ACT = "server_act"
    LEFT = "left"
    LATE_MOVE = "late_move"
    # The result.
    OUTCOME = "outcome"
    PLACE = "place"
    SHARE = "share"
    UNFINISHED = "unfinished"
    # The coins.
    STAKE = "stake"
    REFUND = "refund"
    PAYOUT = "payout"
    ESCROW = "escrow"
    LEDGER = "ledger"
    # The proof.
    FORMAT = "format"
    CHECKPOINT = "checkpoint"
    INCLUSION = "inclusion"
    # The audit itself.
    TOO_MANY = "too_many"


class Finding(NamedTuple):
    """One difference between the log and the rules.

    ``clause`` is the rule (as in ``R5.1``) or part of the design that is broken; ``version`` the
    record concerned, 0 if none; ``seat`` the seat concerned, if any.
    """

    kind: Kind
    clause: str
    version: int
    seat: int | None
    expected: str
    found: str
    severity: Severity = Severity.FAULT

    def __str__(self) -> str:
        """Return the finding as one line of text."""
        seat = "" if self.seat is None else f", seat {self.seat}"
        return (
            f"{self.severity} {self.kind} ({self.clause}) at version {self.version}{seat}: "
            f"expected {self.expected}, found {self.found}"
        )


class Cheat(NamedTuple):
    """An illegal play at a tricky table (R11.1): allowed, so no finding, but listed (R11.6).

    ``caught_by`` is the version of the challenge that caught it, 0 if none did.
    """

    version: int
    seat: int
    card: int
    clause: str
    caught_by: int


class Verdict(NamedTuple):
    """A challenge and its verdict by the rules (R11.4)."""

    version: int
    accuser: int
    play_version: int
    accused: int
    clause: str
    """The clause that the play broke; empty if it was legal."""
    upheld: bool


class Notebook:
    """Collects findings. ``version`` is the record that is being judged."""

    __slots__ = ("findings", "version")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.version = 0

    def fault(
        self, kind: Kind, clause: str, expected: object, found: object, seat: int | None = None
    ) -> None:
        """Add a fault at the current version."""
        self.add(Finding(kind, clause, self.version, seat, _printable(expected), _printable(found)))

    def note(
        self, kind: Kind, clause: str, expected: object, found: object, seat: int | None = None
    ) -> None:
        """Add a note at the current version: allowed, and worth the auditor's attention."""
        texts = _printable(expected), _printable(found)
        self.add(Finding(kind, clause, self.version, seat, *texts, Severity.NOTE))

    def add(self, finding: Finding) -> None:
        """Add a finding. Beyond the limit, one last finding says that there are more."""
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(finding)
        elif len(self.findings) == FINDINGS_MAX:
            more = f"at most {FINDINGS_MAX} findings", "more"
            self.findings.append(Finding(Kind.TOO_MANY, "audit", finding.version, None, *more))


def _printable(value: object) -> str:
    """Return a value as printable text of limited length.

    The value comes from the log or the file and is shown on terminals and web pages. Characters
    that would control those (escape sequences, text direction) are escaped.
    """
    text = str(value)
    if len(text) > TEXT_CHARS_MAX:
        text = f"{text[:TEXT_CHARS_MAX]}… ({len(text)} characters)"
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
