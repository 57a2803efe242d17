"""Checks of the fields of DisputeService's requests; see fields.py."""

from typing import Final

from durak.v1 import dispute_service_pb2 as api
from durak.v1.dispute_service_pb2 import CorrectionDecision, DisputeStatus, Ruling
from service.rpc.validation import SEATS_MAX, Faults, Target

REASON_LIMIT_CHARS: Final = 2_000
CORRECTION_LIMIT_COINS: Final = 2**40

_STATUSES: Final = frozenset(DisputeStatus.values())
_DECISIONS: Final = frozenset(CorrectionDecision.values()) - {0}
_RULINGS: Final = frozenset(Ruling.values()) - {0}


def open_dispute(request: api.OpenDisputeRequest) -> tuple[bytes, bytes]:
    """The request id and the match id."""
    faults = Faults()
    request_id = faults.uuid("request_id", request.request_id)
    match_id = faults.uuid("match_id", request.match_id)
    match request.WhichOneof("about"):
        case None:
            faults.add("about", "is required: a version, or the payout")
        case "version":
            faults.version("version", request.version)
    _reason(faults, request.reason)
    faults.check()
    return request_id, match_id


def get_dispute(request: api.GetDisputeRequest) -> bytes:
    """The dispute id."""
    faults = Faults()
    dispute_id = faults.uuid("dispute_id", request.dispute_id)
    faults.check()
    return dispute_id


def list_disputes(request: api.ListDisputesRequest) -> tuple[int, bytes | None]:
    """Check the fields; return the size of the page, and the match id if there is one."""
    faults = Faults()
    faults.known("status", request.status, _STATUSES)
    match_id = faults.uuid("match_id", request.match_id) if request.match_id else None
    if request.opened_by:
        faults.player("opened_by", request.opened_by)
    size = faults.page(request)
    faults.check()
    return size, match_id


def rule_on_dispute(request: api.RuleOnDisputeRequest) -> Target:
    """The target, whose match id is the dispute's; whether corrections fit is for the domain."""
    faults = Faults()
    target = _target(faults, request)
    faults.known("ruling", request.ruling, _RULINGS)
    _reason(faults, request.reason)
    if len(request.corrections) > SEATS_MAX:
        faults.add("corrections", f"must be at most {SEATS_MAX}")
    for at, correction in enumerate(request.corrections):
        faults.player(f"corrections[{at}].player_id", correction.player_id)
        faults.at_most(f"corrections[{at}].coins", abs(correction.coins), CORRECTION_LIMIT_COINS)
    faults.check()
    return target


def decide_correction(request: api.DecideCorrectionRequest) -> Target:
    """The target, whose match id is the dispute's."""
    faults = Faults()
    target = _target(faults, request)
    faults.known("decision", request.decision, _DECISIONS)
    _reason(faults, request.reason)
    faults.check()
    return target


def _target(
    faults: Faults, request: api.RuleOnDisputeRequest | api.DecideCorrectionRequest
) -> Target:
    return Target(
        faults.uuid("dispute_id", request.dispute_id),
        faults.uuid("request_id", request.request_id),
        faults.expected_version(request),
    )


def _reason(faults: Faults, reason: str) -> None:
    if not reason.strip():
        faults.add("reason", "is required")
    faults.length("reason", reason, REASON_LIMIT_CHARS)
