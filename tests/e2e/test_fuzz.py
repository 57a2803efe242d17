"""Any request gets a reply or an error of the catalogue. No input causes an unexpected error.

The requests are generated from the descriptors of the contract, so a new field or call is covered
when it is added. The service has its default settings, except that the rate of calls is unlimited.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc import aio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from durak.v1 import match_service_pb2 as api
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import TableView
from service.config import Config
from service.rpc.status import STATUS_KEY
from service.rpc.token_keys import DevelopmentKey
from service.server import Running, running
from tests.conftest import Database

SERVICE = api.DESCRIPTOR.services_by_name["MatchService"]
METHODS = {method.name: method for method in SERVICE.methods}
UNARY = sorted(
    name for name, one in METHODS.items() if not (one.client_streaming or one.server_streaming)
)
LIMIT_BYTES = 64 * 1024
STATUS_BYTES_MAX = 6_000
"""Several common limits on trailers are 8 KiB."""
ANSWER_S = 10.0

OPENING = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL, transfer=True)
REQUEST_IDS = [f"01234567-89ab-4cde-8f01-23456789abc{digit}" for digit in range(3)]
"""Only a few, so that each is used again, both for the same request and for other requests."""

DETERMINISTIC = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


# --- requests -------------------------------------------------------------------------------------


def weighted(*choices: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Choose one strategy, with these weights. (`one_of` ignores repeated strategies.)"""
    each = [choice for weight, choice in choices for _ in range(weight)]
    return st.integers(0, len(each) - 1).flatmap(lambda number: each[number])


def ids(match_ids: list[str]) -> st.SearchStrategy[str]:
    malformed = st.sampled_from(
        ["", "7", "g" * 36, "-" * 36, "00000000-0000-0000-0000-00000000000"]
    )
    missing = st.uuids().map(str)
    there = st.sampled_from(match_ids)
    shouted = there.map(str.upper)
    return weighted((6, there), (1, malformed), (1, missing), (1, shouted), (1, texts()))


def texts() -> st.SearchStrategy[str]:
    huge = st.sampled_from("xя\0").map(lambda one: one * 30_000)
    return st.one_of(st.text(max_size=40), huge)


def scalars(one: FieldDescriptor, match_ids: list[str]) -> st.SearchStrategy[Any]:
    """Generate values of a scalar field: likely ones, and any that the wire format allows."""
    match one.cpp_type:
        case FieldDescriptor.CPPTYPE_ENUM:
            assert one.enum_type is not None
            known = st.sampled_from([value.number for value in one.enum_type.values])
            return known | known | st.integers(-(2**31), 2**31 - 1)
        case FieldDescriptor.CPPTYPE_BOOL:
            return st.booleans()
        case FieldDescriptor.CPPTYPE_INT32:
            return st.integers(-1, 8) | st.integers(-(2**31), 2**31 - 1)
        case FieldDescriptor.CPPTYPE_INT64:
            return st.integers(-1, 8) | st.integers(-(2**63), 2**63 - 1)
        case FieldDescriptor.CPPTYPE_STRING if one.type == FieldDescriptor.TYPE_BYTES:
            return st.binary(max_size=80) | st.just(b"\xff").map(lambda one: one * 60_000)
        case FieldDescriptor.CPPTYPE_STRING if one.name == "match_id":
            return ids(match_ids)
        case FieldDescriptor.CPPTYPE_STRING if one.name == "request_id":
            fresh = st.uuids().map(str)
            return weighted((6, fresh), (3, st.sampled_from(REQUEST_IDS)), (1, ids(match_ids)))
        case FieldDescriptor.CPPTYPE_STRING:
            return texts()
        case _:
            raise AssertionError(f"no values for {one.full_name}")


def likely(one: FieldDescriptor, match_ids: list[str]) -> st.SearchStrategy[Any]:
    """Generate well-formed values of a field. The command may still be illegal at the moment."""
    if one.type == FieldDescriptor.TYPE_BYTES:
        # Mostly empty: nobody can reveal a random secret or knows that of a private table.
        return weighted((9, st.just(b"")), (1, st.binary(min_size=32, max_size=32)))
    if one.name == "match_id":
        return st.sampled_from(match_ids)
    if one.name == "request_id":
        return st.uuids().map(str) | st.sampled_from(REQUEST_IDS)
    if one.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return st.just("")
    if one.enum_type is not None:
        return st.sampled_from([value.number for value in one.enum_type.values][1:])
    if one.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return st.booleans()
    return st.sampled_from([0, 0, 1, 2, 3, 4])


@st.composite
def sensible(draw: st.DrawFn, kind: Descriptor, match_ids: list[str]) -> Message:
    """Generate a well-formed message. Only the rules of the game may refuse it."""
    made = GetMessageClass(kind)()
    chosen = {
        draw(st.sampled_from(list(oneof.fields))).name
        for oneof in kind.oneofs
        if len(oneof.fields) > 1 or draw(st.integers(0, 3)) == 0
    }
    for one in kind.fields:
        if one.is_repeated or (one.containing_oneof is not None and one.name not in chosen):
            continue
        if one.message_type is not None:
            getattr(made, one.name).CopyFrom(draw(sensible(one.message_type, match_ids)))
        else:
            setattr(made, one.name, draw(likely(one, match_ids)))
    return made


