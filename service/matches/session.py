"""PlaySession: commands and watches of one client on one stream.

One task reads, one writes. A command costs no task of its own in between: it is queued at its match
as it is read, and its answer is queued for the writer as it is ready. Everything is bounded: where
too many answers are outstanding nothing more is read, and where the client does not read, its
watches fall behind and are cut off one by one.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from google.protobuf.message import DecodeError

from domain.match.refusal import FieldFault
from durak.v1 import errors_pb2 as reasons
from durak.v1.match_service_pb2 import (
    PlaySessionRequest,
    PlaySessionResponse,
    SessionUnwatch,
    SessionWatch,
    WatchEnded,
)
from durak.v1.table_pb2 import TableView
from service.matches import requests
from service.matches.commands import Answer, Commands
from service.matches.live_matches import LiveMatches
from service.matches.watch import Watch
from service.rpc.call import Call
from service.rpc.errors import FailedCalls, Refused, refuse
from service.rpc.limits import Limits

Write = Callable[[bytes], Awaitable[None]]

_LONGEST_PAUSE_SECONDS = 1.0

_REQUEST_ID_TAG = bytes((PlaySessionResponse.REQUEST_ID_FIELD_NUMBER << 3 | 2,))
_VIEW_TAG = bytes((PlaySessionResponse.VIEW_FIELD_NUMBER << 3 | 2,))
_WATCH_TAG = bytes((PlaySessionResponse.WATCH_FIELD_NUMBER << 3 | 2,))


class _OpenWatch:
    """A watch of a session, the task that runs it, and whether its request is still unanswered."""

    __slots__ = ("is_answered", "prefix", "task", "watch")

    def __init__(self, watch: Watch, prefix: bytes) -> None:
        self.watch = watch
        self.prefix = prefix
        self.is_answered = False
        self.task: asyncio.Task[None] | None = None


class Session:
    """One PlaySession. Made for one call, and run once."""

    def __init__(
        self,
        commands: Commands,
        matches: LiveMatches,
        limits: Limits,
        failed_calls: FailedCalls,
        call: Call,
    ) -> None:
        """Send the commands to `commands` and watch `matches` for the caller of `call`."""
        self._commands = commands
        self._matches = matches
        self._limits = limits
        self._failed_calls = failed_calls
        self._requests_limit = matches.context.config.session_requests_max
        self._pause_seconds = min(limits.interval_seconds, _LONGEST_PAUSE_SECONDS)
        self._call = call
        self._out: deque[tuple[bytes, bool]] = deque()  # messages, and whether each is an answer
        self._unanswered = 0
        self._may_read = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_work = asyncio.Event()
        self._open: dict[str, _OpenWatch] = {}
        self._is_closed = False  # nothing more is read

    async def run(self, requests: AsyncIterator[bytes], write: Write) -> None:
        """Serve the session until the client has closed its side and every answer is out.

        An error that `requests` raises (the token has expired, the service stops) ends the session
        in the same way, and is raised when every answer is out.
        """
        reader = asyncio.get_running_loop().create_task(self._read_all(requests))
        reader.add_done_callback(_seen)
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
                while self._unanswered >= self._requests_limit:
                    self._may_read.clear()
                    await self._may_read.wait()
        finally:
            self._is_closed = True
            self._end_watches()
            self._has_work.set()

    def _take(self, data: bytes) -> bool:
        """Take a request. False: it is nothing, and its answer was as much work as a call's.

        Such requests do not count as calls, so they are read no faster than calls may come.
        """
        request_id = ""
        try:
            request = PlaySessionRequest.FromString(data)
            kind = request.WhichOneof("kind")
            if kind is None:
                self._refuse("", _malformed("kind", "is required: exactly one kind of request"))
                return False
            body = getattr(request, kind)
            request_id = body.request_id
            if kind == "watch":
                self._watch(body)
            elif kind == "unwatch":
                return self._unwatch(body)
            else:
                self._command(request, request_id)
        except DecodeError:
            self._refuse(request_id, _malformed("", "is not a PlaySessionRequest"))
            return False
        except Exception as error:  # noqa: BLE001 - answered on the stream, which goes on
            self._refuse(request_id, error)
            return False
        return True

    def _command(self, request: PlaySessionRequest, request_id: str) -> None:
        self._limits.begin_call(self._call.caller.subject)
        try:
            answer = self._perform(request)
        except BaseException:
            self._limits.end_call()
            raise
        answer.add_done_callback(partial(self._answered, request_id))

    def _perform(self, request: PlaySessionRequest) -> Answer:
        commands, call = self._commands, self._call
        match request.WhichOneof("kind"):
            case "play":
                return commands.play(request.play, call, "play.")
            case "open_table":
                return commands.open_table(request.open_table, call, "open_table.")
            case "take_seat":
                return commands.take_seat(request.take_seat, call, "take_seat.")
            case "seat_bot":
                return commands.seat_bot(request.seat_bot, call, "seat_bot.")
            case "leave_match":
                return commands.leave_match(request.leave_match, call, "leave_match.")
            case "cancel_table":
                return commands.cancel_table(request.cancel_table, call, "cancel_table.")
            case "rematch":
                return commands.rematch(request.rematch, call, "rematch.")
            case kind:
                raise ValueError(f"{kind} is not a command")

    def _answered(self, request_id: str, answer: "asyncio.Future[TableView]") -> None:
        self._limits.end_call()
        if answer.cancelled():
            # Nothing cancels an answer while its session is open.
            self._refuse(request_id, RuntimeError("the answer to a command was cancelled"))
        elif (error := answer.exception()) is not None:
            self._refuse(request_id, error)
        else:
            view = answer.result().SerializeToString()
            self._put(_prefix(request_id) + _VIEW_TAG + _varint(len(view)) + view)

    def _refuse(self, request_id: str, error: BaseException) -> None:
        self._put(self._error(request_id, error))

    def _error(self, request_id: str, error: BaseException) -> bytes:
        assert isinstance(error, Exception)
        status = self._failed_calls.answer(error, self._call).status
        return PlaySessionResponse(request_id=request_id, error=status).SerializeToString()

    # --- watches --------------------------------------------------------------------------------

    def _watch(self, request: SessionWatch) -> None:
        _, match_id = requests.session_watch(request)
        request_id = request.request_id
        if request_id in self._open:
            raise refuse(reasons.ERROR_REASON_REQUEST_ID_REUSED)
        asked = request.watch
        watch = Watch(
            self._matches,
            self._call.caller,
            match_id,
            asked.after_version,
            include_views=asked.include_views,
        )
        player_id = self._call.caller.subject
        self._limits.begin_watch(player_id)
        opened = self._open[request_id] = _OpenWatch(watch, _prefix(request_id) + _WATCH_TAG)
        opened.task = asyncio.get_running_loop().create_task(self._run_watch(request_id, opened))
        opened.task.add_done_callback(lambda _: self._limits.end_watch(player_id))

    async def _run_watch(self, request_id: str, opened: _OpenWatch) -> None:
        try:
            await opened.watch.run(partial(self._send, opened))
            last = _watch_ended(request_id, opened.watch.version)
        except Exception as error:  # noqa: BLE001 - answered on the stream
            last = self._error(request_id, error)
        if self._open.get(request_id) is opened:  # not unwatched in the same moment
            del self._open[request_id]
            self._put(last, answers=not opened.is_answered)

    async def _send(self, opened: _OpenWatch, message: bytes) -> None:
        while len(self._out) >= self._requests_limit:
            self._has_room.clear()
            await self._has_room.wait()
        answers, opened.is_answered = not opened.is_answered, True
        self._put(opened.prefix + _varint(len(message)) + message, answers=answers)

    def _unwatch(self, request: SessionUnwatch) -> bool:
        """End a watch; whether it was open."""
        requests.session_unwatch(request)
        opened = self._open.pop(request.request_id, None)
        version = 0
        if opened is not None:
            version = opened.watch.version
            if opened.task is not None:
                opened.task.cancel()
            if not opened.is_answered:
                self._unanswered -= 1
        self._put(_watch_ended(request.request_id, version))
        return opened is not None

    def _end_watches(self) -> None:
        for opened in self._open.values():
            if opened.task is not None:
                opened.task.cancel()
            if not opened.is_answered:
                self._unanswered -= 1
        self._open.clear()

    # --- writing --------------------------------------------------------------------------------

    def _put(self, message: bytes, *, answers: bool = True) -> None:
        self._out.append((message, answers))
        self._has_work.set()

    async def _write_all(self, write: Write) -> None:
        out = self._out
        while True:
            while out:
                message, answers = out.popleft()
                await write(message)
                if answers:
                    self._unanswered -= 1
                    self._may_read.set()
                self._has_room.set()
            if self._is_closed and not self._unanswered:
                return
            self._has_work.clear()
            await self._has_work.wait()


def _seen(reader: "asyncio.Task[None]") -> None:
    # What it raised is raised by `run`, unless the client has gone and nobody asks any more.
    if not reader.cancelled():
        reader.exception()


def _malformed(path: str, description: str) -> Refused:
    return refuse(reasons.ERROR_REASON_MALFORMED_FIELD, FieldFault(path, description))


def _watch_ended(request_id: str, version: int) -> bytes:
    ended = WatchEnded(version=version)
    return PlaySessionResponse(request_id=request_id, watch_ended=ended).SerializeToString()


def _prefix(request_id: str) -> bytes:
    """The serialized beginning of an answer: what follows is the field of its kind.

    Views and watch messages are put behind it as they are, already serialized: copying them into a
    PlaySessionResponse costs more than everything else about an answer.
    """
    text = request_id.encode()
    return _REQUEST_ID_TAG + _varint(len(text)) + text


def _varint(number: int) -> bytes:
    """A length as protobuf writes it."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(0x80 | number & 0x7F)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
