"""Measure the endgame solver on positions from fixed seeds.

`python -m tests.bench.endgame` runs only this benchmark.
"""

from __future__ import annotations

import json
import random
import time

from domain.endgame import Position, solve

BUDGET = 200_000
"""Maximum number of positions that the solver visits for one solution."""


def sample(cards: int, *, transfer: bool, positions: int, seed: int) -> list[Position]:
    """Return random starts of a bout, with ``cards`` of 36 cards in each hand."""
    rng = random.Random(seed)
    deck = [1 << 13 * suit + rank for suit in range(4) for rank in range(4, 13)]
    found = []
    for _ in range(positions):
        dealt = rng.sample(deck, 2 * cards)
        found.append(
            Position(sum(dealt[:cards]), sum(dealt[cards:]), rng.randrange(4), transfer=transfer)
        )
    return found


def measure(positions: list[Position], budget: int = BUDGET) -> dict[str, float]:
    """Return median and p95 of seconds and visited positions, and the share solved exactly."""
    seconds: list[float] = []
    visited: list[int] = []
    exact = 0
    for position in positions:
        start = time.perf_counter()
        solution = solve(position, budget=budget)
        seconds.append(time.perf_counter() - start)
        visited.append(solution.visited)
        exact += solution.exact
    seconds.sort()
    visited.sort()
    p95 = max(0, -(-len(positions) * 95 // 100) - 1)
    return {
        "median_s": seconds[len(seconds) // 2],
        "p95_s": seconds[p95],
        "median_visited": visited[len(visited) // 2],
        "p95_visited": visited[p95],
        "exact_share": exact / len(positions),
    }


def run() -> dict[str, dict[str, float]]:
    """Measure 6+6 and 8+8 cards, without and with transfers."""
    return {
        f"{name} {cards}+{cards}": measure(
            sample(cards, transfer=transfer, positions=count, seed=20_000 + cards)
        )
        for name, transfer in (("podkidnoy", False), ("perevodnoy", True))
        for cards, count in ((6, 60), (8, 12))
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
