"""One call from its first to its last step: identity, limits, trace, status and log line."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import grpc
import structlog
from grpc import aio

from durak.v1 import errors_pb2 as reasons
from service.rpc.addresses import Network, address_of
from service.rpc.authentication import Authenticator
from service.rpc.authorization import Access, authorise
from service.rpc.call import NOBODY, Call, Caller, Context, enter_call
from service.rpc.errors import Refused, refuse
from service.rpc.failures import Failures
from service.rpc.limits import Limits
from service.rpc.status import STATUS_KEY
from service.rpc.stream_lifetime import MALFORMED, Lifetime, OpenStreams, Requests
from service.rpc.telemetry import Telemetry, Traced
from service.text.localisation import negotiate

STREAMS_PER_COLLECTION: Final = 1_000
"""gRPC leaves a cycle of five objects for each call. Those of streams are old when the stream ends,
so that the collector finds them late: memory grew by 900 bytes for each watch."""

_TOKEN_FAULTS = frozenset(
    {
        reasons.ERROR_REASON_TOKEN_MISSING,
        reasons.ERROR_REASON_TOKEN_INVALID,
        reasons.ERROR_REASON_TOKEN_EXPIRED,
    }
)
_UNTRACED = Traced(b"", None)
_CODES: Mapping[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

_log = structlog.get_logger(__name__)

call_metadata: ContextVar[Any] = ContextVar("call_metadata")
"""The metadata of the running call, from the interceptor. Asking the context for it would decode
it once more."""


@dataclass(slots=True)
class CallEnvironment:
    """What all calls of a server share.

    `session_grace_seconds` and `trusted_proxies`: see config.py. `log_calls`: write a line
    (`debug`) for every call.
    """

    authenticator: Authenticator
    limits: Limits
    failures: Failures
    telemetry: Telemetry
    session_grace_seconds: float
    trusted_proxies: Collection[Network]
    log_calls: bool
    streams: OpenStreams = field(default_factory=OpenStreams)
    unary_calls: "set[RunningCall]" = field(default_factory=set)
    is_draining: bool = False
    ended_streams: int = 0
    last_arrival: float = 0.0
    """When the newest call arrived, by `time.perf_counter`."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the server: its name as in `/package.Service/Name`, and who may call it."""

    name: str
    access: Access
    is_stream: bool


