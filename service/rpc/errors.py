"""The error catalogue: the one place that turns a refusal into a `google.rpc.Status`.

Handlers raise `Refused`; whatever else they raise is made into a `Refused` by `refused_by`. Nothing
of an unexpected error's text reaches the caller.
"""

from collections.abc import Mapping
from enum import Enum, auto
from functools import cache
from typing import NamedTuple

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status

from domain.match.refusal import FieldFault, Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason
from eventstore.errors import (
    AppendOutcomeUnknown,
    StoreOverloaded,
    StoreUnavailable,
    VersionConflict,
)
from service.text.localisation import LANGUAGES, Texts

ERROR_DOMAIN = "durak.v1"
STATUS_KEY = "grpc-status-details-bin"
"""The trailing metadata that carries the serialized Status."""


class Detail(Enum):
    """The detail that goes with a reason, beside ErrorInfo and LocalizedMessage."""

    NONE = auto()
    FIELDS = auto()
    """BadRequest."""
    STATE = auto()
    """PreconditionFailure."""
    RESOURCE = auto()
    """ResourceInfo."""
    RETRY = auto()
    """RetryInfo."""
    QUOTA = auto()
    """QuotaFailure."""
    QUOTA_AND_RETRY = auto()
    """QuotaFailure and RetryInfo."""


class Entry(NamedTuple):
    """One line of the catalogue.

    `retry_after_seconds` is the delay to advise where whoever refuses knows no better.
    """

    code: grpc.StatusCode
    detail: Detail = Detail.NONE
    retry_after_seconds: float = 0.0


_INVALID_ARGUMENT = Entry(grpc.StatusCode.INVALID_ARGUMENT, Detail.FIELDS)
_UNAUTHENTICATED = Entry(grpc.StatusCode.UNAUTHENTICATED)
_PERMISSION_DENIED = Entry(grpc.StatusCode.PERMISSION_DENIED)
_FAILED_PRECONDITION = Entry(grpc.StatusCode.FAILED_PRECONDITION, Detail.STATE)

