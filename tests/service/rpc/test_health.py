"""The status of the service, and how watchers are notified of it."""

from __future__ import annotations

import asyncio
from typing import Any

from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from service.rpc.health import READINESS, Health


async def test_a_watcher_counts_as_notified_only_after_the_message_is_sent() -> None:
    health = Health([])
    context: Any = None
    health.set_ready()
    await health.wait_until_sent()  # there is no watcher

    watch: Any = health.Watch(HealthCheckRequest(service=READINESS), context)
    assert (await anext(watch)).status == HealthCheckResponse.SERVING
    health.set_not_ready("unavailable")
    sending = asyncio.create_task(health.wait_until_sent())
    assert (await anext(watch)).status == HealthCheckResponse.NOT_SERVING
    await asyncio.sleep(0)
    assert not sending.done(), "the transport still has the message"
    more = asyncio.ensure_future(anext(watch))  # gRPC asks for the next one after sending
    await sending

    health.set_ready()
    assert (await more).status == HealthCheckResponse.SERVING
    sending = asyncio.create_task(health.wait_until_sent())
    await asyncio.sleep(0)
    await watch.aclose()  # a watcher that leaves is not waited for
    await sending
