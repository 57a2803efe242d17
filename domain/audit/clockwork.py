"""Judges the clock and leaving: whose time is out, what the server does then, who is gone (R10)."""

from domain.audit import score
from domain.audit.consequences import Consequences
from domain.audit.deck import RANK, SUIT, is_card, label
from domain.audit.findings import Kind
from domain.audit.records import RECORD_CLAUSE, Command, Entry
from durak.v1.events_pb2 import (
    ACTOR_KIND_BOT,
    ACTOR_KIND_CLOCK,
    ACTOR_KIND_PLAYER,
    LEFT_REASON_IDLE,
    LEFT_REASON_RESIGNED,
    LEFT_REASON_TIMEOUTS,
)


class Clockwork(Consequences):
    """The part of the referee that looks at times and at those who act for others."""

    def judge_actor(self, command: Command, seat: int) -> None:
        """Whether a command comes from who sits on the seat."""
        occupant = self.playing_state().table.seats.get(seat)
        player_id = "" if occupant is None else occupant.player_id
        is_bot = occupant is not None and occupant.is_bot
        who = (ACTOR_KIND_BOT if is_bot else ACTOR_KIND_PLAYER, player_id)
        if command[:2] != who:
            self.notes.fault(Kind.ACTOR, RECORD_CLAUSE, who, command[:2], seat)

    def _timed_out(self, entry: Entry) -> None:
        state = self.playing_state()
        seat, command = entry.body.seat, entry.command
        if command.actor_kind != ACTOR_KIND_CLOCK:
            self.notes.fault(Kind.ACTOR, "R10.2", "the clock", command[:2], seat)
        if not state.table.turn_us:
            self.notes.fault(Kind.TIMEOUT, "R10", "no timer at this table", "a timeout", seat)
        if seat not in state.on_clock():
            waited = ", ".join(map(str, sorted(state.on_clock()))) or "nobody"
            self.notes.fault(Kind.TIMEOUT, "R10.1", f"on the clock: {waited}", f"{seat}", seat)
        elif state.bout is not None:
            self.judge_deadline(command.time_us, state.bout.since_us + state.table.turn_us, seat)
        if seat in state.in_play:
            self.timeouts[seat] += 1
            self.acts_for = seat

    def judge_deadline(self, now_us: int, deadline_us: int, seat: int | None) -> None:
        """R10.2: the server acts for nobody before their time is out."""
        if now_us < deadline_us:
            early = f"{deadline_us - now_us} µs before it"
            self.notes.fault(Kind.TIMEOUT, "R10.2", "not before the deadline", early, seat)

    def judge_server_act(self, entry: Entry, seat: int) -> None:
        """R10.2, R10.3: what the server does for a seat that ran out of time."""
        state = self.playing_state()
        bout = state.bout
        if self.timeouts[seat] >= 3:
            act = "left"
        elif bout is None or not bout.rows:
            act = "attacked"
        else:
            act = "take_declared" if seat == bout.defender else "passed"
        said = f"{act} by seat {seat}"
        body = entry.body
        if entry.kind != act or body.seat != seat:
            whose = f" by seat {body.seat}" if hasattr(body, "seat") else ""
            self.notes.fault(Kind.SERVER_ACT, "R10.2", said, f"{entry.kind}{whose}", seat)
            self.acts_for = None
        elif act == "attacked":
            held = state.hands[seat]
            plain = [card for card in held if SUIT[card] != state.trump] or list(held)
            lowest = min((RANK[card] for card in plain), default=0)
            if not is_card(body.card) or (body.card in held and body.card not in plain):
                self.notes.fault(Kind.SERVER_ACT, "R10.2", "a plain card", label(body.card), seat)
            elif RANK[body.card] != lowest:
                least = f"a card of rank {lowest}"
                self.notes.fault(Kind.SERVER_ACT, "R10.2", least, label(body.card), seat)

    def _left(self, entry: Entry) -> None:
        state = self.playing_state()
        seat, reason, command = entry.body.seat, entry.body.reason, entry.command
        acted_for, self.acts_for = self.acts_for, None
        if not state.hands or seat not in state.in_play:
            self.notes.fault(Kind.OUT_OF_PLAY, "R10.4", "a seat that is in play", seat)
            return
        if acted_for == seat:
            if reason != LEFT_REASON_TIMEOUTS:
                self.notes.fault(Kind.LEFT, "R10.3", "left for its timeouts", reason, seat)
        elif reason == LEFT_REASON_RESIGNED:
            self.judge_actor(command, seat)
        elif reason == LEFT_REASON_IDLE:
            self._judge_idle(command, seat)
        else:
            found = f"reason {reason}"
            self.notes.fault(Kind.LEFT, "R10.3", "three timeouts in a row before it", found, seat)
        seats = list(range(state.table.size))
        self.must_finish(score.abandoned(state.table.stake, seats, seat), "R10.4")

    def _judge_idle(self, command: Command, seat: int) -> None:
        """R10.8: nobody waits for a seat longer than the idle limit, where there is no timer."""
        state = self.playing_state()
        if command.actor_kind != ACTOR_KIND_CLOCK:
            self.notes.fault(Kind.ACTOR, "R10.8", "the clock", command[:2], seat)
        if state.table.turn_us or seat not in state.on_clock():
            on_clock = "a seat on the clock, at a table without a timer"
            self.notes.fault(Kind.LEFT, "R10.8", on_clock, f"seat {seat}", seat)
        if state.bout is not None:
            self.judge_deadline(command.time_us, state.bout.since_us + state.table.idle_us, seat)
