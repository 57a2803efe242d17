"""One bout, and the rules that each play in it breaks (R4 to R7, R11.1)."""

from typing import NamedTuple

from domain.audit.deck import RANK, beats, label
from domain.audit.findings import Kind


class Play(NamedTuple):
    """A card played to the table; ``clause`` is the rule that it broke, empty if it was legal."""

    seat: int
    card: int
    clause: str


class Row(NamedTuple):
    """An attack card and the card that beat it; 0 while it is unbeaten."""

    attack: int
    defence: int


class Broken(NamedTuple):
    """A rule that a move breaks."""

    kind: Kind
    clause: str
    expected: str
    found: str


class Bout:
    """The table of one bout.

    ``room`` is the most attack cards that may lie here (R4.3); ``throwers`` are the seats that may
    throw in (R5.2); ``since_us`` is when the clock of the seats on it started.
    """

    __slots__ = (
        "attacker",
        "defender",
        "passed",
        "plays",
        "room",
        "rows",
        "since_us",
        "taking",
        "throwers",
    )

    def __init__(self, since_us: int) -> None:
        self.attacker = self.defender = self.room = 0
        self.throwers: frozenset[int] = frozenset()
        self.rows: list[Row] = []
        self.plays: dict[int, Play] = {}
        self.taking = False
        self.passed: set[int] = set()
        self.since_us = since_us

    def face(self, attacker: int, defender: int, room: int, throwers: frozenset[int]) -> None:
        """Set who attacks whom, at the start and after a transfer (R6.2, R6.3)."""
        self.attacker = attacker
        self.defender = defender
        self.room = room
        self.throwers = throwers

    def cards(self) -> list[int]:
        """Return every card on the table, each attack card followed by the card that beat it."""
        return [card for row in self.rows for card in row if card]

    def is_beaten(self) -> bool:
        """Return whether every attack card is beaten."""
        return 0 not in [row.defence for row in self.rows]

    def add_play(self, version: int, play: Play, now_us: int) -> None:
        """Record a play. It withdraws all passes (R5.3) and restarts the clock."""
        self.plays[version] = play
        self.passed.clear()
        self.since_us = now_us

    # --- the rules that a move breaks ----------------------------------------------------------

    def lead_breaks(self, seat: int) -> list[Broken]:
        """R4.1: the attacker leads."""
        if seat == self.attacker:
            return []
        return [Broken(Kind.OUT_OF_TURN, "R4.1", f"seat {self.attacker} leads", f"seat {seat}")]

    def throw_in_breaks(self, seat: int) -> list[Broken]:
        """R5.2, R4.3: only some seats may, and no more cards than the cap allows."""
        broken = []
        if seat not in self.throwers:
            may = ", ".join(map(str, sorted(self.throwers)))
            broken.append(Broken(Kind.OUT_OF_TURN, "R5.2", f"a seat of {may}", f"seat {seat}"))
        if len(self.rows) >= self.room:
            count = f"attack card {len(self.rows) + 1}"
            broken.append(Broken(Kind.CAP, "R4.3", f"at most {self.room} attack cards", count))
        return broken

    def rank_breaks(self, card: int) -> Broken | None:
        """R5.1: a card thrown in has a rank that is on the table."""
        ranks = {RANK[lying] for lying in self.cards()}
        if RANK[card] in ranks:
            return None
        return Broken(Kind.RANK, "R5.1", "a rank that is on the table", label(card))

    def defender_breaks(self, seat: int, clause: str, kind: Kind) -> list[Broken]:
        """R4.2, R6.1, R7.2: the defender alone, after the lead, and not after "take"."""
        broken = []
        if seat != self.defender:
            defender = f"the defender, seat {self.defender}"
            broken.append(Broken(Kind.OUT_OF_TURN, clause, defender, f"seat {seat}"))
        if self.taking:
            broken.append(Broken(kind, "R7.2", "no move of the defender after take", "a move"))
        if not self.rows:
            broken.append(Broken(kind, "R4.1", "a lead before it", "an empty table"))
        return broken

    def target_breaks(self, target: int) -> list[Broken]:
        """R4.2: the attack card is on the table and unbeaten."""
        for row in self.rows:
            if row.attack == target:
                if not row.defence:
                    return []
                beaten = f"{label(target)}, beaten by {label(row.defence)}"
                return [Broken(Kind.TARGET, "R4.2", "an unbeaten attack card", beaten)]
        absent = f"{label(target)}, which is not on the table"
        return [Broken(Kind.TARGET, "R4.2", "an unbeaten attack card", absent)]

    def beat_breaks(self, target: int, card: int, trump: str) -> Broken | None:
        """R1.3: the card beats the attack card."""
        if beats(card, target, trump):
            return None
        return Broken(Kind.BEAT, "R1.3", f"a card that beats {label(target)}", label(card))

    def transfer_rank_breaks(self, card: int) -> Broken | None:
        """R6.1: a transfer has the rank led, and nothing is beaten yet."""
        if any(row.defence for row in self.rows):
            return Broken(Kind.TRANSFER, "R6.1", "nothing beaten yet", "a beaten card")
        if self.rows and RANK[card] != RANK[self.rows[0].attack]:
            led = f"the rank of {label(self.rows[0].attack)}"
            return Broken(Kind.TRANSFER, "R6.1", led, label(card))
        return None

    def transfer_room_breaks(self, held: int, limit: int) -> list[Broken]:
        """R6.2: the next seat, which holds ``held`` cards, can face the attack."""
        count = len(self.rows) + 1
        if count <= min(held, limit):
            return []
        most = f"at most {min(held, limit)} attack cards"
        return [Broken(Kind.TRANSFER, "R6.2", most, f"{count}")]

    def pass_breaks(self, seat: int, awaited: set[int]) -> list[Broken]:
        """R5.3, R11.5: the bout waits for this pass."""
        if self.rows and (self.taking or self.is_beaten()) and seat in awaited:
            return []
        whose = ", ".join(map(str, sorted(awaited))) or "no seat"
        expected = f"a pass of {whose}, once every attack card is beaten"
        return [Broken(Kind.PASS, "R5.3", expected, f"seat {seat}")]
