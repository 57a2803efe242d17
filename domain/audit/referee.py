"""One reading of a log: every entry judged in order, by the part of the audit that it concerns."""

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from domain.audit import consequences, deck, score
from domain.audit.clock import Clock
from domain.audit.commands import Commands
from domain.audit.comparison import Comparison
from domain.audit.consequences import Expected, UnknownDeal
from domain.audit.findings import Cheat, Finding, Kind, Notebook, Verdict
from domain.audit.moves import Moves
from domain.audit.records import Command, Entry, Log
from domain.audit.state import State
from domain.audit.table import Table, open_table
from durak.v1.events_pb2 import ACTOR_KIND_CLOCK, ACTOR_KIND_PLAYER

_OPENING_CLAUSE: Final = "contract: Event"


class Reading(NamedTuple):
    """The result of one reading. ``state`` is None if the log opens no table."""

    follow: frozenset[int]
    findings: list[Finding]
    state: State | None = None
    forks: tuple[int, ...] = ()
    """Versions where the log says something else than the rules."""
    cheats: tuple[Cheat, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


def read_log(log: Log, follow: frozenset[int] = frozenset()) -> Reading:
    """Judge a log. At the versions in ``follow`` its consequences are taken from the log."""
    notes = Notebook()
    table = _opened_table(log, notes)
    if table is None:
        return Reading(follow, notes.findings)
    referee = Referee(log, table, notes, follow)
    for entry in log.entries[1:]:
        notes.version = entry.version
        referee.judge(entry)
    notes.version = log.head_version
    referee.judge_end()
    return Reading(
        follow,
        notes.findings,
        referee.state,
        tuple(referee.comparison.forks),
        referee.moves.cheats(),
        tuple(referee.moves.verdicts),
    )


def _opened_table(log: Log, notes: Notebook) -> Table | None:
    """Judge the first entry. Returns None if no match can be played after it."""
    if not log.entries:
        notes.version = log.head_version
        notes.fault(Kind.OPENING, _OPENING_CLAUSE, "table_opened first", "nothing")
        return None
    first = log.entries[0]
    notes.version = first.version
    if first.kind != "table_opened" or first.version != 1:
        notes.fault(Kind.OPENING, _OPENING_CLAUSE, "table_opened first", first.kind)
    if first.kind != "table_opened":
        return None
    return open_table(first, log.match_id, notes)


class Referee:
    """Judges the entries after the one that opened the table, in order."""

    def __init__(
        self, log: Log, table: Table, notes: Notebook, follow: Collection[int] = ()
    ) -> None:
        opening = log.entries[0]
        self.state = State(table)
        self.moves = Moves(self.state, clock := Clock(self.state, notes), notes)
        self.comparison = Comparison(self.state, notes, follow)
        self._clock = clock
        self._commands = Commands(opening.command, notes)
        self._notes = notes
        self._match_id = log.match_id
        self._opened_us = opening.command.time_us
        self._full_us: int | None = None
        """When the last seat was taken, while promised secrets are not yet revealed (R3.6)."""
        self._server_seed = _kept_seed(log, table)
        self._judges: Mapping[str, Callable[[Entry], None]] = {
            "table_opened": self._judge_second_opening,
            "seat_taken": self._judge_seating,
            "seat_vacated": self._judge_vacating,
            "seed_revealed": self._judge_reveal,
            "attacked": self.moves.attack,
            "defended": self.moves.defend,
            "transferred": self.moves.transfer,
            "passed": self.moves.judge_pass,
            "take_declared": self.moves.take,
            "challenged": self.moves.challenge,
            "timed_out": clock.judge_timeout,
            "left": clock.judge_left,
            "finished": self._judge_finish,
            **dict.fromkeys(consequences.READERS, self.comparison.judge),
            "dealt": self._judge_deal,
        }

    def judge(self, entry: Entry) -> None:
        """Judge an entry and apply it."""
        state, clock = self.state, self._clock
        if state.is_ended:
            self._notes.fault(Kind.UNEXPECTED, "R9", "nothing after the end", entry.kind)
            return
        expected, seat = state.expected, clock.acts_for
        if seat is not None or (expected is not None and entry.kind in consequences.KINDS):
            self._commands.judge_following(entry.command)
        else:
            self._commands.judge_initiating(entry)
        if seat is not None:
            clock.judge_server_act(entry, seat)
        if expected is not None and consequences.KIND_OF[type(expected.event)] != entry.kind:
            self.comparison.apply_missing(entry)
        if not state.is_ended:
            self._judges[entry.kind](entry)

    def judge_end(self) -> None:
        """Judge the end of the log: nothing may be missing there."""
        seat, expected = self._clock.acts_for, self.state.expected
        if seat is not None:
            act = f"the server's act for seat {seat}"
            self._notes.fault(Kind.MISSING, "R10.2", act, "the end of the log", seat)
        if expected is not None:
            clause, event = expected
            self._notes.fault(Kind.MISSING, clause, event, "the end of the log")

    # --- the table before the deal ---------------------------------------------------------------

    def _judge_second_opening(self, _: Entry) -> None:
        self._notes.fault(Kind.OPENING, _OPENING_CLAUSE, "table_opened once", "again")

    def _judge_seating(self, entry: Entry) -> None:
        state = self.state
        if state.hands:
            self._notes.fault(Kind.SEATING, "R3.0", "seats taken before the deal", "after it")
            return
        is_seated = state.table.take_seat(entry, self._notes)
        if is_seated and state.table.is_full:
            self._full_us = entry.command.time_us
            if not state.table.to_reveal:
                state.expected = self._expected_deal()

    def _judge_reveal(self, entry: Entry) -> None:
        table = self.state.table
        if self.state.hands or self._full_us is None:
            self._notes.fault(Kind.REVEAL, "R3.6", "a full table before the deal", entry.kind)
            return
        deadline_us = self._full_us + table.reveal_us
        if entry.command.time_us >= deadline_us:
            late = f"{entry.command.time_us - deadline_us} µs after it"
            self._notes.fault(Kind.REVEAL, "R10.9", "before the deadline", late, entry.body.seat)
        table.reveal_secret(entry, self._match_id, self._notes)
        if not table.to_reveal and self.state.expected is None:
            self.state.expected = self._expected_deal()

    def _expected_deal(self) -> Expected:
        """Return the deal, once all seats are taken and all promised secrets revealed (R3.0)."""
        table = self.state.table
        if len(table.seats) != table.size:
            return Expected("R3.1", UnknownDeal())  # a seat was given up when the table was full
        secrets = [table.seats[seat].secret for seat in range(table.size)]
        if not self._server_seed or any(len(secret) > 255 for secret in secrets):
            return Expected("R3.1", UnknownDeal())
        dealt = deck.deal(table.deck, self._server_seed, self._match_id, secrets)
        return Expected("R3.1", dealt)

    def _judge_deal(self, entry: Entry) -> None:
        state = self.state
        if state.expected is None and self._full_us is not None and not state.hands:
            missing = f"the secrets of seats {state.table.to_reveal} first"
            self._notes.fault(Kind.REVEAL, "R3.6", missing, "the deal")
            state.expected = self._expected_deal()
        self.comparison.judge(entry)

    def _judge_vacating(self, entry: Entry) -> None:
        if self.state.hands:
            self._notes.fault(Kind.SEATING, "R3.0", "seats given up before the deal", "after it")
        else:
            self.state.table.vacate_seat(entry, self._notes)

    # --- the end of the match --------------------------------------------------------------------

    def _judge_finish(self, entry: Entry) -> None:
        state = self.state
        if state.expected is None and not state.hands:
            prevented_by = self._judge_cancelling(entry.command)
            seats = sorted(state.table.seats)
            cancelled = score.cancelled(state.table.stake, seats, prevented_by)
            state.expected = Expected("R9.6", cancelled)
        self.comparison.judge_result(entry)

    def _judge_cancelling(self, command: Command) -> list[int]:
        """Judge the end of a table before the deal. Returns the seats that prevented the deal.

        R3.0, R10.8: the owner cancels a table, or the clock one that does not fill. R3.6: at a full
        table only the clock does, or a player who leaves.
        """
        table = self.state.table
        if self._full_us is not None:
            return self._judge_prevented_deal(command, self._full_us)
        if command.actor_kind == ACTOR_KIND_CLOCK:
            self._clock.judge_deadline(command.time_us, self._opened_us + table.idle_us, None)
        elif command.actor_kind != ACTOR_KIND_PLAYER or not table.belongs_to(command.actor_id):
            self._notes.fault(Kind.ACTOR, "R3.0", table.owner_id, command[:2])
        return []

    def _judge_prevented_deal(self, command: Command, full_us: int) -> list[int]:
        table = self.state.table
        if command.actor_kind == ACTOR_KIND_CLOCK:
            self._clock.judge_deadline(command.time_us, full_us + table.reveal_us, None)
            return table.to_reveal
        seats = [seat for seat, it in table.seats.items() if it.player_id == command.actor_id]
        if command.actor_kind != ACTOR_KIND_PLAYER or not command.actor_id or not seats:
            self._notes.fault(Kind.ACTOR, "R3.6", "the clock or a seated player", command[:2])
            return table.to_reveal
        return seats[:1]


def _kept_seed(log: Log, table: Table) -> bytes:
    """Return the server seed that fits the published hash, from either end of the log, or b""."""
    opened = log.entries[0].body.server_seed
    seeds = [opened, *(it.body.server_seed for it in log.entries if it.kind == "finished")]
    return next((seed for seed in seeds if deck.seed_hash(seed) == table.seed_hash), b"")
