"""The standard health service (grpc.health.v1), with the names `liveness` and `readiness`.

`liveness`: the process works. It stays SERVING during shutdown, so that no supervisor kills the
process then. `readiness`: the service accepts calls, which needs the database. The empty name and
the names of the services have the status of `readiness`.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, Literal, get_args

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthServicer

from service.rpc.call import Context

NotReady = Literal[
    "starting", "unavailable", "too_slow", "misconfigured", "heads_behind", "draining"
]
"""Why the service accepts no calls. `unavailable`, `too_slow` and `misconfigured` are about the
database; `heads_behind`: the heads of matches were not compared for too long."""
NOT_READY: Final[tuple[NotReady, ...]] = get_args(NotReady)
LIVENESS = "liveness"
READINESS = "readiness"


class Health(HealthServicer):
    """Reports the status of the service.

    It replaces the servicer of grpcio-health-checking. That one holds a lock while it writes, so
    that one watcher that does not read blocks every change of status. It also forgets the other
    watchers of a name when one of them leaves.
    """

    def __init__(self, services: Iterable[str]) -> None:
        """Begin alive and not ready. The full names of `services` have the status of readiness."""
        self._ready_names = ("", READINESS, *services)
        self._statuses: dict[str, int] = dict.fromkeys(
            self._ready_names, HealthCheckResponse.NOT_SERVING
        )
        self._statuses[LIVENESS] = HealthCheckResponse.SERVING
        self.not_ready: NotReady | None = "starting"
        self._others_ready = True
        self._changed = asyncio.Event()
        self._changes = 0
        self._sent_to: dict[object, int] = {}
        """Watcher → the number of the last change that was sent to it."""
        self._sent = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        """True while this process accepts calls."""
        return self.not_ready is None

    def set_ready(self) -> None:
        """Set that this process accepts calls. Notifies the watchers."""
        self.not_ready = None
        self._report()

    def set_not_ready(self, reason: NotReady) -> None:
        """Set why this process accepts no calls. Notifies the watchers."""
        self.not_ready = reason
        self._report()

    def set_others_ready(self, ready: bool) -> None:  # noqa: FBT001 - the value that the name announces
        """Set whether the other processes behind the port accept calls.

        A caller does not choose its process, so the service is ready only if all of them are.
        """
        self._others_ready = ready
        self._report()

    def _report(self) -> None:
        ready = self.is_ready and self._others_ready
        status = HealthCheckResponse.SERVING if ready else HealthCheckResponse.NOT_SERVING
        if status == self._statuses[READINESS]:
            return
        for name in self._ready_names:
            self._statuses[name] = status
        self._changes += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_until_sent(self) -> None:
        """Wait until every watcher has been sent the current status."""
        while any(change != self._changes for change in self._sent_to.values()):
            self._sent.clear()
            await self._sent.wait()

    async def Check(self, request: HealthCheckRequest, context: Context) -> HealthCheckResponse:
        """Return the status of a service. An unknown name is NOT_FOUND, as in the protocol."""
        status = self._statuses.get(request.service)
        if status is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return HealthCheckResponse(status=status)

    async def Watch(
        self, request: HealthCheckRequest, context: Context
    ) -> AsyncIterator[HealthCheckResponse]:
        """Send the status of a service, and every change of it."""
        last = None
        watcher = object()
        try:
            while True:
                change, changed = self._changes, self._changed
                self._sent_to.setdefault(watcher, -1)
                status = self._statuses.get(request.service, HealthCheckResponse.SERVICE_UNKNOWN)
                if status != last:
                    last = status
                    yield HealthCheckResponse(status=status)  # resumes when it is sent
                self._sent_to[watcher] = change
                self._sent.set()
                await changed.wait()
        finally:
            self._sent_to.pop(watcher, None)
            self._sent.set()
