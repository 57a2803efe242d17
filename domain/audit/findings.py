"""What an audit says, as data: findings, cheats, verdicts and the facts of a match."""

from enum import StrEnum
from typing import Final, NamedTuple

FINDINGS_MAX: Final = 200
SAID_LIMIT_CHARS: Final = 1_000


class Severity(StrEnum):
    """How much a finding weighs."""

    FAULT = "fault"
    """The log, the coins or the proof are not what they must be."""
    NOTE = "note"
    """Worth seeing, and allowed."""


class Kind(StrEnum):
    """What is wrong. The values are stable: tools may rely on them."""

    # The bytes and their order.
    UNREADABLE = "unreadable"
    UNKNOWN_CONTENT = "unknown_content"
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
    # What the rules make of them.
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
    """One thing that is not as it must be.

    ``clause`` is the rule (as in ``R5.1``) or the part of the design that decides; ``version`` the
    record concerned, 0 where it is none; ``seat`` the seat concerned, if any.
    """

    kind: Kind
    clause: str
    version: int
    seat: int | None
    expected: str
    found: str
    severity: Severity = Severity.FAULT

    def __str__(self) -> str:
        """The finding as one line to read."""
        seat = "" if self.seat is None else f", seat {self.seat}"
        return (
            f"{self.severity} {self.kind} ({self.clause}) at version {self.version}{seat}: "
            f"expected {self.expected}, found {self.found}"
        )


class Cheat(NamedTuple):
    """An illegal play on a tricky table (R11.1): allowed, so no finding, but listed (R11.6).

    ``caught_by`` is the version of the challenge that caught it, 0 where nobody did.
    """

    version: int
    seat: int
    card: int
    clause: str
    caught_by: int


class Verdict(NamedTuple):
    """A challenge, and what the rules say to it (R11.4)."""

    version: int
    accuser: int
    play_version: int
    accused: int
    clause: str
    """The clause that the play broke; empty where it was legal."""
    upheld: bool


class Facts(NamedTuple):
    """What the audit saw of the match, whether or not it found a fault."""

    match_id: bytes
    head_version: int
    head_hash: bytes
    """Recomputed from the first record on."""
    started_us: int
    ended_us: int
    is_ended: bool
    outcome: int
    """`Outcome` as the rules give it; 0 while the match runs."""
    players: tuple[str, ...]
    """By seat; empty for a bot or a free seat."""
    stake_coins: int
    shares: tuple[int, ...]
    """By seat, as the rules give them; all 0 while the match runs."""
    bouts: int
    followed_log: tuple[int, ...]
    """Versions where the rest was judged from what the log says, not from what the rules say."""


class AuditReport(NamedTuple):
    """The outcome of an audit."""

    ok: bool
    """There is no fault; notes do not count."""
    findings: tuple[Finding, ...]
    cheats: tuple[Cheat, ...]
    verdicts: tuple[Verdict, ...]
    facts: Facts
    coins_checked: bool
    """The ledger's entries were given, and every coin was judged."""


class Notebook:
    """Collects findings; ``version`` is the record being looked at."""

    __slots__ = ("findings", "version")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.version = 0

    def fault(
        self, kind: Kind, clause: str, expected: object, found: object, seat: int | None = None
    ) -> None:
        """Write down a fault at the current version."""
        self.add(Finding(kind, clause, self.version, seat, _said(expected), _said(found)))

    def note(
        self, kind: Kind, clause: str, expected: object, found: object, seat: int | None = None
    ) -> None:
        """Write down something that is allowed and worth seeing."""
        said = _said(expected), _said(found)
        self.add(Finding(kind, clause, self.version, seat, *said, Severity.NOTE))

    def add(self, finding: Finding) -> None:
        """Write down a finding; past the limit only that there are more."""
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(finding)
        elif len(self.findings) == FINDINGS_MAX:
            more = f"at most {FINDINGS_MAX} findings", "more"
            self.findings.append(Finding(Kind.TOO_MANY, "audit", finding.version, None, *more))


def _said(value: object) -> str:
    """A value as a finding says it, whatever somebody has written into the log or the file.

    It is shown on terminals and pages, so what would steer those (escape sequences, the direction
    of text) is spelt out, and what is very long is cut.
    """
    text = str(value)
    if len(text) > SAID_LIMIT_CHARS:
        text = f"{text[:SAID_LIMIT_CHARS]}… ({len(text)} characters)"
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
