"""Case T10: a small message that inflates to a large one costs the service nothing to speak of."""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import aio

from tests.conftest import Database
from tests.e2e.test_nothing_lost import serving

INFLATED_BYTES = 60_000_000
CALLS = 5
INFLATING_S = 0.19
"""The CPU time that inflating one of them took before compression was switched off."""


def cpu_seconds(pid: int) -> float:
    """The CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="reads the CPU time in /proc")
async def test_T10_58_KB_of_gzip_that_inflate_to_60_MB_without_a_token_cost_no_CPU_time(
    database: Database, tmp_path: Path
) -> None:
    message = bytes(INFLATED_BYTES)
    assert 58_000 <= len(zlib.compress(message)) < 59_000
    async with (
        serving(database.app_dsn, tmp_path) as service,
        aio.insecure_channel(service.address) as channel,
    ):
        call: Any = channel.unary_unary("/durak.v1.MatchService/OpenTable")
        await channel.channel_ready()
        start = cpu_seconds(service.pid)
        for _ in range(CALLS):
            with pytest.raises(aio.AioRpcError) as refused:
                await call(message, compression=grpc.Compression.Gzip)
            assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert cpu_seconds(service.pid) - start < CALLS * INFLATING_S / 2
