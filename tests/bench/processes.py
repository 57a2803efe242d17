"""Measure the CPU time of a command in two processes behind one port, against one process.

Two services run side by side, each on an embedded Postgres of its own: one process, and
`durak serve --processes 2`. The same number of clients plays at each in alternating rounds, and at
the second one each process has half of them. The players of a match share a connection, as behind
an edge that sends all calls of a match to one replica. The result is the number of commands for
each second of CPU time that the processes of the service use (without Postgres and the clients), in
two processes ÷ in one, median over the rounds.

`python -m tests.bench.processes` runs only this benchmark and prints one JSON object (Linux).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO, Any

from service.rpc.token_keys import DevelopmentKey
from tests.bench.noisy import cpu_seconds
from tests.bench.play import IN_FLIGHT, PLAYERS, TOKEN_SECONDS, answer, ask, process

ROUNDS, ROUND_S = 5, 2.0
CLIENTS = 2
DURAK = "from service.cli.main import main; main()"
UNLIMITED = {
    "DURAK_CALLER_CALLS_PER_SECOND": "0",
    "DURAK_CALLER_TABLES_MAX": "10000",
    "DURAK_CALLER_SEATS_MAX": "10000",
}

Client = subprocess.Popen[str]


@dataclass(frozen=True)
class Service:
    """A service: where it listens, and the pids of the processes that take calls."""

    started: str
    pids: list[int]


def run(*, rounds: int = ROUNDS, round_s: float = ROUND_S) -> dict[str, float]:
    """Measure. Return the ratio, and the commands per second of CPU time of both."""
    with tempfile.TemporaryDirectory() as parent, ExitStack() as stack:
        Path(parent).chmod(0o755)  # Postgres may run as another user
        clients: dict[int, list[Client]] = {}
        services: dict[int, Service] = {}
        for count in (1, 2):
            service = stack.enter_context(_serving(Path(parent) / str(count), count))
            services[count] = service
            clients[count] = _clients(stack, service)
        rates: dict[int, list[float]] = {1: [], 2: []}
        for number in range(rounds):
            print(f"processes: round {number + 1} of {rounds}", file=sys.stderr)
            for count in sorted(rates, reverse=bool(number % 2)):
                used = _play(clients[count], services[count].pids, round_s)
                rates[count].append(used.commands / sum(used.cpu_s))
    pairs = zip(rates[2], rates[1], strict=True)
    return {
        "two_processes_vs_one": round(median(two / one for two, one in pairs), 4),
        "one_process_per_cpu_second": round(median(rates[1])),
        "two_processes_per_cpu_second": round(median(rates[2])),
    }


@contextmanager
def _serving(folder: Path, count: int) -> Iterator[Service]:
    arguments = ("serve", "--processes", str(count), "--port", "0", "--data-dir", str(folder))
    with subprocess.Popen(
        [sys.executable, "-c", DURAK, *arguments],
        env={**os.environ, **UNLIMITED},
        stderr=subprocess.PIPE,
        text=True,
    ) as serving:
        try:
            assert serving.stderr is not None
            address, children = _read_start(serving.stderr, count)
            key = DevelopmentKey.in_folder(folder)
            tokens = [
                key.mint(player, issuer="durak", audience="durak", lifetime_seconds=TOKEN_SECONDS)
                for player in PLAYERS
            ]
            pids = children or [serving.pid]
            yield Service(json.dumps({"address": address, "tokens": tokens}), pids)
        finally:
            serving.terminate()


def _read_start(log: IO[str], count: int) -> tuple[str, list[int]]:
    """Return the address, and the pids of the children, which the processes log at their start."""
    started: list[dict[str, Any]] = []
    while len(started) < count:
        line = log.readline()
        assert line, "the service does not start"
        found = json.loads(line) if line.startswith("{") else {}
        if found.get("event") == "started" and "address" in found:
            started.append(found)
    return started[0]["address"], [one["pid"] for one in started if "pid" in one]


def _clients(stack: ExitStack, service: Service) -> list[Client]:
    """Start the clients, the same number at each process. The kernel chooses the process."""
    share = CLIENTS // len(service.pids)
    found: dict[int, list[Client]] = {pid: [] for pid in service.pids}
    while any(len(own) < share for own in found.values()):
        with ExitStack() as trying:
            new, _ = trying.enter_context(process("client", service.started))
            used = _play([new], service.pids, 0.5)
            pid = service.pids[used.cpu_s.index(max(used.cpu_s))]
            if len(found[pid]) < share:
                found[pid].append(new)
                stack.push(trying.pop_all())
    return [one for own in found.values() for one in own]


@dataclass(frozen=True)
class _Used:
    commands: float
    cpu_s: list[float]
    """For each process."""


def _play(clients: list[Client], pids: list[int], seconds: float) -> _Used:
    """Run one round of all these clients at once."""
    task = {"kind": "session", "seconds": seconds, "in_flight": IN_FLIGHT // len(clients)}
    for one in clients:
        ask(one, task)
    for one in clients:
        answer(one)  # the client starts to count
    before = [cpu_seconds(pid) for pid in pids]
    per_s = sum(answer(one)["per_s"] for one in clients)
    after = [cpu_seconds(pid) for pid in pids]
    return _Used(per_s * seconds, [end - start for end, start in zip(after, before, strict=True)])


if __name__ == "__main__":
    print(json.dumps(run()))
