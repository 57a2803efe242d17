"""`durak rebuild` on the database of the test."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

from eventstore import EventStore
from tests.conftest import Database, execute
from tests.service.stored_matches import store_random
from tests.terminal import Terminal


def stored(database: Database, *seeds: int) -> list[UUID]:
    async def store() -> list[UUID]:
        async with await EventStore.open(database.app_dsn) as opened:
            return [await store_random(opened, seed, seats=2) for seed in seeds]

    return asyncio.run(store())


def test_read_models_are_rebuilt_without_corrupt_matches(
    database: Database, tmp_path: Path
) -> None:
    terminal = Terminal(database, tmp_path)
    matches = stored(database, 1, 2, 3)
    for _ in range(2):
        done = terminal.durak("rebuild")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "3 matches listed, 3 ended matches counted.\n"

    change = f"UPDATE events SET record = record || 'x' WHERE stream_id = '{matches[1]}'"
    asyncio.run(
        execute(database.owner_dsn, "ALTER TABLE events DISABLE TRIGGER events_append_only", change)
    )
    done = terminal.durak("rebuild")
    assert done.returncode == 1
    assert done.stderr == f"durak: match {matches[1]} is corrupt and was left unchanged\n"
    assert done.stdout == "2 matches listed, 3 ended matches counted.\n"
