"""O15: standard error is a pipe that nobody reads. The service goes on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from uuid import uuid4

from grpc import aio

from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from service.config import Config
from service.rpc.token_keys import DevelopmentKey
from tests.conftest import Database
from tests.terminal import COMMAND

REFUSALS = 2_000
"""Each is a line of the log: together several times what a pipe holds."""


async def test_O15_a_service_whose_log_nobody_reads_goes_on(
    database: Database, tmp_path: Path
) -> None:
    outer, inner = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, "serve", "--port", "0"),
        env={
            **os.environ,
            "DURAK_DATABASE_URL": database.app_dsn,
            "DURAK_DATA_DIR": str(tmp_path),
            "DURAK_LOG_LEVEL": "debug",
            "DURAK_CALLER_CALLS_PER_SECOND": "0",
        },
        stderr=inner,
    )
    os.close(inner)
    try:
        said = b""
        while b"durak listens on" not in said or not said.endswith(b"\n"):
            chunk = await asyncio.to_thread(os.read, outer, 4096)
            assert chunk, said
            said += chunk
        address = said.split(b"durak listens on ")[1].split()[0].decode()
        config = Config(data_dir=tmp_path)
        token = DevelopmentKey.in_folder(tmp_path).mint(
            "ann", issuer=config.token_issuer, audience=config.token_audience, lifetime_seconds=600
        )
        async with aio.insecure_channel(address) as channel:
            stub = MatchServiceStub(channel)

            async def ask() -> aio.AioRpcError:
                request = api.GetMatchRequest(match_id=str(uuid4()))
                metadata = (("authorization", f"Bearer {token}"),)
                try:
                    await stub.GetMatch(request, metadata=metadata, timeout=60)
                except aio.AioRpcError as error:
                    return error
                raise AssertionError("there is no such match")

            for _ in range(
                REFUSALS // 100
            ):  # each is a line: together several times what a pipe holds
                answers = await asyncio.gather(*(ask() for _ in range(100)))
                assert {one.code().name for one in answers} == {"NOT_FOUND"}
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 60) == 0
    finally:
        os.close(outer)
        if process.returncode is None:
            process.kill()
            await process.wait()
