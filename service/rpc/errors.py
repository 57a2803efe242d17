"""Exceptions become refusals: the one place that decides what the caller of a failed call gets.

Handlers raise `Refused`. Any other exception is mapped here, so that nothing of its text reaches
the caller. An exception that nobody expects is a fault of the server, INTERNAL.
"""

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
from service.rpc.catalogue import reason_name


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
