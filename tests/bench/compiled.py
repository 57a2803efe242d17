"""Measure the compiled core against the same sources in plain Python.

Each round measures one process of each kind, one after the other, in CPU time. Without a compiled
core there is nothing to measure. `python -m tests.bench.compiled` runs only this benchmark.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

from domain.audit import Stored, audit
from domain.bots import BOTS
from domain.endgame import solve
from domain.match.commands import Play
from domain.match.decide import decide
from domain.match.fold import Match, fold
from domain.match.move_messages import list_moves
from domain.match.refusal import Refusal
from domain.match.view import seats_in, table_view
from durak.v1.events_pb2 import Record
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import PHASE_PLAYING
from service.core import core_form
from tests.bench.endgame import sample
from tests.domain.audit.audit_matches import random_match
from tests.domain.random_play import dealt_by_seed, step
from tests.domain.tables import Table, settings, sitting

ROUNDS = 3
MATCHES = 30
DECISIONS = 4_000
POSITIONS = 20_000


def run(*, rounds: int = ROUNDS) -> dict[str, object]:
    """Measure. Return the form of the core of this process, and how many times as fast it is.

    ``compiled_vs_pure_…`` is the CPU time of the sources ÷ that of the compiled core, the median.
    """
    form = core_form()
    if form == "pure":
        return {"core": form}
    pairs = [(_times("pure"), _times("compiled")) for _ in range(rounds)]
    return {"core": form} | {
        f"compiled_vs_pure_{name}": round(
            median(pure[name] / fast[name] for pure, fast in pairs), 2
        )
        for name in pairs[0][0]
    }


def _times(core: str) -> dict[str, float]:
    """Return the times of a process with this core."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.bench.compiled", "measure"],
        env={**os.environ, "DURAK_CORE": core}, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    times: dict[str, float] = json.loads(found.stdout)
    return times


def _measure() -> dict[str, float]:
    """Return the CPU seconds of each part of the core in this process."""
    logs = [random_match(seed).stored for seed in range(MATCHES)] * 5
    table = _in_play()
    positions = [
        position
        for transfer in (False, True)
        for position in sample(8, transfer=transfer, positions=4, seed=20_008)
    ]
    parts: dict[str, Callable[[], object]] = {
        "fold": lambda: [_fold(log) for log in logs],
        "view": lambda: [table_view(table.match, 0) for _ in range(DECISIONS)],
        "decide": lambda: _decide(table.match),
        "audit": lambda: [_audit(log) for log in logs],
        "hard_bot": lambda: _hard_bot(table),
        "solver": lambda: [solve(position, budget=POSITIONS) for position in positions],
    }
    return {name: _seconds(work) for name, work in parts.items()}


def _in_play() -> Table:
    """Return a table with some bouts behind it, whose stock is not empty."""
    table = dealt_by_seed(settings(seats=2), 1)
    chance = random.Random(1)
    while table.match.phase == PHASE_PLAYING and len(table.match.stock) > 12:
        table.store(step(table, chance))
    return table


def _fold(log: list[Stored]) -> Match:
    return fold(Record.FromString(data) for _, data, _ in log)


def _audit(log: list[Stored]) -> bool:
    return audit(log).ok


def _decide(match: Match) -> None:
    seat = seats_in(match.on_clock())[0]
    play = Play(list_moves(table_view(match, seat).moves)[0])
    for _ in range(DECISIONS):
        outcome = decide(match, sitting(seat), play)
        assert not isinstance(outcome, Refusal)
        assert outcome.after.version > match.version


def _hard_bot(table: Table) -> None:
    seat = seats_in(table.match.on_clock())[0]
    view, history = table.shown_to(seat)
    for seed in range(8):
        BOTS[BotLevel.BOT_LEVEL_HARD].choose_move(view, history, seed)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    print(json.dumps(_measure() if sys.argv[1:] == ["measure"] else run()))