CATALOGUE: Mapping[ErrorReason.ValueType, Entry] = {
    reasons.ERROR_REASON_MALFORMED_FIELD: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_NOT_DEALABLE: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_PRESET_LOCKED: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_UNKNOWN_PRESET: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_PAGE_TOKEN_INVALID: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_REQUEST_ID_REUSED: Entry(grpc.StatusCode.ALREADY_EXISTS),
    reasons.ERROR_REASON_TOKEN_MISSING: _UNAUTHENTICATED,
    reasons.ERROR_REASON_TOKEN_INVALID: _UNAUTHENTICATED,
    reasons.ERROR_REASON_TOKEN_EXPIRED: _UNAUTHENTICATED,
    reasons.ERROR_REASON_ROLE_REQUIRED: _PERMISSION_DENIED,
    reasons.ERROR_REASON_NOT_SEATED: _PERMISSION_DENIED,
    reasons.ERROR_REASON_NOT_OWNER: _PERMISSION_DENIED,
    reasons.ERROR_REASON_SEAT_RESERVED: _PERMISSION_DENIED,
    reasons.ERROR_REASON_OWN_MATCH: _PERMISSION_DENIED,
    reasons.ERROR_REASON_MATCH_NOT_FOUND: Entry(grpc.StatusCode.NOT_FOUND, Detail.RESOURCE),
    reasons.ERROR_REASON_PUZZLE_NOT_FOUND: Entry(grpc.StatusCode.NOT_FOUND, Detail.RESOURCE),
    reasons.ERROR_REASON_CHECKPOINT_NOT_FOUND: Entry(grpc.StatusCode.NOT_FOUND, Detail.RESOURCE),
    reasons.ERROR_REASON_VERSION_BEYOND_HEAD: Entry(grpc.StatusCode.OUT_OF_RANGE),
    reasons.ERROR_REASON_STALE_VERSION: Entry(grpc.StatusCode.ABORTED),
    reasons.ERROR_REASON_CONTENTION: Entry(grpc.StatusCode.ABORTED, Detail.RETRY, 0.05),
    reasons.ERROR_REASON_MATCH_NOT_IN_PLAY: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_MATCH_NOT_WAITING: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_MATCH_NOT_ENDED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_SEAT_TAKEN: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_TABLE_FULL: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_ALREADY_SEATED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NO_BOTS_AT_STAKED_TABLE: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_INSUFFICIENT_COINS: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_REMATCH_IMPOSSIBLE: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_GIVEN_UP_TOO_OFTEN: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_SEAT_IS_OUT: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOT_YOUR_TURN: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_CARD_NOT_HELD: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_RANK_NOT_ON_TABLE: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOT_A_NEIGHBOUR: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_CAP_REACHED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NO_SUCH_ATTACK_CARD: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_ALREADY_BEATEN: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_DOES_NOT_BEAT: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_TAKE_DECLARED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOTHING_TO_TAKE: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_TRANSFER_OFF: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOT_THE_RANK_LED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_TRANSFER_TOO_LATE: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_TRANSFER_TOO_MANY: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_PASS_TOO_EARLY: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_ALREADY_PASSED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOTHING_TO_PASS: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOT_TRICKY: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NO_SUCH_PLAY: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_OWN_PLAY: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOTHING_LED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_RATE_LIMITED: Entry(
        grpc.StatusCode.RESOURCE_EXHAUSTED, Detail.QUOTA_AND_RETRY, 1.0
    ),
    reasons.ERROR_REASON_TOO_MANY_WATCHES: Entry(grpc.StatusCode.RESOURCE_EXHAUSTED, Detail.QUOTA),
    reasons.ERROR_REASON_TOO_MANY_TABLES: Entry(grpc.StatusCode.RESOURCE_EXHAUSTED, Detail.QUOTA),
    reasons.ERROR_REASON_SLOW_WATCHER: Entry(grpc.StatusCode.RESOURCE_EXHAUSTED, Detail.RETRY, 0.1),
    reasons.ERROR_REASON_DRAINING: Entry(grpc.StatusCode.UNAVAILABLE, Detail.RETRY, 1.0),
    reasons.ERROR_REASON_OVERLOADED: Entry(grpc.StatusCode.UNAVAILABLE, Detail.RETRY, 0.5),
    reasons.ERROR_REASON_STORE_UNAVAILABLE: Entry(grpc.StatusCode.UNAVAILABLE, Detail.RETRY, 1.0),
    reasons.ERROR_REASON_INTERNAL: Entry(grpc.StatusCode.INTERNAL),
    reasons.ERROR_REASON_MATCH_NOT_DEALT: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOT_IN_CHECKPOINT: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_LOG_CORRUPT: Entry(grpc.StatusCode.DATA_LOSS),
    reasons.ERROR_REASON_DISPUTE_NOT_FOUND: Entry(grpc.StatusCode.NOT_FOUND, Detail.RESOURCE),
    reasons.ERROR_REASON_DISPUTE_TOO_LATE: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_TOO_MANY_DISPUTES: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NO_STAKE: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_DISPUTE_NOT_OPEN: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_CORRECTION_NOT_PENDING: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_CORRECTION_UNBALANCED: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_CORRECTION_NOT_COVERED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_OWN_RULING: _PERMISSION_DENIED,
}

_RESOURCES: Mapping[ErrorReason.ValueType, tuple[str, str]] = {
    reasons.ERROR_REASON_MATCH_NOT_FOUND: ("durak.v1.Match", "match_id"),
    reasons.ERROR_REASON_PUZZLE_NOT_FOUND: ("durak.v1.Puzzle", "puzzle_id"),
    reasons.ERROR_REASON_CHECKPOINT_NOT_FOUND: ("durak.v1.Checkpoint", "tree_size"),
    reasons.ERROR_REASON_DISPUTE_NOT_FOUND: ("durak.v1.Dispute", "dispute_id"),
}
"""What is missing: its type, and the metadata that names it."""

_STORE_ERRORS = (StoreOverloaded, StoreUnavailable, AppendOutcomeUnknown, VersionConflict)
FLOODS = frozenset(
    {
        reasons.ERROR_REASON_RATE_LIMITED,
        reasons.ERROR_REASON_OVERLOADED,
        reasons.ERROR_REASON_DRAINING,
    }
)
"""Refusals that come in floods: their log lines would add to the load."""


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """The call is refused.

    `retry_after_seconds` is what RetryInfo advises, where the catalogue does not know better.
    """

    def __init__(self, refusal: Refusal, retry_after_seconds: float | None = None) -> None:
        super().__init__(reason_name(refusal.reason))
        self.refusal = refusal
        self.retry_after_seconds = retry_after_seconds


def refuse(
    reason: ErrorReason.ValueType, *fields: FieldFault, clause: str = "", **metadata: str
) -> Refused:
    """What to raise for a reason, with the metadata that the catalogue promises as keywords."""
    return Refused(Refusal(reason, clause, metadata, fields))


