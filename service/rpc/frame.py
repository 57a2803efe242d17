"""The frame around the handler of one method: every call of the method passes it."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from service.rpc.authorization import Access
from service.rpc.call import Context
from service.rpc.running_call import CallEnvironment, Method, RunningCall
from service.rpc.stream_lifetime import MALFORMED

Behaviour = Callable[[Any, Context], Any]


class Frame:
    """Runs the handler of one method, with the steps of `RunningCall` before and after it."""

    def __init__(
        self,
        environment: CallEnvironment,
        name: str,
        access: Access,
        handler: grpc.RpcMethodHandler[Any, Any],
    ) -> None:
        is_stream = handler.request_streaming or handler.response_streaming
        self._environment = environment
        self._method = Method(name, access, is_stream)
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
        """Return the framed handler, for gRPC to call."""
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
        call = RunningCall(self._environment, self._method, context)
        try:
            await call.enter(request)
            return await self._behaviour(request, context)
        except BaseException as error:
            if call.fail(error):
                raise
            return None
        finally:
            call.leave()

    async def _stream(self, request: Any, context: Context) -> object:  # noqa: ANN401 - or many
        call = RunningCall(self._environment, self._method, context)
        try:
            await call.enter(request)
            requests = call.requests(request) if self._handler.request_streaming else None
            async with call.lifetime(requests):
                return await self._respond(requests or request, context)
        except BaseException as error:
            if call.fail(error):
                raise
            return None
        finally:
            call.leave()

    async def _respond(self, request: object, context: Context) -> object:
        """Run the handler, which yields its responses, writes them, or returns the only one."""
        if not self._generates:
            return await self._behaviour(request, context)
        responses: AsyncIterator[object] = self._behaviour(request, context)
        async with aclosing(responses):  # type: ignore[type-var]
            async for response in responses:
                await context.write(response)
        return None


def _tolerant(deserialize: Callable[[bytes], object] | None) -> Callable[[bytes], object]:
    """Return a deserializer that gives MALFORMED where gRPC would answer INTERNAL."""
    assert deserialize is not None

    def parse(message: bytes) -> object:
        try:
            return deserialize(message)
        except DecodeError:
            return MALFORMED

    return parse
