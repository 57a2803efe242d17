"""Judges deadlines: timeouts, the server's act for a seat, and leaving (R10)."""

from typing import Final

from domain.audit import score
from domain.audit.consequences import Expected
from domain.audit.deck import RANK, SUIT, is_card, label
from domain.audit.findings import Kind, Notebook
from domain.audit.records import Command, Entry
from domain.audit.state import State
from durak.v1.events_pb2 import (
    ACTOR_KIND_CLOCK,
    LEFT_REASON_IDLE,
    LEFT_REASON_RESIGNED,
    LEFT_REASON_TIMEOUTS,
    Left,
    TimedOut,
)

TIMEOUTS_MAX: Final = 3


class Clock:
    """Judges the clock of one match."""

    def __init__(self, state: State, notes: Notebook) -> None:
        self._state = state
        self._notes = notes
        self._timeouts = [0] * state.table.size
        """By seat: how many timeouts in a row (R10.3)."""
        self.acts_for: int | None = None
        """The seat that timed out, until the server has acted for it."""

    def note_own_move(self, seat: int) -> None:
        """Record that a seat moved by itself, which ends its row of timeouts."""
        self._timeouts[seat] = 0

    def judge_timeout(self, entry: Entry) -> None:
        """R10.1, R10.2: the seat was on the clock, and its time is over."""
        body: TimedOut = entry.body
        state, fault = self._state, self._notes.fault
        seat, command = body.seat, entry.command
        if command.actor_kind != ACTOR_KIND_CLOCK:
            fault(Kind.ACTOR, "R10.2", "the clock", command[:2], seat)
        if not state.table.turn_us:
            fault(Kind.TIMEOUT, "R10", "no timer at this table", "a timeout", seat)
        on_clock = state.on_clock()
        if seat not in on_clock:
            seats = ", ".join(map(str, sorted(on_clock))) or "no seat"
            fault(Kind.TIMEOUT, "R10.1", f"on the clock: {seats}", f"{seat}", seat)
        elif state.bout is not None:
            self.judge_deadline(command.time_us, state.bout.since_us + state.table.turn_us, seat)
        if seat in state.in_play:
            self._timeouts[seat] += 1
            self.acts_for = seat

    def judge_deadline(self, now_us: int, deadline_us: int, seat: int | None) -> None:
        """R10.2: the server does not act before the deadline."""
        if now_us < deadline_us:
            early = f"{deadline_us - now_us} µs before it"
            self._notes.fault(Kind.TIMEOUT, "R10.2", "not before the deadline", early, seat)

    def judge_server_act(self, entry: Entry, seat: int) -> None:
        """R10.2, R10.3: the entry after a timeout is what the server must do for the seat."""
        act, body = self._act_for(seat), entry.body
        if entry.kind != act or body.seat != seat:
            whose = f" by seat {body.seat}" if hasattr(body, "seat") else ""
            acts = f"{act} by seat {seat}", f"{entry.kind}{whose}"
            self._notes.fault(Kind.SERVER_ACT, "R10.2", *acts, seat)
            self.acts_for = None
        elif act == "attacked":
            self._judge_forced_lead(seat, body.card)

    def _act_for(self, seat: int) -> str:
        """Return the kind of event that the server must make for a seat."""
        bout = self._state.bout
        if self._timeouts[seat] >= TIMEOUTS_MAX:
            return "left"
        if bout is None or not bout.rows:
            return "attacked"
        return "take_declared" if seat == bout.defender else "passed"

    def _judge_forced_lead(self, seat: int, card: int) -> None:
        """R10.2: the lowest plain card, or the lowest trump of a hand of trumps."""
        state, fault = self._state, self._notes.fault
        held = state.hands[seat]
        plain = [one for one in held if SUIT[one] != state.trump] or list(held)
        lowest = min((RANK[one] for one in plain), default=0)
        if not is_card(card) or (card in held and card not in plain):
            fault(Kind.SERVER_ACT, "R10.2", "a plain card", label(card), seat)
        elif RANK[card] != lowest:
            fault(Kind.SERVER_ACT, "R10.2", f"a card of rank {lowest}", label(card), seat)

    def judge_left(self, entry: Entry) -> None:
        """R10.3, R10.4, R10.8: a seat leaves, which ends the match."""
        body: Left = entry.body
        state, fault = self._state, self._notes.fault
        seat, reason, command = body.seat, body.reason, entry.command
        acted_for, self.acts_for = self.acts_for, None
        if seat not in state.in_play:
            fault(Kind.OUT_OF_PLAY, "R10.4", "a seat that is in play", seat)
            return
        if acted_for == seat:
            if reason != LEFT_REASON_TIMEOUTS:
                fault(Kind.LEFT, "R10.3", "left for its timeouts", reason, seat)
        elif reason == LEFT_REASON_RESIGNED:
            state.table.judge_actor(command, seat, self._notes)
        elif reason == LEFT_REASON_IDLE:
            self._judge_idle(command, seat)
        else:
            found = f"reason {reason}"
            fault(Kind.LEFT, "R10.3", "three timeouts in a row before it", found, seat)
        seats = list(range(state.table.size))
        state.expected = Expected("R10.4", score.abandoned(state.table.stake, seats, seat))

    def _judge_idle(self, command: Command, seat: int) -> None:
        """R10.8: without a timer, a seat on the clock leaves after the idle limit."""
        state, fault = self._state, self._notes.fault
        if command.actor_kind != ACTOR_KIND_CLOCK:
            fault(Kind.ACTOR, "R10.8", "the clock", command[:2], seat)
        if state.table.turn_us or seat not in state.on_clock():
            on_clock = "a seat on the clock, at a table without a timer"
            fault(Kind.LEFT, "R10.8", on_clock, f"seat {seat}", seat)
        if state.bout is not None:
            self.judge_deadline(command.time_us, state.bout.since_us + state.table.idle_us, seat)