class RunningCall:
    """A call that the server works on."""

    __slots__ = (
        "_address",
        "_caller",
        "_code",
        "_context",
        "_environment",
        "_is_counted",
        "_is_cut_off",
        "_language",
        "_lifetime",
        "_method",
        "_reason",
        "_started",
        "_task",
        "_traced",
    )

    def __init__(self, environment: CallEnvironment, method: Method, context: Context) -> None:
        environment.last_arrival = self._started = time.perf_counter()
        self._environment = environment
        self._method = method
        self._context = context
        self._address = ""
        self._caller = NOBODY
        self._language = ""
        self._traced = _UNTRACED
        self._is_counted = False
        self._is_cut_off = False
        self._task = asyncio.current_task()
        if not method.is_stream:
            environment.unary_calls.add(self)
        self._lifetime: Lifetime | None = None
        self._code = grpc.StatusCode.OK
        self._reason = ""

    async def enter(self, request: object) -> None:
        """Identify the caller, check the limits, and make the call the current one.

        Raises Refused if the caller may not call, or the request is not a message.
        """
        environment, method = self._environment, self._method
        pairs = call_metadata.get()
        metadata: dict[str, str | bytes] = dict(pairs)
        self._language = _language(metadata)
        self._traced = environment.telemetry.begin(method.name, metadata)
        if not method.access.public:
            if environment.is_draining:
                raise refuse(reasons.ERROR_REASON_DRAINING)
            if len(metadata) != len(pairs) and sum(key == "authorization" for key, _ in pairs) > 1:
                raise refuse(reasons.ERROR_REASON_TOKEN_INVALID)
            self._caller = await self._authenticate(metadata)
            authorise(self._caller, method.access)
        else:
            self._address = self._find_address()
        self._count_in(environment.limits, self._caller)
        enter_call(self._call())
        if request is MALFORMED:
            raise refuse(reasons.ERROR_REASON_MALFORMED_FIELD)

    async def _authenticate(self, metadata: Mapping[str, str | bytes]) -> Caller:
        authenticator, limits = self._environment.authenticator, self._environment.limits
        caller = authenticator.cached(metadata)
        if caller is not None:
            return caller
        address = self._address = self._find_address()
        limits.admit_token(address)
        try:
            return await authenticator.authenticate(metadata)
        except Refused as error:
            if error.refusal.reason in _TOKEN_FAULTS:
                limits.count_refused_token(address)
            raise

    def lifetime(self, requests: Requests | None) -> Lifetime:
        """Return the block in which the stream of this call may stay open."""
        streams = self._environment.streams
        if self._method.access.public:
            self._lifetime = Lifetime(None)
            streams.public.add(self._lifetime)
        else:
            self._lifetime = Lifetime(
                self._caller.expires_at - time.time(),
                grace_seconds=self._environment.session_grace_seconds if requests else 0.0,
                requests=requests,
                caller=self._caller,
            )
            streams.authenticated.add(self._lifetime)
        return self._lifetime

    def requests(self, source: AsyncIterator[object]) -> Requests:
        """Return the requests of the stream. Without a token, each counts as a call.

        Those of a session are counted where they are answered.
        """
        if not self._method.access.public:
            return Requests(source)
        # No reference to this call: the call holds the requests, and nothing breaks a cycle soon.
        return Requests(source, partial(self._environment.limits.admit_public, self._address))

    def fail(self, error: BaseException) -> bool:
        """Give the call the status of an error.

        Returns True for cancellation and gRPC's own abort, which must be raised again, but not
        here: with this frame the traceback would hold the error and the call, as explained below.
        """
        if isinstance(error, aio.AbortError):
            self._code = _status_code(self._context)
            return True
        if self._is_cut_off and isinstance(error, asyncio.CancelledError):
            assert self._task is not None
            self._task.uncancel()
            error = refuse(reasons.ERROR_REASON_DRAINING)
        if not isinstance(error, Exception):
            self._code = grpc.StatusCode.CANCELLED
            return True
        if isinstance(error, aio.InternalError):  # a message was not sent: the client is gone
            _log.debug("client gone", method=self._method.name, caller=self._caller.subject)
            self._code = grpc.StatusCode.CANCELLED
            self._context.set_code(self._code)
            return False
        answer = self._environment.failures.answer(error, self._call())
        self._reason = answer.reason
        self._code = _CODES[answer.status.code]
        self._context.set_code(self._code)
        self._context.set_details(answer.status.message)
        self._context.set_trailing_metadata(((STATUS_KEY, answer.status.SerializeToString()),))
        # A future holds the error that came through it, and a frame of the traceback the future.
        # If the traceback had the frames of this call too, gRPC would keep the call until the next
        # garbage collection, and after a thousand of them accept no more calls on the connection.
        error.__traceback__ = None
        return False

    def cut_off(self) -> None:
        """End a call that takes too long for the end of the service, with DRAINING."""
        if self._task is not None and not self._is_cut_off:
            self._is_cut_off = True
            self._task.cancel()

    def leave(self) -> None:
        """Release what the call holds, and report its duration and code."""
        environment, method = self._environment, self._method
        environment.unary_calls.discard(self)
        if self._lifetime is not None:
            environment.streams.discard(self._lifetime)
            environment.ended_streams += 1
            if environment.ended_streams % STREAMS_PER_COLLECTION == 0:
                asyncio.get_running_loop().call_soon(gc.collect)
        if self._is_counted:
            self._count_out(environment.limits)
        seconds = time.perf_counter() - self._started
        environment.telemetry.end(self._traced, method.name, self._code, self._reason, seconds)
        if environment.log_calls:
            _log.debug(
                "call",
                method=method.name,
                code=self._code.name,
                caller=self._caller.subject,
                milliseconds=round(seconds * 1_000, 3),
            )

    def _count_in(self, limits: Limits, caller: Caller) -> None:
        method = self._method
        if method.access.probe:
            return
        if not method.is_stream:
            if method.access.public:
                limits.begin_public_call(self._address)
            else:
                limits.begin_call(caller.subject)
        elif method.access.public:
            limits.begin_public_stream(self._address)
        else:
            limits.begin_watch(caller.subject)
        self._is_counted = True

    def _count_out(self, limits: Limits) -> None:
        method = self._method
        if not method.is_stream:
            if method.access.public:
                limits.end_public_call()
            else:
                limits.end_call()
        elif method.access.public:
            limits.end_public_stream(self._address)
        else:
            limits.end_watch(self._caller.subject)

    def _find_address(self) -> str:
        return address_of(
            self._context.peer(), call_metadata.get(), self._environment.trusted_proxies
        )

    def _call(self) -> Call:
        return Call(self._caller, self._language, self._traced.trace_id, self._method.name)


def _status_code(context: Context) -> grpc.StatusCode:
    """Return the code that a handler has set on its context."""
    code: Any = context.code()  # a number or a member, as it was set
    return code if isinstance(code, grpc.StatusCode) else _CODES[code]


def _language(metadata: Mapping[str, str | bytes]) -> str:
    wanted = metadata.get("accept-language", "")
    return negotiate(wanted if isinstance(wanted, str) else "")
