"""Failures of calls and of background work: the answer, the log line and the count."""

from __future__ import annotations

from uuid import UUID

import grpc
import pytest
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status
from structlog.testing import capture_logs

from domain.match.fold import CorruptLogError
from durak.v1 import errors_pb2 as reasons
from eventstore.errors import (
    AppendOutcomeUnknown,
    ChainMismatch,
    LedgerMismatch,
    StoreError,
    StoreOverloaded,
    StoreUnavailable,
    VersionConflict,
)
from service.rpc.call import Call, Caller
from service.rpc.catalogue import CATALOGUE, reason_name
from service.rpc.errors import refuse, refused_by
from service.rpc.failures import WORKS, Failures

SECRET = "the ace of spades"
STREAM = UUID(int=7)
TRACE = "0af7651916cd43dd8448eb211c80319c"
ANN = Caller("ann", "Ann", frozenset({"player"}), 0.0)
CALL = Call(ANN, "en", bytes.fromhex(TRACE), "/durak.v1.MatchService/Play")
REPEATABLE: dict[str, tuple[Exception, ...]] = {
    "STORE_UNAVAILABLE": (StoreUnavailable(SECRET), AppendOutcomeUnknown(STREAM, 3)),
    "OVERLOADED": (StoreOverloaded(SECRET),),
    "CONTENTION": (VersionConflict(STREAM, 3, 4),),
}
FAULTS: dict[str, tuple[Exception, ...]] = {
    "LOG_CORRUPT": (CorruptLogError(SECRET),),
    "INTERNAL": (
        ValueError(SECRET),
        KeyError(SECRET),
        AssertionError(SECRET),
        TimeoutError(SECRET),
        OSError(SECRET),
        grpc.RpcError(SECRET),
        StoreError(SECRET),
        ChainMismatch(STREAM, 3),
        LedgerMismatch(SECRET),
    ),
}


def cases(errors: dict[str, tuple[Exception, ...]]) -> list[tuple[Exception, str]]:
    return [(error, reason) for reason, group in errors.items() for error in group]


def info_of(status: Status) -> error_details_pb2.ErrorInfo:
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    return info


def has_retry_info(status: Status) -> bool:
    return any(detail.TypeName() == "google.rpc.RetryInfo" for detail in status.details)


@pytest.mark.parametrize(("error", "reason"), cases(FAULTS), ids=repr)
def test_a_fault_of_the_server_carries_the_trace_id_and_no_retry(
    error: Exception, reason: str
) -> None:
    failures = Failures()
    with capture_logs() as lines:
        answer = failures.answer(error, CALL)
    assert answer.reason == reason
    code = {"INTERNAL": grpc.StatusCode.INTERNAL, "LOG_CORRUPT": grpc.StatusCode.DATA_LOSS}[reason]
    assert answer.status.code == code.value[0]
    info = info_of(answer.status)
    assert (info.reason, dict(info.metadata)) == (reason, {"trace_id": TRACE})
    assert not has_retry_info(answer.status)
    assert SECRET not in str(answer.status)
    [line] = lines
    assert (line["log_level"], line["reason"]) == ("error", reason)
    assert line["exc_info"] is error
    assert (line["trace_id"], line["caller"]) == (TRACE, "ann")
    assert {name for name, count in failures.calls.items() if count} == {reason}


@pytest.mark.parametrize(("error", "reason"), cases(REPEATABLE), ids=repr)
def test_a_store_that_cannot_take_the_call_now_says_when_to_retry(
    error: Exception, reason: str
) -> None:
    failures = Failures()
    with capture_logs() as lines:
        answer = failures.answer(error, CALL)
    assert answer.reason == reason
    assert has_retry_info(answer.status)
    assert "trace_id" not in info_of(answer.status).metadata
    assert SECRET not in str(answer.status)
    assert [line["log_level"] for line in lines] == ["debug" if reason == "OVERLOADED" else "info"]


def test_a_log_that_a_handler_found_corrupt_is_reported_with_the_cause() -> None:
    failures = Failures()
    found = refuse(reasons.ERROR_REASON_LOG_CORRUPT, match_id="m")
    with capture_logs() as lines:
        answer = failures.answer(found, CALL)
    assert dict(info_of(answer.status).metadata) == {"match_id": "m", "trace_id": TRACE}
    [line] = lines
    assert line["log_level"] == "error"
    assert line["exc_info"] is found


def test_a_refusal_is_answered_as_it_was_raised() -> None:
    refused = refuse(reasons.ERROR_REASON_MATCH_NOT_FOUND, match_id="m")
    assert refused_by(refused) is refused


def test_every_reason_is_counted_from_the_start() -> None:
    assert dict(Failures().calls) == {reason_name(reason): 0 for reason in CATALOGUE}


def test_failed_calls_are_counted_by_reason() -> None:
    failures = Failures()
    for _ in range(2):
        failures.answer(ValueError(SECRET), CALL)
    failures.answer(refuse(reasons.ERROR_REASON_NOT_YOUR_TURN), CALL)
    counted = {name: count for name, count in failures.calls.items() if count}
    assert counted == {"INTERNAL": 2, "NOT_YOUR_TURN": 1}


@pytest.mark.parametrize("error", [error for error, _ in cases(FAULTS)], ids=repr)
def test_a_fault_in_background_work_is_logged_with_its_traceback_and_counted(
    error: Exception,
) -> None:
    failures = Failures()
    with capture_logs() as lines:
        failures.report("clock", error, match_id="m")
    [line] = lines
    assert (line["log_level"], line["work"], line["match_id"]) == ("error", "clock", "m")
    assert line["exc_info"] is error
    assert dict(failures.work) == dict.fromkeys(WORKS, 0) | {"clock": 1}
    assert not any(failures.calls.values())


@pytest.mark.parametrize("error", [error for error, _ in cases(REPEATABLE)], ids=repr)
def test_background_work_that_the_store_delays_is_no_fault(error: Exception) -> None:
    failures = Failures()
    with capture_logs() as lines:
        failures.report("standings", error)
    assert [line["log_level"] for line in lines] == ["warning"]
    assert not any(failures.work.values())
