"""Values of endgame positions and of each move in them (R14.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import TypeVar

from domain.endgame.playout import playout
from domain.endgame.position import (
    BOUTS_WITHOUT_DISCARD_MAX,
    EndgameMove,
    EndgameResult,
    Position,
    Role,
    apply_move,
    legal_moves,
)
from domain.endgame.search import FAR, BudgetSpent, Search
from domain.endgame.transfer_search import CountdownSearch, HorizonReached, TransferSearch

_S = TypeVar("_S", bound=Search)


class Value(IntEnum):
    """What best play by both seats leads to, for the seat to move."""

    LOSS = -1
    DRAW = 0
    WIN = 1


@dataclass(frozen=True, slots=True)
class MoveValue:
    """Value of a move for the seat that makes it; if not ``exact``, a play-out's result."""

    value: Value
    exact: bool


@dataclass(frozen=True, slots=True)
class Solution:
    """Answer to a position: ``value`` for the seat to move, reached by ``best_move``.

    ``exact``: value and move are proven. Otherwise the budget was spent and they are the best
    found. ``visited``: number of positions searched.
    """

    value: Value
    best_move: EndgameMove
    exact: bool
    visited: int


def solve(position: Position, *, budget: int | None = None) -> Solution:
    """Value and best move of the seat to move.

    ``budget`` is the greatest number of positions to visit, None for no limit. The values are those
    of R9.5: see ``Solver``. Among moves that keep the value the first of ``legal_moves`` is taken.
    """
    return Solver(position).solve(FAR if budget is None else budget)


def evaluate_moves(
    position: Position, *, budget: int | None = None
) -> dict[EndgameMove, MoveValue]:
    """Value of every legal move of the seat to move, with the same ``budget`` for all together."""
    return Solver(position).evaluate_moves(FAR if budget is None else budget)


class _Candidate:
    """A move and what is known of its value: it lies in low … high."""

    def __init__(self, move: EndgameMove, after: Position | EndgameResult, mover: int) -> None:
        self.move = move
        self.after = after
        self.guess = 0
        self.reopen(mover)

    def reopen(self, mover: int) -> None:
        """Forget the proven bounds."""
        self.low, self.high = -1, 1
        if isinstance(self.after, EndgameResult):
            self.low = self.high = _worth(self.after, mover)

    @property
    def exact(self) -> bool:
        return self.low == self.high

    @property
    def value(self) -> int:
        """Proven, or the guess held to the proven bounds."""
        return max(self.low, min(self.high, self.guess))


