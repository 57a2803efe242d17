"""The health of the service, told to those who watch it."""

from __future__ import annotations

import asyncio
from typing import Any

from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from service.rpc.health import READINESS, Health


async def test_who_watches_has_been_told_only_when_the_message_is_sent() -> None:
    health = Health([])
    context: Any = None
    health.set_ready(True)
    await health.told()  # nobody watches

    watch: Any = health.Watch(HealthCheckRequest(service=READINESS), context)
    assert (await anext(watch)).status == HealthCheckResponse.SERVING
    health.set_ready(False)
    telling = asyncio.create_task(health.told())
    assert (await anext(watch)).status == HealthCheckResponse.NOT_SERVING
    await asyncio.sleep(0)
    assert not telling.done(), "the message is with the transport still"
    more = asyncio.ensure_future(anext(watch))  # as when it is sent: the next one is wanted
    await telling

    health.set_ready(True)
    assert (await more).status == HealthCheckResponse.SERVING
    telling = asyncio.create_task(health.told())
    await asyncio.sleep(0)
    await watch.aclose()  # who leaves is not waited for
    await telling
