"""Judges what must follow from the rules alone: the deal, the end of a bout, the result.

Where the log says something else, one has to go on from somewhere. First from what the rules say;
`domain.audit.judge` hears the log again from what the log says, and keeps what explains it better.
"""

from collections.abc import Collection, Iterable
from typing import Any

from domain.audit import deck
from domain.audit.bout import Play
from domain.audit.deck import labels
from domain.audit.findings import Kind, Notebook, Verdict
from domain.audit.records import Command, Entry, Log
from domain.audit.score import Score
from domain.audit.state import Due, State, describe
from domain.audit.table import Table
from durak.v1.events_pb2 import (
    OUTCOME_ABANDONED,
    OUTCOME_CANCELLED,
    OUTCOME_DRAW,
    OUTCOME_PLAYED_OUT,
    SeatResult,
)

_SEED_CLAUSE = "design: fair dealing"
_SHARE_CLAUSES: dict[int, str] = {
    OUTCOME_PLAYED_OUT: "R12.3",
    OUTCOME_DRAW: "R12.5",
    OUTCOME_CANCELLED: "R12.5",
    OUTCOME_ABANDONED: "R12.6",
}


class Consequences:
    """The half of the referee that nobody decides anything in."""

    def __init__(self, log: Log, follow: Collection[int] = ()) -> None:
        """Judge a log; at the versions in ``follow`` go on from what it says there."""
        self.log = log
        self.follow = follow
        self.forks: list[int] = []
        """Versions where what the log says is not what the rules say."""
        self.notes = Notebook()
        self.verdicts: list[Verdict] = []
        self.illegal: list[tuple[int, Play]] = []
        self.state: State | None = None
        self.is_hopeless = False
        self.command = Command(0, "", b"", 0)
        self.requests: set[tuple[str, bytes]] = set()
        """Who has asked, and the id of the request."""
        self.opening_over = False
        self.opened_us = 0
        self.acts_for: int | None = None
        """The seat that timed out, until the server has acted for it."""
        self.timeouts: list[int] = []
        self.seed = b""

    def playing_state(self) -> State:
        """The state of a table that was opened."""
        assert self.state is not None
        return self.state

    def is_over(self) -> bool:
        """Whether the match has ended."""
        return self.playing_state().is_ended

    def sit_at(self, table: Table, server_seed: bytes) -> None:
        """Begin with an open table. The seed is the one that was promised, wherever it stands."""
        self.state = State(table)
        self.timeouts = [0] * table.size
        seeds = [server_seed]
        seeds += [e.body.server_seed for e in self.log.entries if e.kind == "finished"]
        kept = [seed for seed in seeds if deck.seed_hash(seed) == table.seed_hash]
        self.seed = kept[0] if kept else b""

    def deal_is_due(self) -> None:
        """The last free seat was taken (R3.0)."""
        state = self.playing_state()
        table = state.table
        client_seeds = [table.seats[seat].client_seed for seat in range(table.size)]
        deal = None
        if self.seed and all(len(seed) < 256 for seed in client_seeds):
            deal = deck.deal(table.deck, self.seed, self.log.match_id, client_seeds)
        state.due = Due("dealt", "R3.1", deal)

    def must_finish(self, score: Score, clause: str) -> None:
        """The match is over, whatever else was due."""
        self.playing_state().due = Due("finished", clause, score)

    def say(self, due: Due) -> str:
        """What is due, in words."""
        return describe(due.kind, due.value)

    def make_good(self, entry: Entry) -> None:
        """Something was due and did not come: say so, do it, and go on."""
        state = self.playing_state()
        while state.due is not None and state.due.kind != entry.kind and not state.is_ended:
            due = state.due
            if {due.kind, entry.kind} == {"discarded", "took"}:
                return  # one finding for the wrong end of a bout
            self.notes.fault(Kind.MISSING, due.clause, self.say(due), entry.kind)
            if due.value is None:
                state.due = None
            else:
                state.carry_out(due.kind, due.value, entry.command.time_us)

    def compare(self, entry: Entry, kind: Kind, value: tuple[Any, ...]) -> None:
        """Judge a consequence against what was due, and let it happen."""
        state = self.playing_state()
        due = state.due
        now_us = entry.command.time_us
        if due is not None and due.kind == entry.kind and due.value == value:
            state.carry_out(entry.kind, value, now_us)
            return
        self.forks.append(entry.version)
        says = describe(entry.kind, value)
        follows = entry.version in self.follow and state.can_carry_out(entry.kind, value)
        if due is None:
            self.notes.fault(Kind.UNEXPECTED, "R7.3", f"no {entry.kind} now", says)
        elif due.value is None:
            follows = state.can_carry_out(entry.kind, value)
            self.notes.fault(Kind.SHUFFLE, _SEED_CLAUSE, "a deal that a seed proves", "no seed")
        elif due.kind != entry.kind:
            self.notes.fault(kind, due.clause, self.say(due), says)
        else:
            self._tell_apart(due, kind, value)
        if follows:
            state.carry_out(entry.kind, value, now_us)
        elif due is not None and due.value is not None:
            state.carry_out(due.kind, due.value, now_us)
        else:
            state.due = None

    def _tell_apart(self, due: Due, kind: Kind, value: tuple[Any, ...]) -> None:
        """Say which part of an event is wrong."""
        assert due.value is not None
        if due.kind == "dealt":
            self._tell_deals_apart(due.value, value)
        elif due.kind == "drew":
            draws, found = dict(due.value), dict(value)
            for seat in sorted(draws.keys() | found.keys()):
                cards = draws.get(seat, []), found.get(seat, [])
                if cards[0] != cards[1]:
                    self.notes.fault(kind, "R8.1", labels(cards[0]), labels(cards[1]), seat)
            orders = [seat for seat, _ in due.value], [seat for seat, _ in value]
            if orders[0] != orders[1]:
                self.notes.fault(kind, "R8.2", *orders)
        else:
            seat = due.value[0] if due.kind == "took" else None
            said = describe(due.kind, due.value), describe(due.kind, value)
            self.notes.fault(kind, due.clause, *said, seat)

    def _tell_deals_apart(self, deal: tuple[Any, ...], found: tuple[Any, ...]) -> None:
        fault = self.notes.fault
        for seat in range(max(len(deal[0]), len(found[0]))):
            hands = [hands[seat] if seat < len(hands) else [] for hands in (deal[0], found[0])]
            if hands[0] != hands[1]:
                fault(Kind.SHUFFLE, "R3.1", labels(hands[0]), labels(hands[1]), seat)
        if deal[1] != found[1]:
            fault(Kind.SHUFFLE, "R3.2", labels([deal[1]]), labels([found[1]]))
        if deal[2] != found[2]:
            fault(Kind.SHUFFLE, "R3.1", f"stock {labels(deal[2])}", f"stock {labels(found[2])}")
        if deal[3] != found[3]:
            fault(Kind.FIRST_ATTACKER, "R3.4", f"seat {deal[3]}", f"seat {found[3]}", found[3])

    # --- the result ------------------------------------------------------------------------------

    def judge_result(self, entry: Entry) -> None:
        """R9, R12: outcome, durak, places, shares, and the seed revealed."""
        state = self.playing_state()
        body, due = entry.body, state.due
        if deck.seed_hash(body.server_seed) != state.table.seed_hash:
            promised = f"a seed of hash {state.table.seed_hash.hex()}"
            self.notes.fault(Kind.SEED, _SEED_CLAUSE, promised, body.server_seed.hex())
        if due is None or not isinstance(due.value, Score):
            self.notes.fault(Kind.UNEXPECTED, "R9", "the match goes on", "finished")
            state.is_ended = True
            return
        ending = due.value
        found = (
            body.outcome,
            body.durak if body.HasField("durak") else None,
            body.leaver if body.HasField("leaver") else None,
        )
        if found != ending[:3]:
            said = "outcome {}, durak {}, leaver {}"
            expected = said.format(*ending[:3])
            self.notes.fault(Kind.OUTCOME, due.clause, expected, said.format(*found))
        self._judge_results(ending, body.results)
        state.carry_out("finished", ending, entry.command.time_us)

    def _judge_results(self, ending: Score, results: Iterable[SeatResult]) -> None:
        fault = self.notes.fault
        results = list(results)
        seats = [result.seat for result in results]
        if seats != sorted(ending.places):
            fault(Kind.OUTCOME, "R9", f"results of seats {sorted(ending.places)}", seats)
        clause = _SHARE_CLAUSES[ending.outcome]
        for seat, place, share in ((r.seat, r.place, r.share_coins) for r in results):
            if seat not in ending.places:
                continue
            if place != ending.places[seat]:
                fault(Kind.PLACE, "R9.2", ending.places[seat], place, seat)
            if share != ending.shares[seat]:
                fault(Kind.SHARE, clause, f"{ending.shares[seat]} coins", f"{share} coins", seat)
