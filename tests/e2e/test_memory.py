"""Memory does not grow with the watches that were opened and closed: resident memory is counted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from grpc import aio

from tests.bench.memory import NO_LIMITS, Load, growth_per_watch
from tests.conftest import Database
from tests.e2e.test_nothing_lost import serving

WATCHES = int(os.environ.get("DURAK_TEST_WATCHES", "0"))
GROWTH_BYTES_MAX = 400
"""Per watch. It was 900, and is below 100 once the service is warm."""


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
        growth = await growth_per_watch(load, warm_up=2 * WATCHES, watches=WATCHES)
    assert growth < GROWTH_BYTES_MAX
