"""A server with the services that need no token, and clients without a token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

from durak.v1.practice_service_pb2_grpc import PracticeServiceStub
from durak.v1.rules_service_pb2_grpc import RulesServiceStub
from service.config import Config
from service.rpc.failures import Failures
from service.rpc.limits import Limits
from service.rpc.port import channel_options
from service.rpc.revocations import Revocations
from service.rpc.status import STATUS_KEY
from service.rpc.telemetry import Telemetry
from service.rpc.token_keys import DevelopmentKey
from service.server import add_public_services, build_interceptor

Metadata = tuple[tuple[str, str], ...]


@asynccontextmanager
async def public_services(folder: Path, **settings: Any) -> AsyncIterator[aio.Channel]:
    """A channel to the public services, with the frame of every call."""
    config = Config(data_dir=folder, **settings)
    key, telemetry = DevelopmentKey.in_folder(folder), Telemetry(None, None)
    interceptor = build_interceptor(
        config, key, Revocations(), Limits(config), Failures(), telemetry
    )
    server = aio.server(interceptors=[interceptor], options=channel_options(config))
    add_public_services(config, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        await server.stop(None)


def rules(channel: aio.Channel) -> Any:
    return RulesServiceStub(channel)


def practice(channel: aio.Channel) -> Any:
    return PracticeServiceStub(channel)


def speaking(language: str) -> Metadata:
    return (("accept-language", language),)


def refused(error: aio.AioRpcError) -> tuple[grpc.StatusCode, str]:
    """The code and the reason of a refusal."""
    status = status_pb2.Status()
    for key, value in error.trailing_metadata() or ():
        if key == STATUS_KEY:
            status.ParseFromString(value)  # type: ignore[arg-type] # a binary key has bytes
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    return error.code(), info.reason
