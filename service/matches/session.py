"""PlaySession: commands and watches of one client on one stream.

One task reads, one writes. A command needs no task in between: it is queued at its match when it is
read, and its answer is queued for the writer when it is ready. Everything is bounded: if too many
requests are unanswered nothing more is read, and if the client does not read, its watches fall
behind and are cut off one by one.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Final, Literal

from google.protobuf.message import DecodeError

from domain.match.refusal import FieldFault
from durak.v1 import errors_pb2 as reasons
from durak.v1.match_service_pb2 import PlaySessionRequest, SessionUnwatch, SessionWatch
from durak.v1.table_pb2 import TableView
from service.matches import requests
from service.matches.commands import Answer, Commands
from service.matches.live_matches import LiveMatches
from service.matches.session_wire import (
    error_answer,
    joined_answers,
    version_answer,
    view_answer,
    watch_ended,
    watch_message,
    watch_prefix,
)
from service.matches.watch import Watch
from service.rpc.call import Call
from service.rpc.errors import Refused, refuse
from service.rpc.failures import Failures
from service.rpc.limits import Limits

Write = Callable[[bytes], Awaitable[None]]

_PAUSE_SECONDS_MAX: Final = 1.0
_JOINED_MAX: Final = 32
"""Answers in one message. Most of the cost of a message is gRPC's, whatever its size."""

_CommandKind = Literal[
    "play",
    "open_table",
    "take_seat",
    "seat_bot",
    "reveal_seed",
    "leave_match",
    "remove_player",
    "cancel_table",
    "rematch",
]


class _OpenWatch:
    """A watch of a session, and the task that runs it. Its first message answers its request."""

    __slots__ = ("is_answered", "prefix", "task", "watch")

    def __init__(self, watch: Watch, prefix: bytes) -> None:
        self.watch = watch
        self.prefix = prefix
        self.is_answered = False
        self.task: asyncio.Task[None] | None = None


