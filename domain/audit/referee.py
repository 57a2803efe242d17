"""Judges a log event by event: who, when, which card, and what the rules make of it."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from domain.audit import score
from domain.audit.bout import Bout, Broken, Play, Row
from domain.audit.clockwork import Clockwork
from domain.audit.deck import is_card, label
from domain.audit.findings import Cheat, Kind, Verdict
from domain.audit.records import RECORD_CLAUSE, Command, Entry
from domain.audit.table import open_table
from durak.v1.events_pb2 import (
    ACTOR_KIND_CLOCK,
    ACTOR_KIND_PLAYER,
)

CONSEQUENCES: Final = frozenset({"dealt", "discarded", "took", "drew", "went_out", "finished"})


class Referee(Clockwork):
    """Hears the entries of one match in order, and writes down what is wrong."""

    # --- one entry -------------------------------------------------------------------------------

    def hear(self, entry: Entry) -> None:
        """Judge one entry, and let happen what it says."""
        self.notes.version = entry.version
        if self.state is None:
            self._open(entry)
            return
        if self.is_over():
            self.notes.fault(Kind.UNEXPECTED, "R9", "nothing after the end", entry.kind)
            return
        self._judge_command(entry)
        if self.acts_for is not None:
            self.judge_server_act(entry, self.acts_for)
        due = self.state.due
        if due is not None and due.kind != entry.kind:
            self.make_good(entry)
            if self.is_over():
                return
        _HEAR[entry.kind](self, entry)

    def _open(self, entry: Entry) -> None:
        if self.is_hopeless:
            return
        if entry.kind != "table_opened" or entry.version != 1:
            self.notes.fault(Kind.OPENING, "contract: Event", "table_opened first", entry.kind)
        if entry.kind != "table_opened":
            self.is_hopeless = True
            return
        self.command = entry.command
        self.requests.add((entry.command.actor_id, entry.command.request_id))
        self.opened_us = entry.command.time_us
        table = open_table(entry, self.log.match_id, self.notes)
        if table is None:
            self.is_hopeless = True
        else:
            self.sit_at(table, entry.body.server_seed)

    def _judge_command(self, entry: Entry) -> None:
        """One command, one deed: what follows from it carries the same who, request and time."""
        command = entry.command
        follows = entry.kind in CONSEQUENCES and self.state is not None and self.state.due
        if follows or self.acts_for is not None:
            if command != self.command:
                self._judge_same(command)
            return
        request_id = command.request_id
        if request_id:
            seats_too = entry.kind == "seat_taken" and not self.opening_over
            request = command.actor_id, request_id  # each player chooses ids for themselves
            if request in self.requests and not (seats_too and command == self.command):
                self.notes.fault(Kind.REQUEST, RECORD_CLAUSE, "a new request", request_id.hex())
            self.requests.add(request)
            if command != self.command:
                self.opening_over = True  # a rematch seats bots and its caller at once
        self.command = command

    def _judge_same(self, command: Command) -> None:
        before = self.command
        if command[:2] != before[:2]:
            self.notes.fault(Kind.ACTOR, RECORD_CLAUSE, before[:2], command[:2])
        if command.request_id != before.request_id:
            ids = before.request_id.hex(), command.request_id.hex()
            self.notes.fault(Kind.REQUEST, RECORD_CLAUSE, *ids)
        if command.time_us != before.time_us:
            times = f"{before.time_us} µs", f"{command.time_us} µs"
            self.notes.fault(Kind.TIME, RECORD_CLAUSE, *times)

    # --- before the deal -------------------------------------------------------------------------

    def _table_opened(self, _: Entry) -> None:
        self.notes.fault(Kind.OPENING, "contract: Event", "a table opened once", "again")

    def _seat_taken(self, entry: Entry) -> None:
        state = self.playing_state()
        if state.hands:
            self.notes.fault(Kind.SEATING, "R3.0", "seats taken before the deal", "after it")
            return
        if state.table.seat_down(entry, self.notes) and len(state.table.seats) == state.table.size:
            self.deal_is_due()

    def _seat_vacated(self, entry: Entry) -> None:
        state = self.playing_state()
        if state.hands:
            self.notes.fault(Kind.SEATING, "R3.0", "seats given up before the deal", "after it")
        else:
            state.table.give_up(entry, self.notes)

    # --- moves -----------------------------------------------------------------------------------

    def _mover(self, entry: Entry) -> tuple[int, Bout] | None:
        """The seat that moves and the bout that it moves in, once who and when are judged."""
        seat = entry.body.seat
        state = self.playing_state()
        bout = state.bout
        if bout is None or seat not in state.in_play:
            found = f"{entry.kind} by seat {seat}"
            clause = "R3.0" if bout is None else "R9.1"
            self.notes.fault(Kind.OUT_OF_PLAY, clause, "a move by a seat in play", found, seat)
            return None
        if self.acts_for is not None:
            self.acts_for = None
            return seat, bout
        self.timeouts[seat] = 0
        command = entry.command
        self.judge_actor(command, seat)
        deadline_us = bout.since_us + state.table.limit_us
        if command.time_us > deadline_us and seat in state.on_clock():
            late = f"{command.time_us - deadline_us} µs later"
            self.notes.note(Kind.LATE_MOVE, "R10.2", "a move before the deadline", late, seat)
        return seat, bout

    def _lay(self, entry: Entry, play: Play, bout: Bout) -> None:
        """Take the card from the hand, or from wherever it is, and note the play."""
        state = self.playing_state()
        seat, card, _ = play
        if card in state.hands[seat]:
            state.hands[seat].remove(card)
        else:
            found = f"{label(card)}, which it does not hold"
            self.notes.fault(Kind.CARD_NOT_HELD, "R4.1", "a card of its hand", found, seat)
            for hand in state.hands:
                hand.discard(card)
            state.stock = [other for other in state.stock if other != card]
        bout.lay(entry.version, play, entry.command.time_us)
        if play.clause and state.table.tricky:
            self.illegal.append((entry.version, play))

    def _judge(self, seat: int, broken: Iterable[Broken], wrong: Broken | None) -> str:
        """Write down what a play breaks. On tricky tables a wrong card is no fault (R11.1)."""
        for kind, clause, expected, found in broken:
            self.notes.fault(kind, clause, expected, found, seat)
        if wrong is None:
            return ""
        if not self.playing_state().table.tricky:
            self.notes.fault(wrong.kind, wrong.clause, wrong.expected, wrong.found, seat)
        return wrong.clause

    def _attacked(self, entry: Entry) -> None:
        card = entry.body.card
        mover = self._mover(entry)
        if mover is None or not self._is_card(card):
            return
        seat, bout = mover
        if bout.rows:
            clause = self._judge(seat, bout.throw_in_breaks(seat), bout.rank_breaks(card))
        else:
            clause = self._judge(seat, bout.lead_breaks(seat), None)
        self._lay(entry, Play(seat, card, clause), bout)
        bout.rows.append(Row(card, 0))
        self.playing_state().close_if_settled()

    def _defended(self, entry: Entry) -> None:
        target, card = entry.body.attack_card, entry.body.card
        mover = self._mover(entry)
        if mover is None or not self._is_card(card) or not self._is_card(target):
            return
        seat, bout = mover
        state = self.playing_state()
        broken = bout.defender_breaks(seat, "R4.2", Kind.BEAT) + bout.target_breaks(target)
        wrong = bout.beat_breaks(target, card, state.trump)
        self._lay(entry, Play(seat, card, self._judge(seat, broken, wrong)), bout)
        bout.rows = [Row(target, card) if row.attack == target else row for row in bout.rows]
        state.close_if_settled()

    def _transferred(self, entry: Entry) -> None:
        card = entry.body.card
        mover = self._mover(entry)
        if mover is None or not self._is_card(card):
            return
        seat, bout = mover
        state = self.playing_state()
        target = state.after(seat)
        broken = bout.defender_breaks(seat, "R6.1", Kind.TRANSFER)
        broken += bout.transfer_room_breaks(len(state.hands[target]), state.limit)
        if not state.table.transfer:
            broken.append(Broken(Kind.TRANSFER, "R6", "no transfer at this table", label(card)))
        clause = self._judge(seat, broken, bout.transfer_rank_breaks(card))
        self._lay(entry, Play(seat, card, clause), bout)
        bout.rows.append(Row(card, 0))
        state.face(seat, target)

    def _is_card(self, number: int) -> bool:
        if not is_card(number):
            self.notes.fault(Kind.CARD_NOT_HELD, "R1.2", "a card", number)
        return is_card(number)

    def _passed(self, entry: Entry) -> None:
        mover = self._mover(entry)
        if mover is not None:
            seat, bout = mover
            state = self.playing_state()
            self._judge(seat, bout.pass_breaks(seat, state.awaited(bout)), None)
            bout.passed.add(seat)
            state.close_if_settled()

    def _take_declared(self, entry: Entry) -> None:
        mover = self._mover(entry)
        if mover is not None:
            seat, bout = mover
            broken = bout.defender_breaks(seat, "R7.2", Kind.TAKE)
            if bout.is_beaten():
                broken.append(Broken(Kind.TAKE, "R7.2", "an unbeaten attack card", "none"))
            self._judge(seat, broken, None)
            bout.taking = True
            bout.since_us = entry.command.time_us
            self.playing_state().close_if_settled()

    def _challenged(self, entry: Entry) -> None:
        mover = self._mover(entry)
        if mover is None:
            return
        seat, bout = mover
        state = self.playing_state()
        if not state.table.tricky:
            self.notes.fault(Kind.CHALLENGE, "R11", "no challenge at this table", "one", seat)
        version = entry.body.play_version
        play = bout.plays.get(version)
        if play is None or play.seat == seat:
            found = f"version {version}" if play is None else "its own play"
            another = "a play of another seat in the running bout"
            self.notes.fault(Kind.CHALLENGE, "R11.3", another, found, seat)
        if play is None:
            return
        upheld = bool(play.clause)
        if entry.body.upheld != upheld:
            clause = play.clause or "R11.4"
            said = ("upheld", "dismissed") if upheld else ("dismissed", "upheld")
            self.notes.fault(Kind.VERDICT, clause, *said, seat)
        self.verdicts.append(Verdict(entry.version, seat, version, play.seat, play.clause, upheld))
        state.punish(play.seat if upheld else seat, cheat=upheld)

    # --- consequences ----------------------------------------------------------------------------

    def _dealt(self, entry: Entry) -> None:
        body = entry.body
        hands = [list(hand.cards) for hand in body.hands]
        value = (hands, body.trump_card, list(body.stock), body.first_attacker)
        if [hand.seat for hand in body.hands] != list(range(len(hands))):
            seats = [hand.seat for hand in body.hands]
            self.notes.fault(Kind.SHUFFLE, "R3.1", "hands by seat", seats)
        self.compare(entry, Kind.SHUFFLE, value)

    def _discarded(self, entry: Entry) -> None:
        self.compare(entry, Kind.DISCARDED, (list(entry.body.cards),))

    def _took(self, entry: Entry) -> None:
        body = entry.body
        self.compare(entry, Kind.TOOK, (body.seat, list(body.cards), body.reason))

    def _drew(self, entry: Entry) -> None:
        draws = tuple((draw.seat, list(draw.cards)) for draw in entry.body.draws)
        self.compare(entry, Kind.DREW, draws)

    def _went_out(self, entry: Entry) -> None:
        body = entry.body
        self.compare(entry, Kind.WENT_OUT, (list(body.seats), body.place))

    def _finished(self, entry: Entry) -> None:
        state = self.playing_state()
        due = state.due
        if due is None and not state.hands:
            self._judge_cancelling(entry.command)
            seats = sorted(state.table.seats)
            self.must_finish(score.cancelled(state.table.stake, seats), "R9.6")
        self.judge_result(entry)

    def _judge_cancelling(self, command: Command) -> None:
        """R3.0, R10.8: by who opened the table, or by the clock when it does not fill."""
        table = self.playing_state().table
        if command.actor_kind == ACTOR_KIND_CLOCK:
            self.judge_deadline(command.time_us, self.opened_us + table.idle_us, None)
        elif command.actor_kind != ACTOR_KIND_PLAYER or not table.belongs_to(command.actor_id):
            self.notes.fault(Kind.ACTOR, "R3.0", table.owner_id, command[:2])

    # --- the end of the log ----------------------------------------------------------------------

    def close(self) -> None:
        """Judge what is missing at the end of the log."""
        self.notes.version = self.log.head_version
        state = self.state
        if state is None:
            if not self.is_hopeless:
                self.notes.fault(Kind.OPENING, "contract: Event", "table_opened first", "nothing")
            return
        if self.acts_for is not None:
            act = f"the server's act for seat {self.acts_for}"
            self.notes.fault(Kind.MISSING, "R10.2", act, "the end of the log", self.acts_for)
        if state.due is not None:
            due = self.say(state.due)
            self.notes.fault(Kind.MISSING, state.due.clause, due, "the end of the log")

    def cheats(self) -> tuple[Cheat, ...]:
        """Every illegal play of a tricky table, in order (R11.6)."""
        caught = {verdict.play_version: verdict.version for verdict in self.verdicts}
        return tuple(
            Cheat(version, play.seat, play.card, play.clause, caught.get(version, 0))
            for version, play in self.illegal
        )


_HEAR: Final[dict[str, Callable[[Referee, Entry], Any]]] = {
    kind: getattr(Referee, f"_{kind}")
    for kind in (
        *("table_opened", "seat_taken", "seat_vacated", "dealt", "attacked", "defended"),
        *("transferred", "passed", "take_declared", "took", "discarded", "drew", "went_out"),
        *("challenged", "timed_out", "left", "finished"),
    )
}