class Solver:
    """Solver of one position, its memory shared by all of its moves.

    What ``exact`` guarantees about the fifty-bout draw (R9.5): the value is right for this
    ``quiet_bouts``. Without transfers a run without a discard is shorter than the attacker's hand,
    with them the search reports how long the runs in its proofs get; where the counter could reach
    fifty within such a run, the run is searched again with the counter as a part of the position. A
    later run, which starts from 0, that could take fifty bouts in a row is not searched again: then
    nothing is called exact. Below fifty cards in play this cannot happen without transfers.
    """

    def __init__(self, position: Position) -> None:
        self.root = position
        self.mover = position.seat_to_move
        self.search = self._plain_search()
        self.visited_before = 0
        self.cut_short = False

    # Public

    def solve(self, budget: int) -> Solution:
        """See ``solve``."""
        candidates = self._candidates()
        self._narrow(candidates, budget, stop_at_best=True)
        if not self._decided(candidates):
            self._guess(candidates)
        best = max(candidates, key=lambda c: (c.value, c.low))
        exact = self._decided(candidates) and best.exact and self._within_fifty()
        return Solution(Value(best.value), best.move, exact, self.visited)

    def evaluate_moves(self, budget: int) -> dict[EndgameMove, MoveValue]:
        """See ``evaluate_moves``."""
        candidates = self._candidates()
        self._narrow(candidates, budget, stop_at_best=False)
        self._guess(candidates)
        sound = self._within_fifty()
        return {c.move: MoveValue(Value(c.value), c.exact and sound) for c in candidates}

    @property
    def visited(self) -> int:
        """Positions searched so far."""
        return self.visited_before + self.search.visited

    # Search

    def _plain_search(self) -> Search:
        """The cheapest search that is right for the root."""
        root = self.root
        left = BOUTS_WITHOUT_DISCARD_MAX - root.quiet_bouts
        if root.transfer:
            return self._new(TransferSearch)
        longest = root.attacker_hand.bit_count() + 1
        return self._new(Search) if longest < left else self._countdown()

    def _new(self, kind: type[_S]) -> _S:
        root = self.root
        cards = root.attacker_hand | root.defender_hand | root.unbeaten | root.beaten
        return kind(
            cards,
            root.trump_suit,
            draw_allowed=root.draw_allowed,
            first_limit=root.attack_limit,
        )

    def _countdown(self) -> CountdownSearch:
        search = self._new(CountdownSearch)
        search.count_down(
            BOUTS_WITHOUT_DISCARD_MAX - self.root.quiet_bouts, transfers=self.root.transfer
        )
        return search

    def _candidates(self) -> list[_Candidate]:
        return [_Candidate(m, apply_move(self.root, m), self.mover) for m in legal_moves(self.root)]

    def _narrow(self, candidates: list[_Candidate], budget: int, *, stop_at_best: bool) -> None:
        """Prove bounds until all are exact, one winning move suffices, or the budget is spent.

        Moves take turns with slices of the budget, so that one hard move does not starve the
        others; what a slice has found stays in the memory.
        """
        slice_ = max(64, budget // 16)
        while self.visited < budget:
            self.cut_short = False
            for goal, candidate in product((1, 0), candidates):  # one win is all there is to find
                if stop_at_best and self._decided(candidates):
                    break
                self._ask(candidate, goal, min(budget, self.visited + slice_))
            if all(c.exact for c in candidates) or (stop_at_best and self._decided(candidates)):
                break
            if self.cut_short:
                slice_ *= 2
            elif not self.search.widen():
                break
        if self._run_too_long():
            self.visited_before += self.search.visited
            self.search = self._countdown()
            for candidate in candidates:
                candidate.reopen(self.mover)
            self._narrow(candidates, budget, stop_at_best=stop_at_best)

    def _ask(self, candidate: _Candidate, goal: int, until: int) -> None:
        """Try to decide whether the candidate reaches ``goal``, up to ``until`` visited in all."""
        if not candidate.low < goal <= candidate.high:
            return
        after = candidate.after
        assert isinstance(after, Position)
        self.search.allowance = until - self.visited_before
        try:
            if self._reaches(after, goal):
                candidate.low = goal
            else:
                candidate.high = goal - 1 if self.search.draws_occur else -1
        except BudgetSpent:
            self.search.abandon()
            self.cut_short = True
        except HorizonReached:
            pass

    def _reaches(self, position: Position, goal: int) -> bool:
        """The root's mover gets at least ``goal`` from ``position``."""
        if position.seat_to_move == self.mover:
            return self._holds(position, goal)
        return not self._holds(position, 1 - goal)

    def _holds(self, position: Position, goal: int) -> bool:
        """The seat to move in ``position`` gets at least ``goal``."""
        known = self._look(position, goal)
        self.search.confirm(won=known == bool(goal))
        return known

    def _look(self, position: Position, goal: int) -> bool:
        search, p = self.search, position
        attacker, defender = search.pack(p.attacker_hand), search.pack(p.defender_hand)
        unbeaten, beaten = search.pack(p.unbeaten), search.pack(p.beaten)
        ranks = search.ranks_on(unbeaten | beaten)
        if p.turn is Role.DEFENDER:
            return search.answer(attacker, defender, unbeaten, beaten, ranks, goal)
        if p.taking:
            everything = attacker | defender | unbeaten | beaten
            room = p.attack_cards_allowed()
            return search.taken(attacker, attacker & ranks, room, everything, goal)
        if unbeaten:
            return not search.faced(attacker, defender, unbeaten, beaten, ranks, 1 - goal)
        if beaten:
            return search.throw(attacker, defender, beaten, ranks, goal)
        return search.lead(attacker, defender, goal)

    # Verdict

    @staticmethod
    def _decided(candidates: list[_Candidate]) -> bool:
        """Some move is proven as good as any other can be."""
        return max(c.low for c in candidates) == max(c.high for c in candidates)

    def _guess(self, candidates: list[_Candidate]) -> None:
        """Play the open moves out."""
        for candidate in candidates:
            if not candidate.exact:
                assert isinstance(candidate.after, Position)
                candidate.guess = _worth(playout(candidate.after), self.mover)

    def _run_too_long(self) -> bool:
        search = self.search
        if isinstance(search, CountdownSearch) or not isinstance(search, TransferSearch):
            return False
        return self.root.quiet_bouts + search.root_run >= BOUTS_WITHOUT_DISCARD_MAX

    def _within_fifty(self) -> bool:
        """No run after the next discard is long enough to end in a draw by R9.5."""
        search = self.search
        if isinstance(search, TransferSearch):
            return search.longest_of_all < BOUTS_WITHOUT_DISCARD_MAX
        return search.width < BOUTS_WITHOUT_DISCARD_MAX


def _worth(ending: EndgameResult, seat: int) -> int:
    """Value of a result for ``seat``."""
    if ending.winner is None:
        return 0
    return 1 if ending.winner == seat else -1
