"""The standard health service (grpc.health.v1), with liveness and readiness as separate names.

`liveness`: the process works; it stays SERVING while the service stops, so that nobody kills it
then. `readiness`: it takes calls, which needs the database. The empty name and the names of the
services are the same as `readiness`.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import grpc
from grpc import aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthServicer

LIVENESS = "liveness"
READINESS = "readiness"

Context = aio.ServicerContext[Any, Any]


class Health(HealthServicer):
    """Says how the service is.

    Not the ready-made servicer of grpcio-health-checking: that one holds a lock while it writes, so
    that one watcher who does not read keeps the service from ever changing its state, and forgets
    the other watchers of a name when one of them leaves.
    """

    def __init__(self, services: Iterable[str]) -> None:
        """Begin alive and not ready; readiness also goes by the full names of `services`."""
        self._ready_names = ("", READINESS, *services)
        self._statuses: dict[str, int] = dict.fromkeys(
            self._ready_names, HealthCheckResponse.NOT_SERVING
        )
        self._statuses[LIVENESS] = HealthCheckResponse.SERVING
        self._changed = asyncio.Event()
        self._changes = 0
        self._told: dict[object, int] = {}
        """By who watches: which of the changes was sent to them last."""
        self._sent = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        """The service takes calls."""
        return self._statuses[READINESS] == HealthCheckResponse.SERVING

    def set_ready(self, ready: bool) -> None:  # noqa: FBT001 - the one thing that it sets
        """Say whether the service takes calls, and tell those who watch."""
        status = HealthCheckResponse.SERVING if ready else HealthCheckResponse.NOT_SERVING
        if ready == self.is_ready:
            return
        for name in self._ready_names:
            self._statuses[name] = status
        self._changes += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def told(self) -> None:
        """Wait until all who watch have been sent how the service is now."""
        while any(change != self._changes for change in self._told.values()):
            self._sent.clear()
            await self._sent.wait()

    async def Check(self, request: HealthCheckRequest, context: Context) -> HealthCheckResponse:
        """How a service is now; NOT_FOUND for one that is not here, as the protocol has it."""
        status = self._statuses.get(request.service)
        if status is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such service here")
        return HealthCheckResponse(status=status)

    async def Watch(
        self, request: HealthCheckRequest, context: Context
    ) -> AsyncIterator[HealthCheckResponse]:
        """How a service is, now and whenever that changes."""
        last = None
        watcher = object()
        try:
            while True:
                change, changed = self._changes, self._changed
                self._told.setdefault(watcher, -1)
                status = self._statuses.get(request.service, HealthCheckResponse.SERVICE_UNKNOWN)
                if status != last:
                    last = status
                    yield HealthCheckResponse(status=status)  # comes back when it is sent
                self._told[watcher] = change
                self._sent.set()
                await changed.wait()
        finally:
            self._told.pop(watcher, None)
            self._sent.set()
