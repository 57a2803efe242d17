"""Compares the consequences in the log with those that the rules force: deal, end of bout, result.

Where the two differ, the state goes on from the rules, or from the log at the versions of
``follow``. `domain.audit.report` tries both and keeps the reading with fewer findings.
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from domain.audit.consequences import (
    KIND_OF,
    Consequence,
    Discard,
    Draws,
    Expected,
    GoingOut,
    PickUp,
    UnknownDeal,
    read_consequence,
)
from domain.audit.deck import Deal, labels, seed_hash
from domain.audit.findings import Kind, Notebook
from domain.audit.records import Entry
from domain.audit.score import Score
from domain.audit.state import State
from domain.audit.table import SEED_CLAUSE
from durak.v1.events_pb2 import (
    OUTCOME_ABANDONED,
    OUTCOME_CANCELLED,
    OUTCOME_DRAW,
    OUTCOME_PLAYED_OUT,
    Dealt,
    Finished,
    SeatResult,
)

_KINDS: Final[Mapping[type[Consequence], Kind]] = MappingProxyType(
    {
        Deal: Kind.SHUFFLE,
        Discard: Kind.DISCARDED,
        PickUp: Kind.TOOK,
        Draws: Kind.DREW,
        GoingOut: Kind.WENT_OUT,
    }
)
_SHARE_CLAUSES: Final[Mapping[int, str]] = MappingProxyType(
    {
        OUTCOME_PLAYED_OUT: "R12.3",
        OUTCOME_DRAW: "R12.5",
        OUTCOME_CANCELLED: "R12.5",
        OUTCOME_ABANDONED: "R12.6",
    }
)


class Comparison:
    """Judges the consequences of one match and applies them to its state."""

    def __init__(self, state: State, notes: Notebook, follow: Collection[int]) -> None:
        self._state = state
        self._notes = notes
        self._follow = follow
        self.forks: list[int] = []
        """Versions where the log says something else than the rules."""

    def apply_missing(self, entry: Entry) -> None:
        """Report each consequence that should stand before this entry, and apply it."""
        state = self._state
        while (expected := state.expected) is not None and not state.is_ended:
            clause, event = expected
            kinds = {KIND_OF[type(event)], entry.kind}
            if len(kinds) == 1 or kinds == {"discarded", "took"}:
                return  # a bout that ends in the wrong way is one finding, by `judge`
            self._notes.fault(Kind.MISSING, clause, event, entry.kind)
            if isinstance(event, UnknownDeal):
                state.expected = None
            else:
                state.apply(event, entry.command.time_us)

    def judge(self, entry: Entry) -> None:
        """Judge a consequence, except the result, and apply what the rules or the log say."""
        if entry.kind == "dealt":
            self._judge_seats_dealt(entry.body)
        state, expected = self._state, self._state.expected
        found = read_consequence(entry)
        if expected is not None and expected.event == found:
            state.apply(found, entry.command.time_us)
            return
        self.forks.append(entry.version)
        self._report(expected, found)
        forced = None if expected is None else expected.event
        is_unknown = isinstance(forced, UnknownDeal)
        if (is_unknown or entry.version in self._follow) and state.can_apply(found):
            state.apply(found, entry.command.time_us)
        elif forced is None or isinstance(forced, UnknownDeal):
            state.expected = None
        else:
            state.apply(forced, entry.command.time_us)

    def _judge_seats_dealt(self, body: Dealt) -> None:
        seats = [hand.seat for hand in body.hands]
        if seats != list(range(len(seats))):
            self._notes.fault(Kind.SHUFFLE, "R3.1", "hands by seat", seats)

    def _report(self, expected: Expected | None, found: Consequence) -> None:
        fault, kind = self._notes.fault, _KINDS[type(found)]
        if expected is None:
            fault(Kind.UNEXPECTED, "R7.3", f"no {KIND_OF[type(found)]} now", found)
            return
        match expected.event, found:
            case UnknownDeal(), _:
                fault(Kind.SHUFFLE, SEED_CLAUSE, "a deal that a seed proves", "no seed")
            case Deal() as deal, Deal():
                self._report_deal(deal, found)
            case Draws() as draws, Draws():
                self._report_draws(draws, found)
            case PickUp(seat=seat), PickUp():
                fault(kind, expected.clause, expected.event, found, seat)
            case event, _:
                fault(kind, expected.clause, event, found)

    def _report_deal(self, deal: Deal, found: Deal) -> None:
        fault = self._notes.fault
        for seat in range(max(len(deal.hands), len(found.hands))):
            expected, dealt = _hand(deal, seat), _hand(found, seat)
            if expected != dealt:
                fault(Kind.SHUFFLE, "R3.1", labels(expected), labels(dealt), seat)
        if deal.trump_card != found.trump_card:
            fault(Kind.SHUFFLE, "R3.2", labels([deal.trump_card]), labels([found.trump_card]))
        if deal.stock != found.stock:
            stocks = f"stock {labels(deal.stock)}", f"stock {labels(found.stock)}"
            fault(Kind.SHUFFLE, "R3.1", *stocks)
        if deal.first_attacker != found.first_attacker:
            first = found.first_attacker
            seats = f"seat {deal.first_attacker}", f"seat {first}"
            fault(Kind.FIRST_ATTACKER, "R3.4", *seats, first)

    def _report_draws(self, expected: Draws, found: Draws) -> None:
        fault = self._notes.fault
        due, drawn = dict(expected.draws), dict(found.draws)
        for seat in sorted(due.keys() | drawn.keys()):
            if due.get(seat, []) != drawn.get(seat, []):
                cards = labels(due.get(seat, [])), labels(drawn.get(seat, []))
                fault(Kind.DREW, "R8.1", *cards, seat)
        orders = [it.seat for it in expected.draws], [it.seat for it in found.draws]
        if orders[0] != orders[1]:
            fault(Kind.DREW, "R8.2", *orders)

    # --- the result ------------------------------------------------------------------------------

    def judge_result(self, entry: Entry) -> None:
        """R9, R12: judge outcome, durak, places, shares and the revealed seed."""
        state, fault = self._state, self._notes.fault
        body: Finished = entry.body
        if seed_hash(body.server_seed) != state.table.seed_hash:
            promised = f"a seed of hash {state.table.seed_hash.hex()}"
            fault(Kind.SEED, SEED_CLAUSE, promised, body.server_seed.hex())
        if state.expected is None or not isinstance(state.expected.event, Score):
            fault(Kind.UNEXPECTED, "R9", "the match goes on", "finished")
            state.is_ended = True
            return
        clause, score = state.expected.clause, state.expected.event
        expected = (score.outcome, score.durak, score.leaver)
        found = (
            body.outcome,
            body.durak if body.HasField("durak") else None,
            body.leaver if body.HasField("leaver") else None,
        )
        if found != expected:
            words = "outcome {}, durak {}, leaver {}"
            fault(Kind.OUTCOME, clause, words.format(*expected), words.format(*found))
        if tuple(body.prevented_by) != score.prevented_by:
            expected_seats = f"deal prevented by seats {list(score.prevented_by)}"
            fault(Kind.OUTCOME, "R3.6", expected_seats, f"seats {list(body.prevented_by)}")
        self._judge_seat_results(score, body.results)
        state.apply(score, entry.command.time_us)

    def _judge_seat_results(self, score: Score, results: Iterable[SeatResult]) -> None:
        fault = self._notes.fault
        results = list(results)
        seats = [result.seat for result in results]
        if seats != sorted(score.places):
            fault(Kind.OUTCOME, "R9", f"results of seats {sorted(score.places)}", seats)
        for result in results:
            seat, share = result.seat, result.share_coins
            place = result.place if result.HasField("place") else None
            if seat not in score.places:
                continue
            if place != score.places[seat]:
                fault(Kind.PLACE, "R9.2", score.places[seat], place, seat)
            if share != score.shares[seat]:
                clause = _SHARE_CLAUSES[score.outcome]
                fault(Kind.SHARE, clause, f"{score.shares[seat]} coins", f"{share} coins", seat)


def _hand(deal: Deal, seat: int) -> list[int]:
    return deal.hands[seat] if seat < len(deal.hands) else []
