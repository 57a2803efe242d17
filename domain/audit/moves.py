"""Judges moves: leads, throw-ins, beats, transfers, passes, takes, challenges (R4 to R7, R11)."""

from collections.abc import Iterable

from domain.audit.bout import Bout, Broken, Play, Row
from domain.audit.clock import Clock
from domain.audit.deck import is_card, label
from domain.audit.findings import Cheat, Kind, Notebook, Verdict
from domain.audit.records import Entry
from domain.audit.state import State
from durak.v1.events_pb2 import Attacked, Challenged, Defended, Transferred


class Moves:
    """Judges the moves of one match and applies them to its state."""

    def __init__(self, state: State, clock: Clock, notes: Notebook) -> None:
        self._state = state
        self._clock = clock
        self._notes = notes
        self._illegal: dict[int, Play] = {}
        """The illegal plays of a tricky table, by version."""
        self.verdicts: list[Verdict] = []

    def cheats(self) -> tuple[Cheat, ...]:
        """Return every illegal play of a tricky table, in order (R11.6)."""
        caught = {verdict.play_version: verdict.version for verdict in self.verdicts}
        return tuple(
            Cheat(version, play.seat, play.card, play.clause, caught.get(version, 0))
            for version, play in self._illegal.items()
        )

    # --- moves -----------------------------------------------------------------------------------

    def attack(self, entry: Entry) -> None:
        """R4.1, R5: a lead or a throw-in."""
        body: Attacked = entry.body
        card = body.card
        bout = self._bout_of(entry)
        if bout is None or not self._is_card(card):
            return
        seat = body.seat
        if bout.rows:
            clause = self._judge(seat, bout.throw_in_breaks(seat), bout.rank_breaks(card))
        else:
            clause = self._judge(seat, bout.lead_breaks(seat))
        self._play(entry, Play(seat, card, clause), bout)
        bout.rows.append(Row(card, 0))
        self._state.expect_end_of_bout()

    def defend(self, entry: Entry) -> None:
        """R4.2: a card that beats an attack card."""
        body: Defended = entry.body
        target, card = body.attack_card, body.card
        bout = self._bout_of(entry)
        if bout is None or not self._is_card(card) or not self._is_card(target):
            return
        seat = body.seat
        broken = bout.defender_breaks(seat, "R4.2", Kind.BEAT) + bout.target_breaks(target)
        wrong = bout.beat_breaks(target, card, self._state.trump)
        self._play(entry, Play(seat, card, self._judge(seat, broken, wrong)), bout)
        bout.rows = [Row(target, card) if row.attack == target else row for row in bout.rows]
        self._state.expect_end_of_bout()

    def transfer(self, entry: Entry) -> None:
        """R6: the defender transfers the attack to the next seat."""
        body: Transferred = entry.body
        card = body.card
        bout = self._bout_of(entry)
        if bout is None or not self._is_card(card):
            return
        seat, state = body.seat, self._state
        target = state.after(seat)
        broken = bout.defender_breaks(seat, "R6.1", Kind.TRANSFER)
        broken += bout.transfer_room_breaks(len(state.hands[target]), state.limit)
        if not state.table.transfer:
            broken.append(Broken(Kind.TRANSFER, "R6", "no transfer at this table", label(card)))
        clause = self._judge(seat, broken, bout.transfer_rank_breaks(card))
        self._play(entry, Play(seat, card, clause), bout)
        bout.rows.append(Row(card, 0))
        state.face(seat, target)

    def judge_pass(self, entry: Entry) -> None:
        """R5.3: a pass."""
        bout = self._bout_of(entry)
        if bout is not None:
            seat = entry.body.seat
            self._judge(seat, bout.pass_breaks(seat, self._state.awaited(bout)))
            bout.passed.add(seat)
            self._state.expect_end_of_bout()

    def take(self, entry: Entry) -> None:
        """R7.2: the defender says "take"."""
        bout = self._bout_of(entry)
        if bout is not None:
            seat = entry.body.seat
            broken = bout.defender_breaks(seat, "R7.2", Kind.TAKE)
            if bout.is_beaten():
                broken.append(Broken(Kind.TAKE, "R7.2", "an unbeaten attack card", "none"))
            self._judge(seat, broken)
            bout.taking = True
            bout.since_us = entry.command.time_us
            self._state.expect_end_of_bout()

    def challenge(self, entry: Entry) -> None:
        """R11.3, R11.4: a challenge, and the verdict that the server recorded."""
        body: Challenged = entry.body
        bout = self._bout_of(entry)
        if bout is None:
            return
        seat, version, fault = body.seat, body.play_version, self._notes.fault
        if not self._state.table.tricky:
            fault(Kind.CHALLENGE, "R11", "no challenge at this table", "one", seat)
        play = bout.plays.get(version)
        if play is None or play.seat == seat:
            found = f"version {version}" if play is None else "its own play"
            another = "a play of another seat in the running bout"
            fault(Kind.CHALLENGE, "R11.3", another, found, seat)
        if play is None:
            return
        upheld = bool(play.clause)
        if body.upheld != upheld:
            words = ("upheld", "dismissed") if upheld else ("dismissed", "upheld")
            fault(Kind.VERDICT, play.clause or "R11.4", *words, seat)
        self.verdicts.append(Verdict(entry.version, seat, version, play.seat, play.clause, upheld))
        self._state.expect_penalty(play.seat if upheld else seat, cheated=upheld)

    # --- what all moves have in common -----------------------------------------------------------

    def _bout_of(self, entry: Entry) -> Bout | None:
        """Judge who moves and when. Returns None if the seat has no bout to move in."""
        state, clock = self._state, self._clock
        seat, bout = entry.body.seat, state.bout
        if bout is None or seat not in state.in_play:
            clause = "R3.0" if bout is None else "R9.1"
            found = f"{entry.kind} by seat {seat}"
            self._notes.fault(Kind.OUT_OF_PLAY, clause, "a move by a seat in play", found, seat)
            return None
        if clock.acts_for is not None:  # the server moves for the seat: `judge_server_act`
            clock.acts_for = None
            return bout
        clock.note_own_move(seat)
        command = entry.command
        state.table.judge_actor(command, seat, self._notes)
        deadline_us = bout.since_us + state.table.limit_us
        if command.time_us > deadline_us and seat in state.on_clock():
            late = f"{command.time_us - deadline_us} µs later"
            self._notes.note(Kind.LATE_MOVE, "R10.2", "a move before the deadline", late, seat)
        return bout

    def _is_card(self, number: int) -> bool:
        if not is_card(number):
            self._notes.fault(Kind.CARD_NOT_HELD, "R1.2", "a card", number)
        return is_card(number)

    def _judge(self, seat: int, broken: Iterable[Broken], wrong: Broken | None = None) -> str:
        """Report the rules that a move breaks.

        ``wrong`` is broken by the card alone: at a tricky table it is no fault (R11.1), and its
        clause is returned as the one that makes the play illegal.
        """
        for kind, clause, expected, found in broken:
            self._notes.fault(kind, clause, expected, found, seat)
        if wrong is None:
            return ""
        if not self._state.table.tricky:
            self._notes.fault(wrong.kind, wrong.clause, wrong.expected, wrong.found, seat)
        return wrong.clause

    def _play(self, entry: Entry, play: Play, bout: Bout) -> None:
        """Move the card from the hand to the table. A card not held comes from another place."""
        state = self._state
        seat, card, clause = play
        if card in state.hands[seat]:
            state.hands[seat].remove(card)
        else:
            found = f"{label(card)}, which it does not hold"
            self._notes.fault(Kind.CARD_NOT_HELD, "R4.1", "a card of its hand", found, seat)
            for hand in state.hands:
                hand.discard(card)
            state.stock = [other for other in state.stock if other != card]
        bout.add_play(entry.version, play, entry.command.time_us)
        if clause and state.table.tricky:
            self._illegal[entry.version] = play
