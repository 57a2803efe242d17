"""What every call passes before and after its servicer.

Who calls, may they, how often; the language of the answer; the trace, the metrics, the log line;
and how errors become statuses. Servicers see none of it: they read `current_call()` and raise.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

import grpc
import structlog
from google.protobuf.message import DecodeError
from grpc import aio

from durak.v1 import errors_pb2 as reasons
from service.rpc.authentication import Authenticator
from service.rpc.authorization import ACCESS, Access, access_to, authorise
from service.rpc.call import NOBODY, Call, Caller, enter_call
from service.rpc.errors import FailedCalls, refuse
from service.rpc.limits import Limits
from service.rpc.status import STATUS_KEY
from service.rpc.stream_lifetime import MALFORMED, Lifetime, Requests
from service.rpc.telemetry import Telemetry, Traced
from service.text.localisation import negotiate

Context = aio.ServicerContext[Any, Any]
Behaviour = Callable[[Any, Context], Any]

_log = structlog.get_logger(__name__)
_UNTRACED = Traced(b"", None)
_metadata: ContextVar[Any] = ContextVar("metadata")
"""The metadata of the running call, from the interceptor to the frame: asking the context for it
would decode it once more."""


class Interceptor(aio.ServerInterceptor):
    """Puts a frame around the handler of every method that the server has."""

    def __init__(
        self,
        authenticator: Authenticator,
        limits: Limits,
        failed_calls: FailedCalls,
        telemetry: Telemetry,
        *,
        session_grace_seconds: float,
        log_calls: bool = False,
        access: Mapping[str, Access] = ACCESS,
    ) -> None:
        """Let callers in as `access` says; see config.py for `session_grace_seconds`.

        `log_calls`: write a line (`debug`) for every call.
        """
        self.authenticator = authenticator
        self.limits = limits
        self.failed_calls = failed_calls
        self.telemetry = telemetry
        self.session_grace_seconds = session_grace_seconds
        self.log_calls = log_calls
        self.draining = False
        self.lifetimes: set[Lifetime] = set()
        """Of the open streams whose callers have a token."""
        self.public_lifetimes: set[Lifetime] = set()
        """Of the others: health, reflection."""
        self._access = access
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The framed handler of the method, or None: gRPC answers that with UNIMPLEMENTED."""
        method = handler_call_details.method
        _metadata.set(handler_call_details.invocation_metadata)
        framed = self._handlers.get(method)
        if framed is None:
            handler = await continuation(handler_call_details)
            if handler is None:
                return None
            framed = Frame(self, method, access_to(method, self._access), handler).handler()
            self._handlers[method] = framed
        return framed

    def drain(self) -> None:
        """From now on refuse calls with DRAINING, and end the open watches and sessions with it."""
        self.draining = True
        _end(self.lifetimes)

    def end_public_streams(self) -> None:
        """End what `drain` leaves open, so that watchers of the health see it change."""
        _end(self.public_lifetimes)


class Frame:
    """The frame around one method."""

    def __init__(
        self,
        interceptor: Interceptor,
        method: str,
        access: Access,
        handler: grpc.RpcMethodHandler[Any, Any],
    ) -> None:
        self.interceptor = interceptor
        self.method = method
        self.access = access
        self.is_stream = handler.request_streaming or handler.response_streaming
        self._handler = handler
        behaviour: Any = (
            handler.stream_stream
            or handler.stream_unary
            or handler.unary_stream
            or handler.unary_unary
        )
        self._behaviour: Behaviour = behaviour
        self._generates = inspect.isasyncgenfunction(self._behaviour)

    def handler(self) -> grpc.RpcMethodHandler[Any, Any]:
        """The handler that gRPC is to call."""
        handler = self._handler
        requests, responses = handler.request_streaming, handler.response_streaming
        make: Callable[..., grpc.RpcMethodHandler[Any, Any]]
        match (requests, responses):
            case (False, False):
                make, behaviour = grpc.unary_unary_rpc_method_handler, self._unary
            case (False, True):
                make, behaviour = grpc.unary_stream_rpc_method_handler, self._stream
            case (True, False):
                make, behaviour = grpc.stream_unary_rpc_method_handler, self._stream
            case _:
                make, behaviour = grpc.stream_stream_rpc_method_handler, self._stream
        return make(behaviour, _tolerant(handler.request_deserializer), handler.response_serializer)

    async def _unary(self, request: object, context: Context) -> object:
        passage = Passage(self, context)
        try:
            await passage.enter(request)
            return await self._behaviour(request, context)
        except BaseException as error:
            if passage.goes_on(error):
                raise
            return None
        finally:
            passage.leave()

    async def _stream(self, request: Any, context: Context) -> object:  # noqa: ANN401 - or many
        passage = Passage(self, context)
        try:
            await passage.enter(request)
            requests = Requests(request) if self._handler.request_streaming else None
            async with passage.lifetime(requests):
                return await self._respond(requests or request, context)
        except BaseException as error:
            if passage.goes_on(error):
                raise
            return None
        finally:
            passage.leave()

    async def _respond(self, request: object, context: Context) -> object:
        """Run the servicer's method, which yields its answers, writes them, or returns the one."""
        if not self._generates:
            return await self._behaviour(request, context)
        responses: AsyncIterator[object] = self._behaviour(request, context)
        async with aclosing(responses):  # type: ignore[type-var]
            async for response in responses:
                await context.write(response)
        return None