class Session:
    """One PlaySession. Run it once."""

    def __init__(
        self,
        commands: Commands,
        matches: LiveMatches,
        limits: Limits,
        failures: Failures,
        call: Call,
    ) -> None:
        """Send the commands to `commands` and watch `matches` for the caller of `call`."""
        self._commands = commands
        self._matches = matches
        self._limits = limits
        self._failures = failures
        self._requests_max = matches.context.config.session_requests_max
        self._pause_seconds = min(limits.interval_seconds, _PAUSE_SECONDS_MAX)
        self._call = call
        self._out: deque[tuple[bytes, bool]] = deque()
        """Messages to write, each with whether it answers a request."""
        self._unanswered = 0
        self._reads_more = False  # the client accepts several answers in one message
        self._may_read = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_work = asyncio.Event()
        self._open: dict[str, _OpenWatch] = {}
        self._is_closed = False  # nothing more is read

    async def run(self, requests: AsyncIterator[bytes], write: Write) -> None:
        """Serve the session until the client has closed its side and every answer is written.

        An error from `requests` (the token has expired, the service stops) ends the session in the
        same way, and is raised after every answer is written.
        """
        reader = asyncio.get_running_loop().create_task(self._read_all(requests))
        reader.add_done_callback(_retrieve_error)
        try:
            await self._write_all(write)
            await reader
        finally:
            reader.cancel()
            self._end_watches()

    # --- reading --------------------------------------------------------------------------------

    async def _read_all(self, requests: AsyncIterator[bytes]) -> None:
        try:
            async for data in requests:
                self._unanswered += 1
                if not self._take(data):
                    await asyncio.sleep(self._pause_seconds)
                while self._unanswered >= self._requests_max:
                    self._may_read.clear()
                    await self._may_read.wait()
        finally:
            self._is_closed = True
            self._end_watches()
            self._has_work.set()

    def _take(self, data: bytes) -> bool:
        """Take one request. Returns False if it is invalid.

        Invalid requests do not count as calls, but cost as much: they are throttled like calls.
        """
        request_id = ""
        try:
            request = PlaySessionRequest.FromString(data)
            kind = request.WhichOneof("kind")
            self._reads_more = self._reads_more or request.reads_more
            if kind is None:
                self._refuse("", _malformed("kind", "is required: exactly one kind of request"))
                return False
            request_id = getattr(request, kind).request_id
            if kind == "watch":
                self._watch(request.watch)
            elif kind == "unwatch":
                return self._unwatch(request.unwatch)
            else:
                self._command(kind, request, request_id)
        except DecodeError:
            self._refuse(request_id, _malformed("", "is not a PlaySessionRequest"))
            return False
        except Exception as error:  # noqa: BLE001 - answered on the stream, which goes on
            self._refuse(request_id, error)
            return False
        return True

    def _command(self, kind: _CommandKind, request: PlaySessionRequest, request_id: str) -> None:
        self._limits.begin_call(self._call.caller.subject)
        try:
            answer = self._perform(kind, request)
        except BaseException:
            self._limits.end_call()
            raise
        omit_view = kind == "play" and request.play.omit_view
        answer.add_done_callback(partial(self._answered, request_id, omit_view))

    def _perform(self, kind: _CommandKind, request: PlaySessionRequest) -> Answer:
        commands, call = self._commands, self._call
        match kind:
            case "play":
                return commands.play(request.play, call, "play.")
            case "open_table":
                return commands.open_table(request.open_table, call, "open_table.")
            case "take_seat":
                return commands.take_seat(request.take_seat, call, "take_seat.")
            case "seat_bot":
                return commands.seat_bot(request.seat_bot, call, "seat_bot.")
            case "reveal_seed":
                return commands.reveal_seed(request.reveal_seed, call, "reveal_seed.")
            case "leave_match":
                return commands.leave_match(request.leave_match, call, "leave_match.")
            case "remove_player":
                return commands.remove_player(request.remove_player, call, "remove_player.")
            case "cancel_table":
                return commands.cancel_table(request.cancel_table, call, "cancel_table.")
            case "rematch":
                return commands.rematch(request.rematch, call, "rematch.")

    def _answered(
        self,
        request_id: str,
        omit_view: bool,  # noqa: FBT001 - `partial` passes it on
        answer: "asyncio.Future[TableView]",
    ) -> None:
        self._limits.end_call()
        if answer.cancelled():
            # Nothing cancels an answer while its session is open.
            self._refuse(request_id, RuntimeError("the answer to a command was cancelled"))
        elif (error := answer.exception()) is not None:
            self._refuse(request_id, error)
        elif omit_view:
            self._put(version_answer(request_id, answer.result().version))
        else:
            self._put(view_answer(request_id, answer.result().SerializeToString()))

    def _refuse(self, request_id: str, error: BaseException) -> None:
        self._put(self._error(request_id, error))

    def _error(self, request_id: str, error: BaseException) -> bytes:
        assert isinstance(error, Exception)
        return error_answer(request_id, self._failures.answer(error, self._call).status)

    # --- watches --------------------------------------------------------------------------------

    def _watch(self, request: SessionWatch) -> None:
        match_id = requests.session_watch(request)
        request_id = request.request_id
        if request_id in self._open:
            raise refuse(reasons.ERROR_REASON_REQUEST_ID_REUSED)
        asked = request.watch
        watch = Watch(
            self._matches,
            self._limits,
            self._call.caller,
            match_id,
            asked.after_version,
            include_views=asked.include_views,
        )
        player_id = self._call.caller.subject
        self._limits.begin_watch(player_id)
        opened = self._open[request_id] = _OpenWatch(watch, watch_prefix(request_id))
        opened.task = asyncio.get_running_loop().create_task(self._run_watch(request_id, opened))
        opened.task.add_done_callback(lambda _: self._limits.end_watch(player_id))

    async def _run_watch(self, request_id: str, opened: _OpenWatch) -> None:
        try:
            await opened.watch.run(partial(self._send, opened))
            last = watch_ended(request_id, opened.watch.version)
        except Exception as error:  # noqa: BLE001 - answered on the stream
            last = self._error(request_id, error)
        if self._open.get(request_id) is opened:  # it was not unwatched at the same moment
            del self._open[request_id]
            self._put(last, is_answer=not opened.is_answered)

    async def _send(self, opened: _OpenWatch, message: bytes) -> None:
        while len(self._out) >= self._requests_max:
            self._has_room.clear()
            await self._has_room.wait()
        is_answer, opened.is_answered = not opened.is_answered, True
        self._put(watch_message(opened.prefix, message), is_answer=is_answer)

    def _unwatch(self, request: SessionUnwatch) -> bool:
        """End a watch; return whether it was open."""
        requests.session_unwatch(request)
        opened = self._open.pop(request.request_id, None)
        version = 0
        if opened is not None:
            version = opened.watch.version
            self._end(opened)
        self._put(watch_ended(request.request_id, version))
        return opened is not None

    def _end_watches(self) -> None:
        for opened in self._open.values():
            self._end(opened)
        self._open.clear()

    def _end(self, opened: _OpenWatch) -> None:
        if opened.task is not None:
            opened.task.cancel()
        if not opened.is_answered:
            self._unanswered -= 1

    # --- writing --------------------------------------------------------------------------------

    def _put(self, message: bytes, *, is_answer: bool = True) -> None:
        self._out.append((message, is_answer))
        self._has_work.set()

    async def _write_all(self, write: Write) -> None:
        out = self._out
        while True:
            while out:
                count = min(len(out), _JOINED_MAX) if self._reads_more else 1
                taken = [out.popleft() for _ in range(count)]
                await write(joined_answers([message for message, _ in taken]))
                self._unanswered -= sum(is_answer for _, is_answer in taken)
                self._may_read.set()
                self._has_room.set()
            if self._is_closed and not self._unanswered:
                return
            self._has_work.clear()
            await self._has_work.wait()


def _retrieve_error(reader: "asyncio.Task[None]") -> None:
    # `run` raises it, unless the client is gone; asyncio warns of errors that are never retrieved.
    if not reader.cancelled():
        reader.exception()


def _malformed(path: str, description: str) -> Refused:
    return refuse(reasons.ERROR_REASON_MALFORMED_FIELD, FieldFault(path, description))
