"""A gRPC client for commands: one channel, one token, retries and resumed watches.

Commands keep their request id when retried, so they act once. A watch resumes after the last event
received; losing the connection does not mean leaving the match (R10.6).
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast
from uuid import uuid4

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from grpc import aio
from grpc_status import rpc_status

from durak.v1 import match_service_pb2 as api
from durak.v1.feed_service_pb2 import WatchPlayerRequest, WatchPlayerResponse
from durak.v1.feed_service_pb2_grpc import FeedServiceStub
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from service.cli.endpoint import Endpoint

RETRY_SECONDS: Final = 120.0
"""How long a call or watch is retried before ServerUnreachable is raised."""
_CALL_SECONDS: Final = 10.0
_RETRY_PAUSE_SECONDS: Final = 0.5
_CHANNEL_OPTIONS: Final = (
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.initial_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # By default, the channels of a process share one connection.
    ("grpc.use_local_subchannel_pool", 1),
)
# Retried, as is any error with a RetryInfo.
_TRANSIENT: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
    }
)

_Response = TypeVar("_Response", bound=Message)


class CallRefused(Exception):  # noqa: N818 - a refusal is an answer of the service
    """The service refused a call. The text is for the player; `reason` is from errors.proto."""

    def __init__(self, text: str, reason: str, detail: str) -> None:
        """`detail` is the rule clause or the wrong fields; it may be empty."""
        super().__init__(f"{text} ({detail})" if detail else text)
        self.reason = reason


class ServerUnreachable(Exception):  # noqa: N818 - says what happened
    """The service did not answer, or was unavailable, for as long as the call was retried."""


class Client:
    """A connection with one token, for ``async with Client(…) as client:``."""

    def __init__(
        self,
        endpoint: Endpoint,
        token: str,
        *,
        language: str = "en",
        retry_seconds: float = RETRY_SECONDS,
        on_connection_change: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """Make the channel. It connects with the first call.

        Args:
            endpoint: Where to call.
            token: The bearer token; empty for calls that are open to anyone.
            language: Language of error messages, one of `LANGUAGES`.
            retry_seconds: How long to retry a call or watch.
            on_connection_change: Called with False when the connection is lost, then with True
                when it is back.
        """
        self._address = endpoint.address
        authorization = (("authorization", f"Bearer {token}"),) if token else ()
        self._metadata = (*authorization, ("accept-language", language))
        self._retry_seconds = retry_seconds
        self._on_connection_change = on_connection_change
        self.channel = endpoint.channel(_CHANNEL_OPTIONS)
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
        method: Callable[..., Awaitable[_Response]],
        request: Message,
        *,
        retry: bool = True,
        timeout_seconds: float = _CALL_SECONDS,
    ) -> _Response:
        """Call a method, and retry it while the service is unavailable.

        `timeout_seconds` limits each try. Raises CallRefused or ServerUnreachable.
        """
        budget = self._budget(self._retry_seconds if retry else 0.0)
        while True:
            try:
                response = await method(request, metadata=self._metadata, timeout=timeout_seconds)
            except aio.AioRpcError as error:
                await budget.wait(error)
            else:
                budget.reset()
                return response

    async def stream(
        self, method: Callable[..., AsyncIterable[_Response]], request: Message
    ) -> AsyncGenerator[_Response, None]:
        """Yield the messages of a stream, without retries. Raises as `call` does."""
        messages = method(request, metadata=self._metadata)
        try:
            async for message in messages:
                yield message
        except aio.AioRpcError as error:
            await self._budget(0.0).wait(error)

    async def watch(self, match_id: str) -> AsyncGenerator[api.WatchMatchResponse, None]:
        """Yield the events of a match from the first on, with views, until it ends.

        Resumes a watch that breaks. Raises as `call` does.
        """
        request = api.WatchMatchRequest(match_id=match_id, include_views=True)
        async for message in self._resumed(self.stub.WatchMatch, request):
            if message.HasField("event"):
                request.after_version = message.event.version
            yield message

    async def feed(self, position: str = "") -> AsyncGenerator[WatchPlayerResponse, None]:
        """Yield the feed of the player after a position, or from now on, without end.

        Resumes a feed that breaks. Raises as `call` does.
        """
        request = WatchPlayerRequest(after_position=position)
        async for message in self._resumed(FeedServiceStub(self.channel).WatchPlayer, request):
            request.after_position = message.position
            yield message

    async def _resumed(
        self, method: Callable[..., Any], request: Message
    ) -> AsyncGenerator[Any, None]:
        """Yield the messages of a stream, and open it again when it breaks.

        The caller sets the place to resume from in the request, after each message.
        """
        budget = self._budget(self._retry_seconds)
        while True:
            stream = method(request, metadata=self._metadata)
            try:
                async for message in stream:
                    budget.reset()
                    yield message
                return
            except aio.AioRpcError as error:
                await budget.wait(error)
            finally:
                stream.cancel()  # gRPC does not cancel an abandoned stream

    def _budget(self, seconds: float) -> "_RetryBudget":
        return _RetryBudget(seconds, self._address, self._on_connection_change)


class _RetryBudget:
    """The time in which a call is retried. Reports lost and restored connections."""

    def __init__(
        self, seconds: float, address: str, on_connection_change: Callable[[bool], None]
    ) -> None:
        self._seconds = seconds
        self._address = address
        self._on_connection_change = on_connection_change
        self._failing_since: float | None = None

    async def wait(self, error: aio.AioRpcError) -> None:
        """Wait before the next try. Raises CallRefused, or ServerUnreachable when time is up."""
        refusal, retry_after_seconds = _parse_error(error)
        if error.code() not in _TRANSIENT and retry_after_seconds is None:
            raise refusal from None
        if (retry_after_seconds or 0.0) > self._seconds and refusal.reason:
            raise refusal from None  # such as SEATING_SUSPENDED, which lasts for hours
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
            if self._seconds:
                self._on_connection_change(False)  # noqa: FBT003 - connected
        if now - self._failing_since >= self._seconds:
            # gRPC reports a chain of causes, the root cause last.
            cause = str(refusal) if refusal.reason else str(refusal).rpartition(": ")[2]
            raise ServerUnreachable(f"no answer from {self._address}: {cause}") from None
        await asyncio.sleep(max(_RETRY_PAUSE_SECONDS, retry_after_seconds or 0.0))

    def reset(self) -> None:
        """Note that the service answers."""
        if self._failing_since is not None:
            self._failing_since = None
            self._on_connection_change(True)  # noqa: FBT003 - connected


def _parse_error(error: aio.AioRpcError) -> tuple[CallRefused, float | None]:
    """Return the refusal in a status, and the seconds after which to retry if it gives them."""
    text, reason, detail = error.details() or error.code().name, "", ""
    retry_after_seconds = None
    status = rpc_status.from_call(cast("grpc.Call", error))  # needs only what the error has
    for packed in status.details if status is not None else ():
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        localized = error_details_pb2.LocalizedMessage()
        bad_request = error_details_pb2.BadRequest()
        if packed.Unpack(info):
            reason, detail = info.reason, info.metadata.get("clause", "")
        elif packed.Unpack(retry):
            retry_after_seconds = retry.retry_delay.ToTimedelta().total_seconds()
        elif packed.Unpack(localized):
            text = localized.message
        elif packed.Unpack(bad_request):
            faults = (f"{one.field}: {one.description}" for one in bad_request.field_violations)
            detail = "; ".join(faults) or detail
    return CallRefused(text, reason, detail), retry_after_seconds


def new_request_id() -> str:
    """Return a request id for a new command."""
    return str(uuid4())
