"""What every call passes: every kind of call, every way to end, over real channels."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc import aio
from structlog.testing import capture_logs

from domain.match.fold import CorruptLogError
from durak.v1 import errors_pb2 as reasons
from eventstore.errors import StoreUnavailable
from service.rpc.call import current_call
from service.rpc.errors import refuse
from tests.service.frame import Framed, answer_of, framed, refusal

SECRET = "the ace of spades"
NO_MESSAGE = b"\xff\xff\xff"


@pytest.fixture
async def frame(tmp_path: Path) -> AsyncIterator[Framed]:
    async with framed(tmp_path) as server:
        yield server


async def requests(*texts: str | bytes) -> AsyncIterator[str | bytes]:
    for text in texts:
        yield text


async def test_all_four_kinds_of_calls_pass(frame: Framed) -> None:
    metadata = frame.metadata()
    assert await frame.unary()("a", metadata=metadata) == "a"
    frame.methods.go.set()
    for style in ("Watch", "Write"):
        assert [text async for text in frame.watch(style)("b", metadata=metadata)] == ["b"]
    assert await frame.collect()(requests("c", "d"), metadata=metadata) == "cd"
    session = frame.session()(requests("e", "f"), metadata=metadata)
    assert [text async for text in session] == ["e", "f"]
    limits = frame.interceptor.limits
    assert (limits.calls, limits.watches, frame.interceptor.streams.authenticated) == (0, 0, set())


async def test_the_servicer_knows_caller_language_trace_and_method(frame: Framed) -> None:
    traceparent = ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    await frame.unary()("a", metadata=(*frame.metadata(language="el"), traceparent))
    await frame.unary()("a", metadata=frame.metadata(subject="bob"))
    first, second = frame.methods.seen
    assert first.caller.subject == "ann"
    assert first.language == "el"
    assert first.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert first.method == "/test.Frame/Call"
    assert (second.caller.subject, second.language) == ("bob", "en")
    assert len(second.trace_id) == 16
    with pytest.raises(LookupError):
        current_call()


@pytest.mark.parametrize(
    "traceparent", ["", "00-zz-zz-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * 500]
)
async def test_a_broken_traceparent_is_passed_over(frame: Framed, traceparent: str) -> None:
    await frame.unary()("a", metadata=(*frame.metadata(), ("traceparent", traceparent)))
    assert any(frame.methods.seen[0].trace_id)


async def test_refusals_reach_the_client_in_their_language_from_every_kind(frame: Framed) -> None:
    def kinds(metadata: Any) -> dict[str, Any]:
        return {
            "unary": frame.unary()("a", metadata=metadata),
            "watch": frame.watch()("a", metadata=metadata),
            "write": frame.watch("Write")("a", metadata=metadata),
            "collect": frame.collect()(requests("a"), metadata=metadata),
            "session": frame.session()(requests("a"), metadata=metadata),
        }

    for kind, call in kinds(None).items():
        answer = await refusal(call)
        assert (kind, answer.code) == (kind, grpc.StatusCode.UNAUTHENTICATED)
        assert answer.reason == "TOKEN_MISSING"
        assert answer.text == "You are not signed in. Sign in and try again."
    for language, text in (("ru", "Вашей учётной записи"), ("el", "Ο λογαριασμός σας")):
        for call in kinds(frame.metadata("auditor", "player", language=language)).values():
            answer = await refusal(call)
            assert answer.code is grpc.StatusCode.PERMISSION_DENIED
            assert answer.reason == "ROLE_REQUIRED"
            assert answer.text.startswith(text)
    assert frame.methods.seen == []


async def test_a_method_that_nobody_thought_of_is_for_nobody(frame: Framed) -> None:
    call = frame.unary("Forgotten")("a", metadata=frame.metadata("player", "operator"))
    assert (await refusal(call)).reason == "ROLE_REQUIRED"


async def test_an_unknown_method_is_UNIMPLEMENTED(frame: Framed) -> None:
    for _ in range(2):
        with pytest.raises(aio.AioRpcError) as error:
            await frame.unary("Nothing")("a", metadata=frame.metadata())
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_bytes_that_are_no_message_are_MALFORMED_FIELD(frame: Framed) -> None:
    metadata = frame.metadata()
    for call in (
        frame.unary()(NO_MESSAGE, metadata=metadata),
        frame.watch()(NO_MESSAGE, metadata=metadata),
        frame.collect()(requests("a", NO_MESSAGE), metadata=metadata),
    ):
        answer = await refusal(call)
        assert (answer.code, answer.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_FIELD")
    frame.methods.go.set()
    answer = await refusal(frame.session()(requests("a", NO_MESSAGE), metadata=metadata))
    assert answer.reason == "MALFORMED_FIELD"
    # Without a token the bytes are not looked at.
    assert (await refusal(frame.unary()(NO_MESSAGE))).reason == "TOKEN_MISSING"


async def test_a_message_that_is_too_large_is_RESOURCE_EXHAUSTED(frame: Framed) -> None:
    with pytest.raises(aio.AioRpcError) as error:
        await frame.unary()("x" * (64 * 1024 + 1), metadata=frame.metadata())
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (ValueError(SECRET), grpc.StatusCode.INTERNAL, "INTERNAL"),
        (KeyError(SECRET), grpc.StatusCode.INTERNAL, "INTERNAL"),
        (AssertionError(SECRET), grpc.StatusCode.INTERNAL, "INTERNAL"),
        (StopAsyncIteration(SECRET), grpc.StatusCode.INTERNAL, "INTERNAL"),
        (RecursionError(SECRET), grpc.StatusCode.INTERNAL, "INTERNAL"),
        (TimeoutError(SECRET), grpc.StatusCode.INTERNAL, "INTERNAL"),
        (grpc.RpcError(SECRET), grpc.StatusCode.INTERNAL, "INTERNAL"),
        (CorruptLogError(SECRET), grpc.StatusCode.DATA_LOSS, "LOG_CORRUPT"),
        (StoreUnavailable(SECRET), grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE"),
    ],
    ids=repr,
)
async def test_an_exception_of_a_handler_is_answered_by_its_kind_and_reveals_nothing(
    frame: Framed, error: Exception, code: grpc.StatusCode, reason: str
) -> None:
    async def fail(_: str, __: Any) -> str:
        raise error

    frame.methods.call = fail
    frame.methods.go.set()
    metadata = frame.metadata()
    with capture_logs() as lines:
        for call in (
            frame.unary()("a", metadata=metadata),
            frame.watch("Write")("a", metadata=metadata),
            frame.watch()("a", metadata=metadata),
        ):
            answer = await refusal(call)
            assert (answer.code, answer.reason) == (code, reason)
            assert SECRET not in answer.raw
            has_retry = any(isinstance(d, error_details_pb2.RetryInfo) for d in answer.details)
            assert has_retry is (reason == "STORE_UNAVAILABLE")
    failures = [line for line in lines if line["log_level"] == "error"]
    assert len(failures) == (0 if reason == "STORE_UNAVAILABLE" else 3)
    assert all(line["exc_info"] is not None for line in failures)
    assert frame.interceptor.failures.calls[reason] == 3


async def test_refusals_are_logged_without_token_or_request(frame: Framed) -> None:
    async def fail(_: str, __: Any) -> str:
        raise refuse(reasons.ERROR_REASON_NOT_YOUR_TURN, clause="R4.1", match_id="m")

    frame.methods.call = fail
    metadata = frame.metadata()
    with capture_logs() as lines:
        await refusal(frame.unary()(SECRET, metadata=metadata))
    (line,) = lines
    assert line["log_level"] == "info"
    assert (line["reason"], line["clause"], line["caller"]) == ("NOT_YOUR_TURN", "R4.1", "ann")
    assert SECRET not in str(line)
    assert metadata[0][1][20:] not in str(line)


async def test_calls_are_logged_at_debug_alone(tmp_path: Path) -> None:
    async with framed(tmp_path, log_level="debug") as frame:
        with capture_logs() as lines:
            await frame.unary()(SECRET, metadata=frame.metadata())
    (line,) = lines
    assert (line["log_level"], line["code"], line["caller"]) == ("debug", "OK", "ann")
    assert SECRET not in str(line)


async def test_the_abort_of_a_handler_is_left_as_it_is(frame: Framed) -> None:
    async def abort(_: str, context: Any) -> str:
        await context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")
        raise AssertionError

    frame.methods.call = abort
    frame.methods.go.set()
    with pytest.raises(aio.AioRpcError) as error:
        await frame.unary()("a", metadata=frame.metadata())
    assert (error.value.code(), error.value.details()) == (
        grpc.StatusCode.NOT_FOUND,
        "no such thing",
    )


async def test_a_watch_ends_when_its_token_does(frame: Framed) -> None:
    for style in ("Watch", "Write"):
        expires_at = int(time.time()) + 1
        call = frame.watch(style)("a", metadata=frame.metadata(seconds=1))
        answer = await refusal(call)
        assert answer.code is grpc.StatusCode.UNAUTHENTICATED
        assert answer.reason == "TOKEN_EXPIRED"
        assert expires_at <= time.time() < expires_at + 10
    assert frame.methods.ended == ["CancelledError", "CancelledError"]
    assert frame.interceptor.limits.watches == 0


async def test_a_session_ends_when_its_token_does_and_finishes_what_runs(frame: Framed) -> None:
    session = frame.session()(metadata=frame.metadata(seconds=1))
    await session.write("a")
    assert await session.read() == "a"
    frame.methods.go.set()
    assert await session.read() == "finished"
    assert (await refusal(session)).reason == "TOKEN_EXPIRED"
    assert frame.methods.ended == ["TOKEN_EXPIRED"]


async def test_a_session_that_does_not_finish_is_cut_off(tmp_path: Path) -> None:
    async with framed(tmp_path, session_grace_seconds=0.05) as frame:
        session = frame.session()(metadata=frame.metadata(seconds=1))
        await session.write("a")
        assert (await refusal(session)).reason == "TOKEN_EXPIRED"


async def test_draining_ends_streams_and_refuses_calls(frame: Framed) -> None:
    metadata = frame.metadata()
    watch = frame.watch()("a", metadata=metadata)
    session = frame.session()(metadata=metadata)
    public = frame.watch("PublicWatch")("a")
    await session.write("a")
    for stream in (watch, session, public):
        assert await stream.read() == "a"
    frame.interceptor.drain()
    frame.methods.go.set()
    assert (await refusal(watch)).reason == "DRAINING"
    assert await session.read() == "finished"
    answer = await refusal(session)
    assert (answer.code, answer.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
    assert (await refusal(frame.unary()("a", metadata=metadata))).reason == "DRAINING"
    assert (await refusal(frame.watch()("a", metadata=metadata))).reason == "DRAINING"
    assert await public.read() is aio.EOF  # its handler ended it, not the drain
    await frame.interceptor.limits.idle()


async def test_a_call_that_runs_when_draining_begins_is_answered(frame: Framed) -> None:
    async def wait(_: str, __: Any) -> str:
        await frame.methods.go.wait()
        return "done"

    frame.methods.call = wait
    call = frame.unary()("a", metadata=frame.metadata())
    await frame.methods.reached.wait()
    frame.interceptor.drain()
    frame.methods.go.set()
    assert await call == "done"


async def test_a_client_that_goes_away_while_it_is_sent_to_is_no_fault_of_ours(
    frame: Framed,
) -> None:
    async def fail(_: str, __: Any) -> str:
        raise aio.InternalError("as gRPC says when a message cannot be sent any more")

    frame.methods.call = fail
    with capture_logs() as lines, pytest.raises(aio.AioRpcError) as ended:
        await frame.unary()("hello", metadata=frame.metadata())
    assert ended.value.code() is grpc.StatusCode.CANCELLED
    assert [line for line in lines if line["log_level"] == "error"] == []
    assert not any(frame.interceptor.failures.calls.values())


async def test_a_client_that_goes_away_cancels_the_handler(frame: Framed) -> None:
    watch = frame.watch()("a", metadata=frame.metadata())
    assert await watch.read() == "a"
    watch.cancel()
    await frame.interceptor.limits.idle()
    assert not any(frame.interceptor.failures.calls.values())
    assert frame.methods.ended == ["CancelledError"]
    assert frame.interceptor.streams.authenticated == set()


async def test_limits_are_refused_with_their_details(tmp_path: Path) -> None:
    async with framed(
        tmp_path, caller_calls_per_second=0.01, caller_calls_burst=2, caller_watches_max=1
    ) as frame:
        metadata = frame.metadata()
        watch = frame.watch()("a", metadata=metadata)
        assert await watch.read() == "a"
        answer = await refusal(frame.watch()("a", metadata=metadata))
        assert (answer.code, answer.reason) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "TOO_MANY_WATCHES",
        )
        assert any(isinstance(d, error_details_pb2.QuotaFailure) for d in answer.details)
        assert await frame.unary()("a", metadata=metadata) == "a"
        answer = await refusal(frame.unary()("a", metadata=metadata))
        assert (answer.code, answer.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
        (retry,) = (d for d in answer.details if isinstance(d, error_details_pb2.RetryInfo))
        assert 90 < retry.retry_delay.ToSeconds() <= 100
        assert await frame.unary()("a", metadata=frame.metadata(subject="bob")) == "a"
        watch.cancel()


async def test_open_watches_and_probes_never_compete_with_calls(tmp_path: Path) -> None:
    async with framed(tmp_path, calls_max=1, public_calls_max=1) as frame:
        metadata = frame.metadata()
        watches = [frame.watch()("a", metadata=metadata) for _ in range(5)]
        for watch in watches:
            assert await watch.read() == "a"

        async def wait(text: str, _: Any) -> str:
            await frame.methods.go.wait()
            return text

        frame.methods.call = wait
        running = frame.unary()("a", metadata=metadata)
        await frame.methods.reached.wait()
        frame.methods.reached.clear()
        public = frame.unary("Public")("p")
        await frame.methods.reached.wait()
        frame.methods.call = None
        assert (await refusal(frame.unary()("b", metadata=metadata))).reason == "OVERLOADED"
        assert (await refusal(frame.unary("Public")("b"))).reason == "OVERLOADED"
        assert await frame.unary("Probe")("c") == "c"
        frame.methods.go.set()
        assert (await running, await public) == ("a", "p")
        assert await frame.unary()("d", metadata=metadata) == "d"
        for watch in watches:
            watch.cancel()


async def test_many_calls_side_by_side_keep_their_callers_apart(frame: Framed) -> None:
    async def who(_: str, __: Any) -> str:
        subject = current_call().caller.subject
        await asyncio.sleep(0)
        assert current_call().caller.subject == subject
        return subject

    frame.methods.call = who
    names = [f"p{number}" for number in range(50)]
    answers = await asyncio.gather(
        *(frame.unary()("a", metadata=frame.metadata(subject=name)) for name in names)
    )
    assert answers == names


async def test_answers_carry_the_code_they_say(frame: Framed) -> None:
    with pytest.raises(aio.AioRpcError) as error:
        await frame.unary()("a")
    assert answer_of(error.value).code is error.value.code()
