"""The lifetime of a stream: until its handler ends, its token expires, or the service stops."""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self

from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason
from service.rpc.call import NOBODY, Caller
from service.rpc.errors import refuse

MALFORMED = object()
"""The request that a deserializer returns for bytes that are not a message (see frame.py)."""


class Requests:
    """The requests of a stream, for its handler to iterate over.

    When the stream has to end, the iteration raises Refused with the reason, even while it waits.
    The handler then finishes what runs, and does not catch the refusal. A request that is not a
    message ends the iteration with MALFORMED_FIELD, and one that `admit` refuses with its refusal.
    """

    def __init__(
        self, source: AsyncIterator[object], admit: Callable[[], None] = lambda: None
    ) -> None:
        self._source = source
        self._admit = admit
        self._reason: ErrorReason.ValueType | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._cancelled = False

    def end(self, reason: ErrorReason.ValueType) -> None:
        """Pass no more requests on."""
        self._reason = reason
        if self._waiting is not None:
            self._cancelled = self._waiting.cancel()

    def _check(self) -> None:
        if self._reason is not None:
            raise refuse(self._reason)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> object:
        self._check()
        self._waiting = task = asyncio.current_task()
        assert task is not None
        try:
            request = await anext(self._source)
        except asyncio.CancelledError:
            if self._cancelled and not task.uncancel():  # cancelled by `end` alone
                self._check()
            raise
        finally:
            self._waiting = None
        self._admit()
        if request is MALFORMED:
            raise refuse(reasons.ERROR_REASON_MALFORMED_FIELD)
        return request


class Lifetime:
    """A block around the handler of a stream: `async with Lifetime(seconds): …`.

    When the time is over or `end` is called, the handler is cancelled and the block raises Refused
    with the reason. A handler with `requests` gets the reason from them, and is cancelled
    `grace_seconds` later.
    """

    def __init__(
        self,
        seconds: float | None,
        *,
        grace_seconds: float = 0.0,
        requests: Requests | None = None,
        caller: Caller = NOBODY,
    ) -> None:
        """End after `seconds`, the time until the token expires. None is no end."""
        self.caller = caller
        self._seconds = seconds
        self._grace_seconds = grace_seconds
        self._requests = requests
        self._reason: ErrorReason.ValueType | None = None
        self._loop = asyncio.get_running_loop()
        self._cut = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None

    def end(self, reason: ErrorReason.ValueType) -> None:
        """End the stream for this reason. The first reason counts."""
        if self._reason is not None:
            return
        self._reason = reason
        if self._requests is not None:
            self._requests.end(reason)
        self._cut.reschedule(self._loop.time() + self._grace_seconds)

    async def __aenter__(self) -> Self:
        await self._cut.__aenter__()
        if self._seconds is not None:
            self._timer = self._loop.call_later(
                max(0.0, self._seconds), self.end, reasons.ERROR_REASON_TOKEN_EXPIRED
            )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self._cut.__aexit__(kind, error, trace)
        except TimeoutError:
            if not self._cut.expired() or self._reason is None:
                raise
            raise refuse(self._reason) from None
        if error is None and self._reason is not None:
            raise refuse(self._reason)


class Interruption:
    """A block that `end` interrupts while it waits for anything: `with interruption: …`.

    The block then raises Refused with the reason. A cancellation from elsewhere is passed on: the
    reader is gone, or the lifetime of the stream is over.
    """

    __slots__ = ("_task", "reason")

    def __init__(self) -> None:
        self.reason: ErrorReason.ValueType | None = None
        self._task: asyncio.Task[object] | None = None

    def end(self, reason: ErrorReason.ValueType) -> None:
        """End the block for this reason. The first reason counts."""
        if self.reason is None and self._task is not None:
            self.reason = reason
            self._task.cancel()

    def __enter__(self) -> None:
        self._task = asyncio.current_task()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.reason is not None and isinstance(error, asyncio.CancelledError):
            assert self._task is not None
            self._task.uncancel()
            raise refuse(self.reason) from None


class OpenStreams:
    """The open streams of a server: those of callers with a token, and the public ones."""

    def __init__(self) -> None:
        self.authenticated: set[Lifetime] = set()
        self.public: set[Lifetime] = set()

    def discard(self, lifetime: Lifetime) -> None:
        """Remove a stream that has ended."""
        self.authenticated.discard(lifetime)
        self.public.discard(lifetime)

    def end_authenticated(self) -> None:
        """End the streams of callers with a token, with DRAINING."""
        _end_all(self.authenticated)

    def end_revoked(self, is_valid: Callable[[Caller], bool]) -> None:
        """End the streams of callers whose tokens are no longer valid, with TOKEN_INVALID."""
        for lifetime in tuple(self.authenticated):
            if not is_valid(lifetime.caller):
                lifetime.end(reasons.ERROR_REASON_TOKEN_INVALID)

    def end_public(self) -> None:
        """End the public streams (health, reflection), with DRAINING."""
        _end_all(self.public)


def _end_all(lifetimes: set[Lifetime]) -> None:
    for lifetime in tuple(lifetimes):
        lifetime.end(reasons.ERROR_REASON_DRAINING)