class Passage:
    """One call on its way through the frame."""

    __slots__ = (
        "_caller",
        "_code",
        "_context",
        "_counted",
        "_frame",
        "_language",
        "_lifetime",
        "_reason",
        "_started",
        "_traced",
    )

    def __init__(self, frame: Frame, context: Context) -> None:
        self._started = time.perf_counter()
        self._frame = frame
        self._context = context
        self._caller = NOBODY
        self._language = ""
        self._traced = _UNTRACED
        self._counted = False
        self._lifetime: Lifetime | None = None
        self._code = grpc.StatusCode.OK
        self._reason = ""

    async def enter(self, request: object) -> None:
        """Find out who calls, whether they may, and whether the request is one. Raises Refused."""
        frame = self._frame
        interceptor = frame.interceptor
        metadata: dict[str, str | bytes] = dict(_metadata.get())
        self._language = _language(metadata)
        self._traced = interceptor.telemetry.begin(frame.method, metadata)
        if not frame.access.public:
            if interceptor.draining:
                raise refuse(reasons.ERROR_REASON_DRAINING)
            self._caller = await interceptor.authenticator.authenticate(metadata)
            authorise(self._caller, frame.access)
        self._count_in(interceptor.limits, self._caller)
        enter_call(self._call())
        if request is MALFORMED:
            raise refuse(reasons.ERROR_REASON_MALFORMED_FIELD)

    def lifetime(self, requests: Requests | None) -> Lifetime:
        """How long the stream of this call may stay open."""
        interceptor = self._frame.interceptor
        if self._frame.access.public:
            self._lifetime = Lifetime(None)
            interceptor.public_lifetimes.add(self._lifetime)
        else:
            self._lifetime = Lifetime(
                self._caller.expires_at - time.time(),
                grace_seconds=interceptor.session_grace_seconds if requests else 0.0,
                requests=requests,
            )
            interceptor.lifetimes.add(self._lifetime)
        return self._lifetime

    def goes_on(self, error: BaseException) -> bool:
        """Give the call the status of an error; True for cancellation and gRPC's own abort.

        Those are to be raised again, but not here: with this frame the traceback would hold the
        error, and the error with the call's frames the call, as below.
        """
        if isinstance(error, aio.AbortError):
            self._code = _status_code(self._context)
            return True
        if not isinstance(error, Exception):
            self._code = grpc.StatusCode.CANCELLED
            return True
        if isinstance(error, aio.InternalError):  # a message was not sent: the client is gone
            _log.debug("client gone", method=self._frame.method, caller=self._caller.subject)
            self._code = grpc.StatusCode.CANCELLED
            self._context.set_code(self._code)
            return False
        answer = self._frame.interceptor.failed_calls.answer(error, self._call())
        self._reason = answer.reason
        self._code = _CODES[answer.status.code]
        self._context.set_code(self._code)
        self._context.set_details(answer.status.message)
        self._context.set_trailing_metadata(((STATUS_KEY, answer.status.SerializeToString()),))
        # An error that came through a future is held by it, and it by a frame of the traceback.
        # With the frames of this call in it as well, gRPC would keep the call until the next
        # collection, and after a thousand of them take no more calls on the connection.
        error.__traceback__ = None
        return False

    def leave(self) -> None:
        """Count the call out, and write down how it went."""
        frame = self._frame
        interceptor = frame.interceptor
        if self._lifetime is not None:
            interceptor.lifetimes.discard(self._lifetime)
            interceptor.public_lifetimes.discard(self._lifetime)
        if self._counted:
            self._count_out(interceptor.limits)
        seconds = time.perf_counter() - self._started
        interceptor.telemetry.end(self._traced, frame.method, self._code, self._reason, seconds)
        if interceptor.log_calls:
            _log.debug(
                "call",
                method=frame.method,
                code=self._code.name,
                caller=self._caller.subject,
                milliseconds=round(seconds * 1_000, 3),
            )

    def _count_in(self, limits: Limits, caller: Caller) -> None:
        frame = self._frame
        if frame.access.probe:
            return
        if not frame.is_stream:
            if frame.access.public:
                limits.begin_public_call()
            else:
                limits.begin_call(caller.subject)
        elif frame.access.public:
            limits.begin_public_stream()
        else:
            limits.begin_watch(caller.subject)
        self._counted = True

    def _count_out(self, limits: Limits) -> None:
        frame = self._frame
        if not frame.is_stream:
            if frame.access.public:
                limits.end_public_call()
            else:
                limits.end_call()
        elif frame.access.public:
            limits.end_public_stream()
        else:
            limits.end_watch(self._caller.subject)

    def _call(self) -> Call:
        return Call(self._caller, self._language, self._traced.trace_id, self._frame.method)


_CODES: Mapping[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def _end(lifetimes: set[Lifetime]) -> None:
    for lifetime in tuple(lifetimes):
        lifetime.end(reasons.ERROR_REASON_DRAINING)


def _status_code(context: Context) -> grpc.StatusCode:
    """The code that a handler has set on its context."""
    code: Any = context.code()  # a number or a member, as it was set
    return code if isinstance(code, grpc.StatusCode) else _CODES[code]


def _language(metadata: Mapping[str, str | bytes]) -> str:
    wanted = metadata.get("accept-language", "")
    return negotiate(wanted if isinstance(wanted, str) else "")


def _tolerant(deserialize: Callable[[bytes], object] | None) -> Callable[[bytes], object]:
    """A deserializer that gives MALFORMED where gRPC would answer INTERNAL."""
    assert deserialize is not None

    def parse(message: bytes) -> object:
        try:
            return deserialize(message)
        except DecodeError:
            return MALFORMED

    return parse
