"""Measure durable commands per second through the edge, and past it.

The service, the clients and their matches are those of `tests.bench.play`, with unary calls. Half
of the clients call the service, the others an Envoy with the configuration of `deploy/edge`, whose
limits per address are lifted. Rounds of both alternate, so other load on the machine affects them
equally. On a machine with few cores the edge also takes processor time from the service.

`python -m tests.bench.edge` runs only this benchmark and prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.play import CLIENTS, measure, process
from tests.deploy.edging import edge

ROUNDS, ROUND_S = 9, 1.5
NO_LIMIT = "1000000"


def run(*, rounds: int = ROUNDS, round_s: float = ROUND_S) -> dict[str, float]:
    """Measure. Return `edge_vs_direct` (commands per second through the edge, by those past it).

    It is a median over rounds. `edge_play_per_s` and `edge_direct_play_per_s` are the two rates.
    """
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)  # Postgres may run as another user
        with process("serve", parent) as (service, started):
            return asyncio.run(_measure(service, started, rounds, round_s))


async def _measure(
    service: subprocess.Popen[str], started: dict[str, Any], rounds: int, round_s: float
) -> dict[str, float]:
    service_port = int(started["address"].rpartition(":")[2])
    limits = {"ADDRESS_CALLS_PER_SECOND": NO_LIMIT, "ADDRESS_CALLS_BURST": NO_LIMIT}
    async with edge(service_port, **limits) as port:
        with ExitStack() as stack:
            kinds: dict[str, list[subprocess.Popen[str]]] = {}
            for kind, address in (("direct", started["address"]), ("edge", f"127.0.0.1:{port}")):
                words = json.dumps({**started, "address": address})
                kinds[kind] = [
                    stack.enter_context(process("client", words))[0] for _ in range(CLIENTS)
                ]
                measure(service, kinds[kind], "unary", 1.0)  # warm
            rates: dict[str, list[float]] = {kind: [] for kind in kinds}
            for number in range(rounds):
                print(f"edge: round {number + 1} of {rounds}", file=sys.stderr)
                for kind, clients in kinds.items():
                    rates[kind].append(measure(service, clients, "unary", round_s)["per_s"])
    ratios = [ours / direct for ours, direct in zip(rates["edge"], rates["direct"], strict=True)]
    return {
        "edge_vs_direct": round(median(ratios), 4),
        "edge_play_per_s": round(median(rates["edge"])),
        "edge_direct_play_per_s": round(median(rates["direct"])),
    }


if __name__ == "__main__":
    print(json.dumps(run()))
