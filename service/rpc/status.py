"""Turn a refusal into the `google.rpc.Status` that the caller gets."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status

from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason
from service.rpc.catalogue import CATALOGUE, Detail, reason_name, text_key
from service.text.localisation import LANGUAGES, Texts

ERROR_DOMAIN: Final = "durak.v1"
STATUS_KEY: Final = "grpc-status-details-bin"
"""The key of the trailing metadata that carries the serialized Status."""

_RESOURCES: Final[Mapping[ErrorReason.ValueType, tuple[str, str]]] = {
    reasons.ERROR_REASON_MATCH_NOT_FOUND: ("durak.v1.Match", "match_id"),
    reasons.ERROR_REASON_PUZZLE_NOT_FOUND: ("durak.v1.Puzzle", "puzzle_id"),
    reasons.ERROR_REASON_CHECKPOINT_NOT_FOUND: ("durak.v1.Checkpoint", "tree_size"),
    reasons.ERROR_REASON_DISPUTE_NOT_FOUND: ("durak.v1.Dispute", "dispute_id"),
    reasons.ERROR_REASON_GRANT_NOT_FOUND: ("durak.v1.Grant", "grant_id"),
}
"""Reason → the type of the missing resource, and the metadata key that names it."""


@cache
def texts() -> Texts:
    """Return the sentences for the player, by `text_key`."""
    return Texts("errors")


def status_of(refusal: Refusal, language: str, retry_after_seconds: float | None = None) -> Status:
    """Return the status that the caller gets, in one of LANGUAGES.

    Raises KeyError if the reason is not in the catalogue.
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
    """Return the details that the catalogue promises, except ErrorInfo and LocalizedMessage."""
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
            return [_precondition_failure(refusal, message)]
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
        case Detail.STATE_AND_RETRY:
            return [_precondition_failure(refusal, message), _retry_info(retry_after_seconds)]


def _precondition_failure(refusal: Refusal, message: str) -> error_details_pb2.PreconditionFailure:
    state = error_details_pb2.PreconditionFailure.Violation(
        type=reason_name(refusal.reason),
        subject=refusal.metadata.get("match_id", "match"),
        description=message,
    )
    return error_details_pb2.PreconditionFailure(violations=[state])


def _quota_failure(refusal: Refusal, message: str) -> error_details_pb2.QuotaFailure:
    subject = refusal.metadata.get("quota", "caller")
    return error_details_pb2.QuotaFailure(
        violations=[error_details_pb2.QuotaFailure.Violation(subject=subject, description=message)]
    )


def _retry_info(seconds: float) -> error_details_pb2.RetryInfo:
    delay = Duration()
    delay.FromMicroseconds(max(1, round(seconds * 1_000_000)))
    return error_details_pb2.RetryInfo(retry_delay=delay)
