"""Exceptions become refusals: the one place that decides what the caller of a failed call gets.

Handlers raise `Refused`. Any other exception is mapped here, so that nothing of its text reaches
the caller. An exception that nobody expects is a fault of the server, INTERNAL.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import structlog
from google.rpc.status_pb2 import Status

from domain.match.fold import CorruptLogError
from domain.match.refusal import FieldFault, Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason
from eventstore.errors import (
    AppendOutcomeUnknown,
    StoreOverloaded,
    StoreUnavailable,
    VersionConflict,
)
from service.rpc.call import Call
from service.rpc.catalogue import CATALOGUE, FLOODS, SERVER_FAULTS, reason_name
from service.rpc.status import status_of

_log = structlog.get_logger(__name__)


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """The call is refused.

    `retry_after_seconds` is the delay in RetryInfo; None is the delay of the catalogue.
    """

    def __init__(self, refusal: Refusal, retry_after_seconds: float | None = None) -> None:
        super().__init__(reason_name(refusal.reason))
        self.refusal = refusal
        self.retry_after_seconds = retry_after_seconds


def refuse(
    reason: ErrorReason.ValueType, *fields: FieldFault, clause: str = "", **metadata: str
) -> Refused:
    """Return the exception to raise for a reason.

    `metadata` is what the catalogue promises for the reason.
    """
    return Refused(Refusal(reason, clause, metadata, fields))


def refused_by(error: Exception) -> Refused:
    """Return the refusal that an exception is for the caller."""
    match error:
        case Refused():
            return error
        case StoreUnavailable() | AppendOutcomeUnknown():
            return refuse(reasons.ERROR_REASON_STORE_UNAVAILABLE)
        case StoreOverloaded():
            return refuse(reasons.ERROR_REASON_OVERLOADED)
        case VersionConflict():
            return refuse(reasons.ERROR_REASON_CONTENTION)
        case CorruptLogError():
            return refuse(reasons.ERROR_REASON_LOG_CORRUPT)
        case _:
            return refuse(reasons.ERROR_REASON_INTERNAL)


class Answer(NamedTuple):
    """The answer to a failed call: the status for the caller, and the name of its reason."""

    status: Status
    reason: str


class FailedCalls:
    """Answers failed calls, and reports them to the operator: a log line and a count for each.

    Unary calls, streams, and the commands and watches of sessions all pass here.
    """

    def __init__(self) -> None:
        self._counts = {reason_name(reason): 0 for reason in CATALOGUE}

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of failed calls by the name of the reason. Every reason is there."""
        return self._counts

    def answer(self, error: Exception, call: Call) -> Answer:
        """Return the answer to a call that raised `error`. Logs and counts it."""
        refused = refused_by(error)
        refusal = refused.refusal
        if refusal.reason in SERVER_FAULTS:
            trace = {"trace_id": call.trace_id.hex()}
            refusal = replace(refusal, metadata={**refusal.metadata, **trace})
        reason = reason_name(refusal.reason)
        self._counts[reason] += 1
        _log_failure(error, refusal, call)
        return Answer(status_of(refusal, call.language, refused.retry_after_seconds), reason)


def _log_failure(error: Exception, refusal: Refusal, call: Call) -> None:
    facts = {
        "method": call.method,
        "reason": reason_name(refusal.reason),
        "clause": refusal.clause,
        "caller": call.caller.subject,
        "trace_id": call.trace_id.hex(),
    }
    if refusal.reason in SERVER_FAULTS:
        _log.error("call failed", exc_info=error, **facts)
    elif refusal.reason in FLOODS:
        _log.debug("call refused", **facts)
    else:
        _log.info("call refused", **facts)
