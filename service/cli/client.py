"""A client of the service for people: one channel, one token, and the patience of a person.

Commands are repeated unchanged while the service cannot answer, and watches are resumed where they
broke off: a lost connection is not leaving (R10.6).
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar, cast
from uuid import uuid4

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from grpc import aio
from grpc_status import rpc_status

from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub

RETRY_SECONDS: Final = 120.0
"""How long one call or watch is tried again before we say that the server cannot be reached."""
_CALL_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.5
_KEEPALIVE: Final = (
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.initial_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # Clients of one process share a connection unless they are told not to.
    ("grpc.use_local_subchannel_pool", 1),
)
# What passes by itself, as does what is refused with a time to try again.
_PASSING: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
    }
)

_Answer = TypeVar("_Answer", bound=Message)


class CallRefused(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """The service refused a call: its sentence for the player, and why by name (errors.proto)."""

    def __init__(self, text: str, reason: str, clause: str) -> None:
        super().__init__(f"{text} ({clause})" if clause else text)
        self.reason = reason


class ServerUnreachable(Exception):  # noqa: N818 - says what happened
    """Nobody answers at the address, or only to say that it cannot now."""


class Client:
    """One connection with one token. Use it as `async with Client(…) as client:`.

    `on_break` is told True when the connection is lost and False when it is back.
    """

    def __init__(
        self,
        address: str,
        token: str,
        *,
        language: str = "en",
        certificate: Path | None = None,
        retry_seconds: float = RETRY_SECONDS,
        on_connection_change: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """`certificate` is a PEM file of authorities to trust; without it there is no TLS.

        An empty `token` is none: it does for the calls that are open to anyone.
        """
        self._address = address
        authorization = (("authorization", f"Bearer {token}"),) if token else ()
        self._metadata = (*authorization, ("accept-language", language))
        self._retry_seconds = retry_seconds
        self._on_connection_change = on_connection_change
        if certificate is None:
            self.channel = aio.insecure_channel(address, options=_KEEPALIVE)
        else:
            credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
            self.channel = aio.secure_channel(address, credentials, options=_KEEPALIVE)
        self.stub = MatchServiceStub(self.channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.channel.close()

    async def call(
        self,
        method: Callable[..., Awaitable[_Answer]],
        request: Message,
        *,
        repeats: bool = True,
        seconds: float = _CALL_SECONDS,
    ) -> _Answer:
        """Call, again while the service cannot answer: a repeated command acts once.

        One answer may take so many seconds. Raises CallRefused, or ServerUnreachable when patience
        ends (at once without `repeats`).
        """
        budget = _RetryBudget(self._retry_seconds if repeats else 0.0, self._on_connection_change)
        while True:
            try:
                answer = await method(request, metadata=self._metadata, timeout=seconds)
            except aio.AioRpcError as error:
                await budget.wait(error, self._address)
            else:
                budget.over()
                return answer

    async def stream(
        self, method: Callable[..., AsyncIterable[_Answer]], request: Message
    ) -> AsyncGenerator[_Answer, None]:
        """The messages of a stream that is not tried again. Raises as `call` does."""
        messages = method(request, metadata=self._metadata)
        try:
            async for message in messages:
                yield message
        except aio.AioRpcError as error:
            await _RetryBudget(0.0, self._on_connection_change).wait(error, self._address)

    async def watch(self, match_id: str) -> AsyncGenerator[api.WatchMatchResponse, None]:
        """All events of a match from its first on, with views, until it ends; whatever breaks.

        Raises as `call` does.
        """
        request = api.WatchMatchRequest(match_id=match_id, include_views=True)
        budget = _RetryBudget(self._retry_seconds, self._on_connection_change)
        while True:
            stream = self.stub.WatchMatch(request, metadata=self._metadata)
            try:
                async for message in stream:
                    budget.over()
                    if message.HasField("event"):
                        request.after_version = message.event.version
                    yield message
                return
            except aio.AioRpcError as error:
                await budget.wait(error, self._address)
            finally:
                stream.cancel()  # an abandoned stream is not cancelled by itself


class _RetryBudget:
    """How long to try again, and what the person hears of it."""

    def __init__(self, seconds: float, on_connection_change: Callable[[bool], None]) -> None:
        self._seconds = seconds
        self._on_connection_change = on_connection_change
        self._broken_at: float | None = None

    async def wait(self, error: aio.AioRpcError, address: str) -> None:
        """Wait before the next try. Raises CallRefused or ServerUnreachable where none helps."""
        refusal, retry_seconds = _read(error)
        if error.code() not in _PASSING and retry_seconds is None:
            raise refusal from None
        now = time.monotonic()
        if self._broken_at is None:
            self._broken_at = now
            if self._seconds:
                self._on_connection_change(True)  # noqa: FBT003 - lost
        if now - self._broken_at >= self._seconds:
            # What gRPC itself says is a chain of causes, the first of them last.
            cause = str(refusal) if refusal.reason else str(refusal).rpartition(": ")[2]
            raise ServerUnreachable(f"no answer from {address}: {cause}") from None
        await asyncio.sleep(max(_PAUSE_SECONDS, retry_seconds or 0.0))

    def over(self) -> None:
        """The service answers."""
        if self._broken_at is not None:
            self._broken_at = None
            self._on_connection_change(False)  # noqa: FBT003 - back


def _read(error: aio.AioRpcError) -> tuple[CallRefused, float | None]:
    """The refusal that a status tells of, and the seconds after which it says to try again."""
    text, reason, clause = error.details() or error.code().name, "", ""
    retry_seconds = None
    status = rpc_status.from_call(cast("grpc.Call", error))  # it has all that is read here
    for detail in status.details if status is not None else ():
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        local = error_details_pb2.LocalizedMessage()
        request = error_details_pb2.BadRequest()
        if detail.Unpack(info):
            reason, clause = info.reason, info.metadata.get("clause", "")
        elif detail.Unpack(retry):
            retry_seconds = retry.retry_delay.ToTimedelta().total_seconds()
        elif detail.Unpack(local):
            text = local.message
        elif detail.Unpack(request):
            faults = (f"{fault.field}: {fault.description}" for fault in request.field_violations)
            clause = "; ".join(faults) or clause
    return CallRefused(text, reason, clause), retry_seconds


def new_request_id() -> str:
    """A request id for a new command."""
    return str(uuid4())