@st.composite
def messages(draw: st.DrawFn, kind: Descriptor, match_ids: list[str]) -> Message:
    """Generate a message with some of its fields set. In a oneof the last drawn field wins."""
    made = GetMessageClass(kind)()
    for one in kind.fields:
        if draw(st.integers(0, 4)) == 0:
            continue
        if one.is_repeated:
            assert one.message_type is None, f"values of {one.full_name}"
            values = st.lists(scalars(one, match_ids), max_size=40)
            getattr(made, one.name).extend(draw(values))
        elif one.message_type is not None:
            inner = draw(messages(one.message_type, match_ids))
            if one.containing_oneof is None or draw(st.booleans()):
                getattr(made, one.name).CopyFrom(inner)
        else:
            setattr(made, one.name, draw(scalars(one, match_ids)))
    return made


def payloads(method: MethodDescriptor, match_ids: list[str]) -> st.SearchStrategy[bytes]:
    """Generate the bytes of a request: valid messages, and bytes that are not a message."""
    whole = messages(method.input_type, match_ids).map(lambda made: made.SerializeToString())
    cut = st.builds(lambda made, at: made[: at % (len(made) + 1)], whole, st.integers(0, 200))
    oversized = st.just(b"\0").map(lambda one: one * (LIMIT_BYTES + 1))
    good = sensible(method.input_type, match_ids).map(lambda made: made.SerializeToString())
    junk = st.one_of(cut, st.binary(max_size=200), oversized)
    return weighted((7, good), (2, whole), (1, junk))


# --- the service and its replies ------------------------------------------------------------------


@dataclass
class Fuzzed:
    """A running service with matches, and a count of its replies by reason."""

    server: Running
    channel: aio.Channel
    match_ids: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)

    def mint(self, key: DevelopmentKey, who: str, seconds: int = 3600) -> str:
        config = self.server.config
        return key.mint(
            who,
            issuer=config.token_issuer,
            audience=config.token_audience,
            lifetime_seconds=seconds,
        )

    def callers(self) -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
        """Generate metadata of callers: most with a valid token, a few with an invalid or no token.

        Some also ask for a language.
        """
        key = self.server.development_key
        assert key is not None
        good = [self.mint(key, who) for who in ("ann", "bob", "eve")]
        forged = self.mint(DevelopmentKey(Ed25519PrivateKey.generate()), "ann")
        bad = [self.mint(key, "ann", -60), forged, good[0][:-4], "", "x" * 4000]
        tokens = st.sampled_from(good * 8 + bad)
        headers = tokens.map(lambda token: (("authorization", f"Bearer {token}"),))
        languages = st.sampled_from(["ru", "uk", "xx;q=9", "*", ";;;q="])
        spoken = st.builds(lambda one, tag: (*one, ("accept-language", tag)), headers, languages)
        return weighted((8, headers), (2, spoken), (1, st.just(())))

    def stub(self, name: str) -> Any:
        method = METHODS[name]
        kind = "stream" if method.client_streaming else "unary"
        kind += "_stream" if method.server_streaming else "_unary"
        return getattr(self.channel, kind)(f"/{SERVICE.full_name}/{name}")

    async def ask(self, name: str, request: Message, who: str) -> bytes:
        key = self.server.development_key
        assert key is not None
        metadata = (("authorization", f"Bearer {self.mint(key, who)}"),)
        answer = await self.stub(name)(request.SerializeToString(), metadata=metadata)
        assert isinstance(answer, bytes)
        return answer

    async def seat_players(self) -> None:
        """Open eight tables in play and two that wait. Some stay in play for the whole test."""
        for players in [("ann", "bob")] * 8 + [("ann",)] * 2:
            opening = api.OpenTableRequest(request_id=str(uuid4()), settings=OPENING)
            answer = await self.ask("OpenTable", opening, players[0])
            view: TableView = api.OpenTableResponse.FromString(answer).view
            self.match_ids.append(view.match_id)
            for who in players:
                sitting = api.TakeSeatRequest(match_id=view.match_id, request_id=str(uuid4()))
                await self.ask("TakeSeat", sitting, who)

    def judge(self, error: aio.AioRpcError) -> None:
        """Check that an error is in the catalogue, with details, or is gRPC's own size error."""
        code = error.code()
        trailing: Any = error.trailing_metadata()
        details = [value for key, value in trailing or () if key == STATUS_KEY]
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED and not details:
            self.answers["oversized"] += 1
            assert "larger than max" in (error.details() or ""), error
            return
        assert len(details) == 1, error
        status = Status.FromString(details[0])
        assert status.code == code.value[0]
        self.judge_status(status)

    def judge_status(self, status: Status) -> None:
        assert status.ByteSize() < STATUS_BYTES_MAX, status
        assert status.code not in {
            grpc.StatusCode.OK.value[0],
            grpc.StatusCode.UNKNOWN.value[0],
            grpc.StatusCode.INTERNAL.value[0],
            grpc.StatusCode.DATA_LOSS.value[0],
        }, status
        info = ErrorInfo()
        assert status.details[0].Unpack(info), status
        assert info.domain == "durak.v1"
        assert f"ERROR_REASON_{info.reason}" in ErrorReason.keys()  # noqa: SIM118 - an enum
        self.answers[info.reason] += 1

    async def call(self, name: str, request: bytes, metadata: Any) -> None:
        """Make a unary call and count its reply or error."""
        try:
            await self.stub(name)(request, metadata=metadata, timeout=ANSWER_S)
        except aio.AioRpcError as error:
            self.judge(error)
        else:
            self.answers["OK"] += 1

    async def watch(self, request: bytes, metadata: Any) -> None:
        """Watch until the stream has caught up."""
        watch = self.stub("WatchMatch")(request, metadata=metadata, timeout=ANSWER_S)
        try:
            while True:
                message = api.WatchMatchResponse.FromString(await watch.read())
                if message.WhichOneof("kind") == "caught_up":
                    self.answers["OK"] += 1
                    break
        except aio.AioRpcError as error:
            self.judge(error)
        finally:
            watch.cancel()

    async def hold_session(self, requests: list[bytes], metadata: Any) -> None:
        """Run a session with these requests until it ends."""
        session = self.stub("PlaySession")(iter(requests), metadata=metadata, timeout=ANSWER_S)
        try:
            async for message in session:
                answer = api.PlaySessionResponse.FromString(message)
                if answer.WhichOneof("kind") == "error":
                    self.judge_status(answer.error)
                else:
                    self.answers["OK"] += 1
        except aio.AioRpcError as error:
            # The server ended the session while the client was sending. The client's library then
            # replaces the status from the server by its own.
            if "SendMessageOperation" in (error.debug_error_string() or ""):
                self.answers["ended while sending"] += 1
            else:
                self.judge(error)


