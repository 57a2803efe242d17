"""The search with transfers, compared with a game graph that is solved by retrograde analysis.

The minimax without a memo is limited to seven cards. Here all reachable positions are listed, and
wins are propagated from the terminal positions until nothing changes. The remaining positions are
draws, because they can repeat endlessly.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict, deque

import pytest

from domain.endgame import evaluate_moves
from domain.endgame.position import same_ranks
from domain.endgame.search import Search
from domain.endgame.transfer_search import HorizonReached, TransferSearch
from tests.domain.endgame import minimax as ref
from tests.domain.endgame.test_solver_against_minimax import KINDS, as_position, bit

SWEEP = int(os.environ.get("DURAK_TEST_ENDGAME_SWEEP", "1"))

State = ref.Bout | int | None


def graph(start: ref.Bout, table: ref.Table) -> dict[State, set[State]]:
    """The successors of every reachable position. Bouts without a discard are not counted."""
    edges: dict[State, set[State]] = {}
    open_: list[State] = [start]
    while open_:
        state = open_.pop()
        if state in edges:
            continue
        edges[state] = set()
        if isinstance(state, ref.Bout):
            for reached in ref.successors(state, table).values():
                after = ref.resumed(reached, table)
                edges[state].add(after._replace(quiet=0) if isinstance(after, ref.Bout) else after)
        open_ += edges[state]
    return edges


def wins(edges: dict[State, set[State]], seat: int) -> set[State]:
    """The positions from which the seat can force a win."""
    before = defaultdict(set)
    for state, after in edges.items():
        for one in after:
            before[one].add(state)
    left = {state: len(after) for state, after in edges.items()}
    won: set[State] = {state for state in edges if state == seat and isinstance(state, int)}
    queue = deque(won)
    while queue:
        for state in before[queue.popleft()]:
            assert isinstance(state, ref.Bout)
            left[state] -= 1
            if state not in won and (ref.mover(state) == seat or not left[state]):
                won.add(state)
                queue.append(state)
    return won


@pytest.mark.parametrize(("ranks", "cards", "count"), [(2, 7, 2), (2, 8, 1), (3, 8, 1), (4, 8, 1)])
def test_R9_5_the_solver_agrees_with_retrograde_analysis(
    ranks: int, cards: int, count: int
) -> None:
    rng = random.Random(f"{ranks} {cards}")
    for number in range(count * SWEEP):
        table = ref.Table(rng.randrange(4), transfer=True, draws=bool(number % 3))
        deck = [(suit, 6 + rank) for suit in range(4) for rank in range(ranks)]
        dealt = rng.sample(deck, cards)
        cut = rng.randint(2, cards - 2)
        hands = frozenset(dealt[:cut]), frozenset(dealt[cut:])
        start = ref.new_bout(0, *hands, five=False, quiet=0)
        edges = graph(start, table)
        won = [wins(edges, seat) for seat in (0, 1)]
        for state in [start, *rng.sample(sorted(edges, key=repr), min(12, len(edges)))]:
            if not isinstance(state, ref.Bout):
                continue
            seat = ref.mover(state)
            expected = {}
            for (kind, card, target), reached in ref.successors(state, table).items():
                after = ref.resumed(reached, table)
                after = after._replace(quiet=0) if isinstance(after, ref.Bout) else after
                worth = (after in won[seat]) - (after in won[1 - seat])
                expected[KINDS[kind], bit(card), bit(target)] = worth
            found = evaluate_moves(as_position(state, table))
            assert all(entry.exact for entry in found.values())
            assert {tuple(move): int(v.value) for move, v in found.items()} == expected, state


def test_R4_3_the_five_card_limit_of_the_search_ends_with_a_discard() -> None:
    search = Search(same_ranks(1 | 2 | 4), 3, draw_allowed=True, first_limit=5)
    assert search.limit(search.full) == 5
    assert search.limit(search.full ^ 0b11) == 6


pure_core = pytest.mark.skipif(
    os.environ["DURAK_CORE"] == "compiled", reason="a compiled class has no subclasses in Python"
)


class GraphSearch(TransferSearch):
    """The memo of the search on a given graph: a node is won if one of its children is won."""

    def __init__(self, children: dict[int, list[int]]) -> None:
        super().__init__((1 << 6) - 1, 3, draw_allowed=True, first_limit=6)
        self.children = children

    def ask(self, node: int) -> bool:
        return self.lead(node, self.full ^ node, 1)

    def search_lead(self, attacker: int, defender: int, goal: int) -> bool:
        return any(child == WON or self.ask(child) for child in self.children[attacker])


WON = 0


@pure_core
def test_a_failure_that_depends_on_an_open_position_is_dropped_when_that_position_is_won() -> None:
    search = GraphSearch({1: [2, WON], 2: [1]})
    assert search.ask(1)
    assert search.ask(2)


@pure_core
def test_a_failure_that_depends_on_two_open_positions_is_dropped_when_the_lower_is_won() -> None:
    search = GraphSearch({1: [2], 2: [3, WON], 3: [1, 2]})
    assert search.ask(1)
    assert search.ask(3)


@pure_core
def test_failures_that_depend_on_each_other_are_kept_when_the_highest_fails() -> None:
    search = GraphSearch({1: [2], 2: [3, 1], 3: [2]})
    assert not search.ask(1)
    assert not search.provisional
    visited = search.visited
    assert not any(search.ask(node) for node in (1, 2, 3))
    assert search.visited == visited


@pure_core
def test_a_win_beyond_the_horizon_is_found_with_a_wider_horizon() -> None:
    search = GraphSearch({node: [node + 1] for node in range(1, 16)} | {16: [WON]})
    assert not search.ask(1)
    with pytest.raises(HorizonReached):
        search.confirm(won=False)
    assert search.widen()
    assert search.ask(1)
    search.confirm(won=True)
    assert search.root_run >= 15
