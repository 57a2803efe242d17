"""Check the fields of DisputeService's requests. See `service.rpc.validation`."""

from typing import Final, NamedTuple
from uuid import UUID

from durak.v1 import dispute_service_pb2 as api
from durak.v1.dispute_service_pb2 import CorrectionDecision, DisputeStatus, Ruling
from service.rpc.validation import SEATS_MAX, Faults

CORRECTION_COINS_MAX: Final = 2**40

_STATUSES: Final = frozenset(DisputeStatus.values())
_DECISIONS: Final = frozenset(CorrectionDecision.values()) - {0}
_RULINGS: Final = frozenset(Ruling.values()) - {0}


class Target(NamedTuple):
    """The dispute that a command is for, its request id, and the version it insists on, if any."""

    dispute_id: UUID
    request_id: bytes
    expected_version: int | None = None


def open_dispute(request: api.OpenDisputeRequest) -> tuple[bytes, UUID]:
    """Return the request id and the match id."""
    faults = Faults()
    request_id = faults.uuid("request_id", request.request_id)
    match_id = faults.uuid("match_id", request.match_id)
    match request.WhichOneof("about"):
        case None:
            faults.add("about", "is required: a version, or the payout")
        case "version":
            faults.version("version", request.version)
    faults.reason("reason", request.reason)
    faults.check()
    return request_id, UUID(bytes=match_id)


def get_dispute(request: api.GetDisputeRequest) -> UUID:
    """Return the dispute id."""
    faults = Faults()
    dispute_id = faults.uuid("dispute_id", request.dispute_id)
    faults.check()
    return UUID(bytes=dispute_id)


def list_disputes(request: api.ListDisputesRequest) -> tuple[int, UUID | None]:
    """Return the size of the page, and the match id if the list is filtered by one."""
    faults = Faults()
    faults.known("status", request.status, _STATUSES)
    match_id = faults.uuid("match_id", request.match_id) if request.match_id else None
    if request.opened_by:
        faults.player("opened_by", request.opened_by)
    size = faults.page(request)
    faults.check()
    return size, None if match_id is None else UUID(bytes=match_id)


def rule_on_dispute(request: api.RuleOnDisputeRequest) -> Target:
    """Return the target. The domain checks whether the corrections fit the match."""
    faults = Faults()
    faults.known("ruling", request.ruling, _RULINGS)
    if len(request.corrections) > SEATS_MAX:
        faults.add("corrections", f"must be at most {SEATS_MAX}")
    for at, correction in enumerate(request.corrections):
        faults.player(f"corrections[{at}].player_id", correction.player_id)
        faults.at_most(f"corrections[{at}].coins", abs(correction.coins), CORRECTION_COINS_MAX)
    return _target(faults, request)


def decide_correction(request: api.DecideCorrectionRequest) -> Target:
    """Return the target."""
    faults = Faults()
    faults.known("decision", request.decision, _DECISIONS)
    return _target(faults, request)


def _target(
    faults: Faults, request: api.RuleOnDisputeRequest | api.DecideCorrectionRequest
) -> Target:
    """Check the fields that both decisions have, and return the target."""
    dispute_id = faults.uuid("dispute_id", request.dispute_id)
    request_id = faults.uuid("request_id", request.request_id)
    expected_version = faults.expected_version(request)
    faults.reason("reason", request.reason)
    faults.check()
    return Target(UUID(bytes=dispute_id), request_id, expected_version)