@asynccontextmanager
async def fuzzed(database: Database, folder: Path) -> AsyncIterator[Fuzzed]:
    config = Config(
        listen_port=0,
        data_dir=folder,
        database_url=SecretStr(database.app_dsn),
        caller_calls_per_second=0,
        caller_tables_max=10_000,
        caller_seats_max=10_000,
        caller_bot_tables_max=10_000,
        log_level="error",
    )
    async with running(config) as server, aio.insecure_channel(server.address) as channel:
        one = Fuzzed(server, channel)
        await one.seat_players()
        yield one


async def every_example(
    fuzz: Fuzzed,
    examples: int,
    calls: st.SearchStrategy[Any],
    send: Callable[..., Coroutine[Any, Any, None]],
) -> None:
    """Send each example. Hypothesis runs in a thread, and the calls run in this event loop."""
    loop = asyncio.get_running_loop()

    @settings(DETERMINISTIC, max_examples=examples)
    @given(calls, fuzz.callers())
    def each(call: Any, metadata: Any) -> None:
        asyncio.run_coroutine_threadsafe(send(*call, metadata), loop).result(2 * ANSWER_S)

    await asyncio.to_thread(each)


@pytest.mark.timeout(60)
async def test_every_call_gets_a_reply_or_a_refusal_with_a_reason(
    database: Database, tmp_path: Path
) -> None:
    async with fuzzed(database, tmp_path) as fuzz:
        calls = st.sampled_from(UNARY).flatmap(
            lambda name: st.tuples(st.just(name), payloads(METHODS[name], fuzz.match_ids))
        )
        await every_example(fuzz, 600, calls, fuzz.call)
        assert {"OK", "oversized", "MALFORMED_FIELD", "TOKEN_INVALID", "NOT_SEATED"} <= set(
            fuzz.answers
        )


@pytest.mark.timeout(60)
async def test_every_watch_catches_up_or_is_refused_with_a_reason(
    database: Database, tmp_path: Path
) -> None:
    async with fuzzed(database, tmp_path) as fuzz:
        calls = st.tuples(payloads(METHODS["WatchMatch"], fuzz.match_ids))
        await every_example(fuzz, 100, calls, fuzz.watch)
        assert {"OK", "MALFORMED_FIELD", "MATCH_NOT_FOUND"} <= set(fuzz.answers)


@pytest.mark.timeout(60)
async def test_every_request_of_a_session_gets_a_reply_or_a_refusal_with_a_reason(
    database: Database, tmp_path: Path
) -> None:
    async with fuzzed(database, tmp_path) as fuzz:
        requests = payloads(METHODS["PlaySession"], fuzz.match_ids)
        calls = st.tuples(st.lists(requests, max_size=4))
        await every_example(fuzz, 100, calls, fuzz.hold_session)
        assert {"OK", "MALFORMED_FIELD", "NOT_SEATED"} <= set(fuzz.answers)
