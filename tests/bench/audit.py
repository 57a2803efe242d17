"""Measure the audit: matches per second, and the ratio to folding the same matches.

Both sides start from the stored bytes. Rounds alternate, so a slow second affects both sides
equally. The result is the median round.
"""

import json
from collections.abc import Callable
from statistics import median
from time import perf_counter

from domain.audit import Stored, audit
from domain.match.fold import fold
from durak.v1.events_pb2 import Record
from tests.domain.audit.audit_matches import random_match

MATCHES = 60
ROUNDS = 7


def run() -> dict[str, float]:
    """Measure folding and auditing side by side.

    Returns:
        ``fold_vs_audit`` (time to decode and fold the matches ÷ time to audit them, of one round,
        median), ``matches_audited_per_second`` and ``events_audited_per_second``.
    """
    logs = [random_match(seed).stored for seed in range(MATCHES)]
    events = sum(map(len, logs))
    rounds = [(_seconds(_fold, logs), _seconds(_audit, logs)) for _ in range(ROUNDS)]
    audit_seconds = median(seconds for _, seconds in rounds)
    return {
        "fold_vs_audit": round(median(folding / auditing for folding, auditing in rounds), 4),
        "matches_audited_per_second": round(MATCHES / audit_seconds, 1),
        "events_audited_per_second": round(events / audit_seconds),
    }


def _fold(log: list[Stored]) -> None:
    match = fold(Record.FromString(data) for _, data, _ in log)
    assert match.result is not None


def _audit(log: list[Stored]) -> None:
    assert audit(log).ok


def _seconds(work: Callable[[list[Stored]], None], logs: list[list[Stored]]) -> float:
    start = perf_counter()
    for log in logs:
        work(log)
    return perf_counter() - start


if __name__ == "__main__":
    print(json.dumps(run()))
