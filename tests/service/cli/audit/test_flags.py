"""`durak audit flags` on the database."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from eventstore import EventStore
from tests.service.audit.test_flags import THRESHOLDS, Results
from tests.terminal import Terminal


def test_the_terminal_lists_flags_with_their_matches(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, threshold in THRESHOLDS.items():
        monkeypatch.setenv(f"DURAK_{name.upper()}", str(threshold))

    async def store() -> list[UUID]:
        async with await EventStore.open(terminal.database.app_dsn) as opened:
            results = Results(opened)
            return [await results.leave("ann") for _ in range(2)]

    first, second = asyncio.run(store())
    done = terminal.durak("audit", "flags")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "ann: left: 2 of 2 matches, 2126-05-01 12:01 to 2126-05-01 12:02",
        f"  {second}",
        f"  {first}",
        "1 flags",
    ]
    nobody = terminal.durak("audit", "flags", "--player", "bob", "--since", "2126-05-01")
    assert nobody.stdout == "0 flags\n"
