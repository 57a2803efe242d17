"""`python -m tests.bench`: run every benchmark and print one JSON object on standard output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eventstore import EmbeddedPostgres, migrate
from tests.bench import (
    append,
    audit,
    bots,
    compiled,
    core,
    edge,
    endgame,
    feed,
    hints,
    memory,
    noisy,
    play,
    processes,
    stakes,
)


def _append() -> dict[str, float]:
    async def measure(postgres: EmbeddedPostgres) -> dict[str, float]:
        await migrate(postgres.owner_dsn())
        return await append.run(postgres.owner_dsn(), postgres.app_dsn())

    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)  # Postgres may run as another user
        with EmbeddedPostgres(Path(parent) / "postgres") as postgres:
            return asyncio.run(measure(postgres))


def _endgame() -> dict[str, Any]:
    return {"endgame": endgame.run()}


def main() -> None:
    """Run the benchmarks one after the other. Print progress on standard error."""
    parts: dict[str, Callable[[], Mapping[str, Any]]] = {
        "append": _append,
        "play": play.run,
        "feed": feed.run,
        "edge": edge.run,
        "stakes": stakes.run,
        "processes": processes.run,
        "hints": hints.run,
        "bots": bots.run,
        "noisy": noisy.run,
        "core": core.run,
        "compiled": compiled.run,
        "memory": memory.run,
        "audit": audit.run,
        "endgame": _endgame,
    }
    os.environ["DURAK_BOT_DELAY_SECONDS"] = "0"  # measure bots that think, not bots that wait
    figures: dict[str, Any] = {}
    failed: list[str] = []
    for name, measure in parts.items():
        print(f"measuring: {name}", file=sys.stderr)
        try:
            figures.update(measure())
        except Exception:  # noqa: BLE001 - the figures of the other parts took long
            traceback.print_exc()
            failed.append(name)
    print(json.dumps(figures))
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
