"""Solves endgame positions: the value of a position and of each move in it (R14.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import TypeVar

from domain.endgame.countdown_search import CountdownSearch
from domain.endgame.playout import playout
from domain.endgame.position import (
    EndgameMove,
    Position,
    Role,
    Terminal,
    apply_move,
    legal_moves,
)
from domain.endgame.search import FAR, BudgetSpent, Search
from domain.endgame.transfer_search import HorizonReached, TransferSearch
from domain.match.state import BOUTS_WITHOUT_DISCARD_MAX

_S = TypeVar("_S", bound=Search)


class Value(IntEnum):
    """The result of best play by both seats, for the seat to move.

    After the first move the defender always acts first where both seats may act (R5.1).
    """

    LOSS = -1
    DRAW = 0
    WIN = 1


@dataclass(frozen=True, slots=True)
class MoveValue:
    """The value of a move for the seat that makes it: proven if ``exact``, else from a playout."""

    value: Value
    exact: bool


@dataclass(frozen=True, slots=True)
class Solution:
    """The solution of a position.

    Attributes:
        value: the value for the seat to move.
        best_move: a move that reaches the value.
        exact: value and move are proven. Otherwise the budget ran out and they are estimates.
        visited: the number of positions visited.
    """

    value: Value
    best_move: EndgameMove
    exact: bool
    visited: int


def solve(position: Position, *, budget: int | None = None) -> Solution:
    """Return the value of a position and a best move.

    ``budget`` is the maximum number of positions to visit; None means no limit. Among moves of
    equal value the first one of ``legal_moves`` is returned. `Solver` describes what ``exact``
    guarantees under R9.5.

    The attacker holds 7♥ and the trump 6♠, the defender 8♥ and 9♣. Leading 6♠ wins: the defender
    must take it, and 7♥ is the attacker's last card.

    >>> from domain.cards import CARD_BY_NAME, card_name, mask_of
    >>> def cards(names):
    ...     return mask_of(CARD_BY_NAME[name] for name in names.split())
    >>> position = Position(cards("7♥ 6♠"), cards("8♥ 9♣"), trump_suit=3)
    >>> solution = solve(position)
    >>> solution.value, solution.exact, card_name(solution.best_move.card.bit_length())
    (<Value.WIN: 1>, True, '6♠')
    >>> [found.value.name for found in evaluate_moves(position).values()]
    ['DRAW', 'WIN']
    """
    return Solver(position).solve(FAR if budget is None else budget)


def evaluate_moves(
    position: Position, *, budget: int | None = None
) -> dict[EndgameMove, MoveValue]:
    """Return the value of every legal move.

    ``budget`` is the maximum number of positions to visit for all moves together.
    """
    return Solver(position).evaluate_moves(FAR if budget is None else budget)


class _Candidate:
    """A move and the proven bounds of its value, from ``low`` to ``high``."""

    def __init__(self, move: EndgameMove, after: Position | Terminal, mover: int) -> None:
        self.move = move
        self.after = after
        self.guess = 0
        self.reopen(mover)

    def reopen(self, mover: int) -> None:
        """Reset the bounds."""
        self.low, self.high = -1, 1
        if isinstance(self.after, Terminal):
            self.low = self.high = _worth(self.after, mover)

    @property
    def exact(self) -> bool:
        return self.low == self.high

    @property
    def value(self) -> int:
        """The proven value, or the guess limited to the proven bounds."""
        return max(self.low, min(self.high, self.guess))


class Solver:
    """The solver of one position. All of its moves share one memo.

    Guarantee of ``exact`` under the fifty-bout draw (R9.5): the value is right for the position's
    ``bouts_without_discard``. Without transfers a run of bouts without a discard is shorter than
    the attacker's hand. With transfers the search reports how long the runs in its proofs are. If
    the count can reach fifty within the current run, this run is searched again with the count as
    part of the position. If it can reach fifty within a later run, which starts from 0, nothing is
    reported as exact. Without transfers this cannot happen below fifty cards in play.
    """

    def __init__(self, position: Position) -> None:
        self.root = position
        self.mover = position.seat_to_move
        self.search = self._plain_search()
        self.visited_before = 0
        self.cut_short = False

    def solve(self, budget: int) -> Solution:
        """See the function ``solve``."""
        candidates = self._candidates()
        self._narrow(candidates, budget, stop_at_best=True)
        if not self._decided(candidates):
            self._guess(candidates)
        best = max(candidates, key=lambda c: (c.value, c.low))
        exact = self._decided(candidates) and best.exact and self._within_fifty()
        return Solution(Value(best.value), best.move, exact, self.visited)

    def evaluate_moves(self, budget: int) -> dict[EndgameMove, MoveValue]:
        """See the function ``evaluate_moves``."""
        candidates = self._candidates()
        self._narrow(candidates, budget, stop_at_best=False)
        self._guess(candidates)
        sound = self._within_fifty()
        return {c.move: MoveValue(Value(c.value), c.exact and sound) for c in candidates}

    @property
    def visited(self) -> int:
        """The number of positions visited so far."""
        return self.visited_before + self.search.visited

    # --- search --------------------------------------------------------------------------------

    def _plain_search(self) -> Search:
        """Return the cheapest search that is correct for the root."""
        root = self.root
        left = BOUTS_WITHOUT_DISCARD_MAX - root.bouts_without_discard
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
            BOUTS_WITHOUT_DISCARD_MAX - self.root.bouts_without_discard,
            transfers=self.root.transfer,
        )
        return search

    def _candidates(self) -> list[_Candidate]:
        return [_Candidate(m, apply_move(self.root, m), self.mover) for m in legal_moves(self.root)]

    def _narrow(self, candidates: list[_Candidate], budget: int, *, stop_at_best: bool) -> None:
        """Prove bounds until all are exact, one best move is proven, or the budget is spent.

        Each move in turn gets a slice of the budget, so that one hard move does not starve the
        others. The memo keeps the answers found in earlier slices.
        """
        slice_ = max(64, budget // 16)
        while self.visited < budget:
            self.cut_short = False
            for goal, candidate in product((1, 0), candidates):  # look for a win first
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
        """Try to decide whether a move reaches ``goal``, up to ``until`` visited positions."""
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
        """Return whether the root's mover gets at least ``goal`` from ``position``."""
        position = position.defender_first()
        if position.seat_to_move == self.mover:
            return self._holds(position, goal)
        return not self._holds(position, 1 - goal)

    def _holds(self, position: Position, goal: int) -> bool:
        """Return whether the seat to move in ``position`` gets at least ``goal``."""
        known = self._look(position, goal)
        self.search.confirm(won=known == bool(goal))
        return known

    def _look(self, position: Position, goal: int) -> bool:
        search, p = self.search, position
        attacker, defender = search.pack(p.attacker_hand), search.pack(p.defender_hand)
        unbeaten, beaten = search.pack(p.unbeaten), search.pack(p.beaten)
        ranks = search.ranks_on(unbeaten | beaten)
        if p.turn is Role.DEFENDER:
            return search.defend(attacker, defender, unbeaten, beaten, ranks, goal)
        if p.taking:
            everything = attacker | defender | unbeaten | beaten
            room = p.attack_cards_allowed()
            return search.after_take(attacker, attacker & ranks, room, everything, goal)
        if beaten:
            return search.throw_in(attacker, defender, beaten, ranks, goal)
        return search.lead(attacker, defender, goal)

    # --- result --------------------------------------------------------------------------------

    @staticmethod
    def _decided(candidates: list[_Candidate]) -> bool:
        """Return whether some move is proven to be at least as good as all others."""
        return max(c.low for c in candidates) == max(c.high for c in candidates)

    def _guess(self, candidates: list[_Candidate]) -> None:
        """Estimate the moves without a proven value by playouts."""
        for candidate in candidates:
            if not candidate.exact:
                assert isinstance(candidate.after, Position)
                candidate.guess = _worth(playout(candidate.after), self.mover)

    def _run_too_long(self) -> bool:
        search = self.search
        if isinstance(search, CountdownSearch) or not isinstance(search, TransferSearch):
            return False
        return self.root.bouts_without_discard + search.root_run >= BOUTS_WITHOUT_DISCARD_MAX

    def _within_fifty(self) -> bool:
        """Return whether no run after the next discard is long enough for a draw by R9.5."""
        search = self.search
        if isinstance(search, TransferSearch):
            return search.longest_of_all < BOUTS_WITHOUT_DISCARD_MAX
        return search.width < BOUTS_WITHOUT_DISCARD_MAX


def _worth(ending: Terminal, seat: int) -> int:
    """Return the value of a result for ``seat``."""
    if ending.winner is None:
        return 0
    return 1 if ending.winner == seat else -1
