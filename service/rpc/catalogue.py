"""The error catalogue: the status code and the details of every reason in errors.proto."""

from collections.abc import Mapping
from enum import Enum, auto
from functools import cache
from typing import Final, NamedTuple

import grpc

from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason


class Detail(Enum):
    """The detail that a reason carries, next to ErrorInfo and LocalizedMessage."""

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
    STATE_AND_RETRY = auto()
    """PreconditionFailure and RetryInfo."""


class Entry(NamedTuple):
    """One line of the catalogue.

    `retry_after_seconds` is the delay in RetryInfo, unless the refusal brings its own.
    """

    code: grpc.StatusCode
    detail: Detail = Detail.NONE
    retry_after_seconds: float = 0.0


_INVALID_ARGUMENT = Entry(grpc.StatusCode.INVALID_ARGUMENT, Detail.FIELDS)
_UNAUTHENTICATED = Entry(grpc.StatusCode.UNAUTHENTICATED)
_PERMISSION_DENIED = Entry(grpc.StatusCode.PERMISSION_DENIED)
_FAILED_PRECONDITION = Entry(grpc.StatusCode.FAILED_PRECONDITION, Detail.STATE)

CATALOGUE: Final[Mapping[ErrorReason.ValueType, Entry]] = {
    reasons.ERROR_REASON_MALFORMED_FIELD: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_NOT_DEALABLE: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_PRESET_LOCKED: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_UNKNOWN_PRESET: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_PAGE_TOKEN_INVALID: _INVALID_ARGUMENT,
    reasons.ERROR_REASON_REQUEST_ID_REUSED: Entry(grpc.StatusCode.ALREADY_EXISTS),
    reasons.ERROR_REASON_TOKEN_MISSING: _UNAUTHENTICATED,
    reasons.ERROR_REASON_TOKEN_INVALID: _UNAUTHENTICATED,
    reasons.ERROR_REASON_TOKEN_EXPIRED: _UNAUTHENTICATED,
    reasons.ERROR_REASON_TOKEN_KEYS_STALE: Entry(grpc.StatusCode.UNAVAILABLE, Detail.RETRY, 5.0),
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
    reasons.ERROR_REASON_REMOVED_FROM_TABLE: _PERMISSION_DENIED,
    reasons.ERROR_REASON_PLAYER_NOT_SEATED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NOT_INVITED: _PERMISSION_DENIED,
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
    reasons.ERROR_REASON_TOO_MANY_SEATS: Entry(grpc.StatusCode.RESOURCE_EXHAUSTED, Detail.QUOTA),
    reasons.ERROR_REASON_SLOW_WATCHER: Entry(grpc.StatusCode.RESOURCE_EXHAUSTED, Detail.RETRY, 0.1),
    reasons.ERROR_REASON_LOG_CHANGED: Entry(grpc.StatusCode.ABORTED),
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
    reasons.ERROR_REASON_MATCH_NOT_REVEALING: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_NO_SECRET_PROMISED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_SECRET_DOES_NOT_FIT: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_ALREADY_REVEALED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_SEATING_SUSPENDED: Entry(
        grpc.StatusCode.FAILED_PRECONDITION, Detail.STATE_AND_RETRY, 60.0
    ),
    reasons.ERROR_REASON_OPENING_COINS_LOCKED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_OWN_GRANT: _PERMISSION_DENIED,
    reasons.ERROR_REASON_GRANT_LIMIT_REACHED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_ACCESS_NOT_RECORDED: _PERMISSION_DENIED,
    reasons.ERROR_REASON_CORRECTION_OVER_BANK: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_GRANT_NOT_FOUND: Entry(grpc.StatusCode.NOT_FOUND, Detail.RESOURCE),
    reasons.ERROR_REASON_GRANT_CLOSED: _FAILED_PRECONDITION,
    reasons.ERROR_REASON_FEED_POSITION_INVALID: _INVALID_ARGUMENT,
}

SERVER_FAULTS: Final = frozenset({reasons.ERROR_REASON_INTERNAL, reasons.ERROR_REASON_LOG_CORRUPT})
"""Reasons that are faults of the server. Clients must not retry, and operators are alerted."""

FLOODS: Final = frozenset(
    {
        reasons.ERROR_REASON_RATE_LIMITED,
        reasons.ERROR_REASON_OVERLOADED,
        reasons.ERROR_REASON_DRAINING,
    }
)
"""Reasons that come in floods. Their log lines have level `debug`, to not add to the load."""


@cache
def reason_name(reason: ErrorReason.ValueType) -> str:
    """Return the name of a reason as ErrorInfo has it: without `ERROR_REASON_`."""
    return ErrorReason.Name(reason).removeprefix("ERROR_REASON_")


@cache
def text_key(reason: ErrorReason.ValueType) -> str:
    """Return the key of a reason's text in locale/*/errors.ftl."""
    return reason_name(reason).lower().replace("_", "-")
