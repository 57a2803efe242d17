"""The interceptor of the server: every call passes a frame before and after its servicer.

The frame authenticates and authorises the caller, applies the limits, starts the trace, chooses the
language, turns exceptions into statuses, and writes metrics and log lines. Servicers read
`current_call()` and raise.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import grpc
from grpc import aio

from service.config import Config
from service.rpc.authentication import Authenticator
from service.rpc.authorization import ACCESS, Access, access_to
from service.rpc.failures import Failures
from service.rpc.frame import Frame
from service.rpc.limits import Limits
from service.rpc.running_call import CallEnvironment, call_metadata
from service.rpc.telemetry import Telemetry


class Interceptor(aio.ServerInterceptor):
    """Puts a frame around the handler of every method of the server."""

    def __init__(
        self,
        authenticator: Authenticator,
        limits: Limits,
        failures: Failures,
        telemetry: Telemetry,
        config: Config,
        access: Mapping[str, Access] = ACCESS,
    ) -> None:
        """Accept the calls that `access` allows."""
        self.limits = limits
        self.failures = failures
        self._environment = CallEnvironment(
            authenticator,
            limits,
            failures,
            telemetry,
            session_grace_seconds=config.session_grace_seconds,
            trusted_proxies=config.trusted_proxies,
            log_calls=config.log_level == "debug",
        )
        self.streams = self._environment.streams
        self._access = access
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the framed handler of the method, or None: gRPC then answers UNIMPLEMENTED."""
        method = handler_call_details.method
        call_metadata.set(handler_call_details.invocation_metadata)
        framed = self._handlers.get(method)
        if framed is None:
            handler = await continuation(handler_call_details)
            if handler is None:
                return None
            access = access_to(method, self._access)
            framed = Frame(self._environment, method, access, handler).handler()
            self._handlers[method] = framed
        return framed

    def drain(self) -> None:
        """Refuse new calls with DRAINING, and end the open watches and sessions with it."""
        self._environment.is_draining = True
        self.streams.end_authenticated()

    @property
    def quiet_seconds(self) -> float:
        """The time since the last call arrived."""
        return time.perf_counter() - self._environment.last_arrival

    def cut_off(self) -> None:
        """End the unary calls that still run, with DRAINING."""
        for call in tuple(self._environment.unary_calls):
            call.cut_off()

    def end_revoked(self) -> None:
        """Stop accepting tokens that are no longer valid, and end their streams."""
        authenticator = self._environment.authenticator
        authenticator.forget_revoked()
        self.streams.end_revoked(authenticator.vouches_for)

    def end_public_streams(self) -> None:
        """End the streams that `drain` leaves open, so that health watchers see the change."""
        self.streams.end_public()