def refused_by(error: Exception) -> Refused:
    """What the caller is told of an error: the refusal that it is, or that we cannot now."""
    match error:
        case Refused():
            return error
        case StoreUnavailable() | AppendOutcomeUnknown():
            return refuse(reasons.ERROR_REASON_STORE_UNAVAILABLE)
        case VersionConflict():
            return refuse(reasons.ERROR_REASON_CONTENTION)
        case _:
            return refuse(reasons.ERROR_REASON_OVERLOADED)


def is_expected(error: Exception) -> bool:
    """Whether an error is a refusal, or a store that says why it cannot; others are our faults."""
    return isinstance(error, (Refused, *_STORE_ERRORS))


@cache
def reason_name(reason: ErrorReason.ValueType) -> str:
    """The name of a reason as ErrorInfo has it: without `ERROR_REASON_`."""
    return ErrorReason.Name(reason).removeprefix("ERROR_REASON_")


@cache
def text_key(reason: ErrorReason.ValueType) -> str:
    """The key of a reason's text in locale/*/errors.ftl."""
    return reason_name(reason).lower().replace("_", "-")


@cache
def texts() -> Texts:
    """The sentences for the player, by `text_key`."""
    return Texts("errors")


def status_of(refusal: Refusal, language: str, retry_after_seconds: float | None = None) -> Status:
    """The status that the caller gets, in one of LANGUAGES.

    Raises KeyError for a reason that is not in the catalogue.
    """
    entry = CATALOGUE[refusal.reason]
    key = text_key(refusal.reason)
    message = texts().format(key, LANGUAGES[0], refusal.metadata)
    local = message if language == LANGUAGES[0] else texts().format(key, language, refusal.metadata)
    retry = entry.retry_after_seconds if retry_after_seconds is None else retry_after_seconds

    status = Status(code=entry.code.value[0], message=message)
    status.details.add().Pack(_error_info(refusal))
    for detail in _details(refusal, entry.detail, message, retry):
        status.details.add().Pack(detail)
    status.details.add().Pack(error_details_pb2.LocalizedMessage(locale=language, message=local))
    return status


def _error_info(refusal: Refusal) -> error_details_pb2.ErrorInfo:
    metadata = dict(refusal.metadata)
    if refusal.clause:
        metadata["clause"] = refusal.clause
    return error_details_pb2.ErrorInfo(
        domain=ERROR_DOMAIN, reason=reason_name(refusal.reason), metadata=metadata
    )


def _details(
    refusal: Refusal, detail: Detail, message: str, retry_after_seconds: float
) -> list[Message]:
    """The details that the catalogue promises, beside ErrorInfo and LocalizedMessage."""
    match detail:
        case Detail.NONE:
            return []
        case Detail.FIELDS:
            faults = [
                error_details_pb2.BadRequest.FieldViolation(
                    field=fault.path, description=fault.description
                )
                for fault in refusal.fields
            ]
            return [error_details_pb2.BadRequest(field_violations=faults)]
        case Detail.STATE:
            state = error_details_pb2.PreconditionFailure.Violation(
                type=reason_name(refusal.reason),
                subject=refusal.metadata.get("match_id", "match"),
                description=message,
            )
            return [error_details_pb2.PreconditionFailure(violations=[state])]
        case Detail.RESOURCE:
            kind, key = _RESOURCES[refusal.reason]
            name = refusal.metadata.get(key, "")
            return [
                error_details_pb2.ResourceInfo(
                    resource_type=kind, resource_name=name, description=message
                )
            ]
        case Detail.RETRY:
            return [_retry_info(retry_after_seconds)]
        case Detail.QUOTA:
            return [_quota_failure(refusal, message)]
        case Detail.QUOTA_AND_RETRY:
            return [_quota_failure(refusal, message), _retry_info(retry_after_seconds)]


def _quota_failure(refusal: Refusal, message: str) -> error_details_pb2.QuotaFailure:
    subject = refusal.metadata.get("quota", "caller")
    return error_details_pb2.QuotaFailure(
        violations=[error_details_pb2.QuotaFailure.Violation(subject=subject, description=message)]
    )


def _retry_info(seconds: float) -> error_details_pb2.RetryInfo:
    delay = Duration()
    delay.FromMicroseconds(max(1, round(seconds * 1_000_000)))
    return error_details_pb2.RetryInfo(retry_delay=delay)
