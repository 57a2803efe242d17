"""A real server with the frame of every call around a few small methods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status
from grpc import aio

from service.config import Config
from service.rpc.authentication import KeySource
from service.rpc.authorization import Access
from service.rpc.call import Call, current_call
from service.rpc.failures import Failures
from service.rpc.interceptor import Interceptor
from service.rpc.limits import Limits
from service.rpc.port import channel_options
from service.rpc.revocations import Revocations
from service.rpc.status import STATUS_KEY
from service.rpc.telemetry import Telemetry
from service.rpc.token_keys import DevelopmentKey
from service.server import build_interceptor

SERVICE = "test.Frame"
PLAYER = Access(roles=frozenset({"player"}), barred=frozenset({"auditor"}))
ACCESS = {
    f"/{SERVICE}/Call": PLAYER,
    f"/{SERVICE}/Watch": PLAYER,
    f"/{SERVICE}/Write": PLAYER,
    f"/{SERVICE}/Collect": PLAYER,
    f"/{SERVICE}/Session": PLAYER,
    f"/{SERVICE}/Public": Access(public=True),
    f"/{SERVICE}/Probe": Access(public=True, probe=True),
    f"/{SERVICE}/PublicWatch": Access(public=True),
}


@dataclass
class Methods:
    """The behaviour of the methods. A test sets the parts that it needs."""

    call: Callable[[str, Any], Awaitable[str]] | None = None
    seen: list[Call] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    """The name of the exception that ended each stream, empty if there was none."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def unary(self, request: StringValue, context: Any) -> StringValue:
        self.seen.append(current_call())
        self.reached.set()
        if self.call is not None:
            return StringValue(value=await self.call(request.value, context))
        return request

    async def watch(self, request: StringValue, context: Any) -> AsyncIterator[StringValue]:
        """Send the request back, and then nothing until `go` is set."""
        self.seen.append(current_call())
        # Sent with the first message, it could make the status of a stream that ends early fail.
        await context.send_initial_metadata(())
        try:
            yield request
            await self.go.wait()
            if self.call is not None:
                yield StringValue(value=await self.call(request.value, context))
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        else:
            self.ended.append("")

    async def write(self, request: StringValue, context: Any) -> None:
        """Like `watch`, but with `context.write`."""
        async for response in self.watch(request, context):
            await context.write(response)

    async def collect(self, requests: AsyncIterator[StringValue], context: Any) -> StringValue:
        return StringValue(value="".join([request.value async for request in requests]))

    async def session(
        self, requests: AsyncIterator[StringValue], context: Any
    ) -> AsyncIterator[StringValue]:
        """Send every request back. After the last one send one more message if `go` is set."""
        try:
            async for request in requests:
                yield request
        except Exception as error:
            self.ended.append(str(error))
            await self.go.wait()
            yield StringValue(value="finished")
            raise


@dataclass
class Framed:
    """The server and a client channel."""

    methods: Methods
    interceptor: Interceptor
    key: DevelopmentKey
    config: Config
    channel: aio.Channel

    def token(self, *roles: str, subject: str = "ann", seconds: int = 600) -> str:
        return self.key.mint(
            subject,
            roles=roles or ("player",),
            issuer=self.config.token_issuer,
            audience=self.config.token_audience,
            lifetime_seconds=seconds,
        )

    def metadata(
        self, *roles: str, language: str = "", **options: Any
    ) -> tuple[tuple[str, str], ...]:
        authorization = (("authorization", f"Bearer {self.token(*roles, **options)}"),)
        return (*authorization, ("accept-language", language)) if language else authorization

    def unary(self, method: str = "Call") -> Any:
        return self._multi("unary_unary", method)

    def watch(self, method: str = "Watch") -> Any:
        return self._multi("unary_stream", method)

    def collect(self) -> Any:
        return self._multi("stream_unary", "Collect")

    def session(self) -> Any:
        return self._multi("stream_stream", "Session")

    def _multi(self, kind: str, method: str) -> Any:
        # Bytes pass unchanged, so that a test can send an invalid message.
        return getattr(self.channel, kind)(
            f"/{SERVICE}/{method}", request_serializer=_serialize, response_deserializer=_text
        )


def _serialize(request: str | bytes) -> bytes:
    return request if isinstance(request, bytes) else StringValue(value=request).SerializeToString()


def _text(message: bytes) -> str:
    return StringValue.FromString(message).value


@asynccontextmanager
async def framed(
    folder: Path,
    telemetry: Telemetry | None = None,
    keys: KeySource | None = None,
    **settings: Any,
) -> AsyncIterator[Framed]:
    config = Config(data_dir=folder, **settings)
    key = DevelopmentKey.in_folder(folder)
    interceptor = build_interceptor(
        config,
        keys or key,
        Revocations(),
        Limits(config),
        Failures(),
        telemetry or Telemetry(None, None),
        ACCESS,
    )
    methods = Methods()
    server = aio.server(interceptors=[interceptor], options=channel_options(config))
    server.add_generic_rpc_handlers((_handlers(methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Framed(methods, interceptor, key, config, channel)
    finally:
        await server.stop(None)


def _handlers(methods: Methods) -> grpc.GenericRpcHandler:
    read, write = StringValue.FromString, StringValue.SerializeToString
    unary, watch = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
    made: dict[str, Any] = {
        "Call": unary(methods.unary, read, write),
        "Forgotten": unary(methods.unary, read, write),
        "Public": unary(methods.unary, read, write),
        "Probe": unary(methods.unary, read, write),
        "Watch": watch(methods.watch, read, write),
        "Write": watch(methods.write, read, write),
        "PublicWatch": watch(methods.watch, read, write),
        "Collect": grpc.stream_unary_rpc_method_handler(methods.collect, read, write),
        "Session": grpc.stream_stream_rpc_method_handler(methods.session, read, write),
    }
    return grpc.method_handlers_generic_handler(SERVICE, made)


@dataclass(frozen=True)
class Answer:
    """A refusal as the client receives it."""

    code: grpc.StatusCode
    reason: str
    text: str
    """The LocalizedMessage."""
    details: tuple[Message, ...]
    raw: str
    """The whole answer as text, to search for leaks."""


async def refusal(call: Any) -> Answer:
    """Await a call that must be refused with rich details."""
    try:
        if hasattr(call, "read"):
            while await call.read() is not aio.EOF:
                pass
            assert await call.code() is None, "the stream ended OK"
        else:
            await call
    except aio.AioRpcError as error:
        return answer_of(error)
    raise AssertionError("the call was not refused")


def answer_of(error: aio.AioRpcError) -> Answer:
    """The rich details of an error."""
    (packed,) = [value for key, value in error.trailing_metadata() if key == STATUS_KEY]
    assert isinstance(packed, bytes)
    status = Status.FromString(packed)
    assert status.code == error.code().value[0]
    assert status.message == error.details()
    details = tuple(_unpacked(packed) for packed in status.details)
    (info,) = (detail for detail in details if isinstance(detail, error_details_pb2.ErrorInfo))
    (text,) = (
        detail.message
        for detail in details
        if isinstance(detail, error_details_pb2.LocalizedMessage)
    )
    return Answer(error.code(), info.reason, text, details, f"{status}{error}")


def _unpacked(packed: Any) -> Message:
    kind = getattr(error_details_pb2, packed.TypeName().rpartition(".")[2])
    message: Message = kind()
    assert packed.Unpack(message)
    return message
