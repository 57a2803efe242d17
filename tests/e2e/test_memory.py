"""Memory does not grow with the watches that were opened and closed: resident memory is counted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from grpc import aio

from tests.bench.memory import NO_LIMITS, Load
from tests.conftest import Database
from tests.e2e.test_nothing_lost import serving

WATCHES = int(os.environ.get("DURAK_TEST_WATCHES", "0"))
GROWTH_BYTES_MAX = 400
"""Per watch. It was 900, and is below 100 once the service is warm."""
ROUNDS_MAX = 4
"""The allocator takes memory in steps of megabytes: one round may show one, a leak is in each."""


@pytest.mark.skipif(not WATCHES, reason="DURAK_TEST_WATCHES is the number of watches, from 6000")
@pytest.mark.timeout(600)
async def test_watches_that_were_opened_and_closed_leave_nothing(
    database: Database, tmp_path: Path
) -> None:
    async with (
        serving(database.app_dsn, tmp_path, **NO_LIMITS) as service,
        aio.insecure_channel(service.address) as channel,
    ):
        load = Load(service, channel)
        match_id = await load.seat()
        await load.watch(match_id, 2 * WATCHES)
        rounds: list[float] = []
        while len(rounds) < ROUNDS_MAX and all(grown >= GROWTH_BYTES_MAX for grown in rounds):
            before = load.resident_bytes()
            await load.watch(match_id, WATCHES)
            rounds.append((load.resident_bytes() - before) / WATCHES)
    assert min(rounds) < GROWTH_BYTES_MAX, rounds
