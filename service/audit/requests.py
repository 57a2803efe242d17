"""Check the fields of AuditService's requests. See `service.rpc.validation`."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from durak.v1 import audit_service_pb2 as api
from durak.v1.administration_pb2 import AdministrativeKind
from eventstore.administration import ADMINISTRATION_ID
from eventstore.checkpoints import LeafKind
from service.rpc.validation import Faults

RECORDS_MAX: Final = 1_000
TREE_SIZE_MAX: Final = 2**62
TIME_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
TIME_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)
_RECORDS_DEFAULT: Final = 500
_ADMINISTRATIVE_KINDS: Final = frozenset(AdministrativeKind.values())


def read_events(request: api.ReadEventsRequest) -> tuple[UUID, int]:
    """Return the match id and the size of the page."""
    faults = Faults()
    match_id = faults.uuid("match_id", request.match_id)
    faults.not_negative("after_version", request.after_version)
    size = faults.page(request, default=_RECORDS_DEFAULT, limit=RECORDS_MAX)
    faults.check()
    return UUID(bytes=match_id), size


def get_state_at(request: api.GetStateAtRequest) -> UUID:
    """Return the match id."""
    faults = Faults()
    match_id = faults.uuid("match_id", request.match_id)
    if request.HasField("version"):
        faults.version("version", request.version)
    faults.check()
    return UUID(bytes=match_id)


def of_match(request: api.VerifyMatchRequest | api.ExportMatchRequest) -> UUID:
    """Return the match id."""
    faults = Faults()
    match_id = faults.uuid("match_id", request.match_id)
    faults.check()
    return UUID(bytes=match_id)


def get_checkpoint(request: api.GetCheckpointRequest) -> int | None:
    """Return the tree size of the checkpoint; None for the newest."""
    faults = Faults()
    size = _tree_size(faults, request)
    faults.at_most("since_tree_size", request.since_tree_size, TREE_SIZE_MAX)
    faults.check()
    return size


def get_inclusion_proof(
    request: api.GetInclusionProofRequest,
) -> tuple[LeafKind, UUID, int | None]:
    """Return the kind and id of the stream, and the tree size of the checkpoint; None: newest."""
    faults = Faults()
    kind, stream_id = LeafKind.ADMINISTRATION, ADMINISTRATION_ID.bytes
    if bool(request.match_id) + bool(request.dispute_id) + request.administrative_log > 1:
        faults.add("match_id", "set exactly one of match_id, dispute_id and administrative_log")
    elif request.dispute_id:
        kind, stream_id = LeafKind.DISPUTE, faults.uuid("dispute_id", request.dispute_id)
    elif not request.administrative_log:
        kind, stream_id = LeafKind.MATCH, faults.uuid("match_id", request.match_id)
    size = _tree_size(faults, request)
    faults.check()
    return kind, UUID(bytes=stream_id), size


def open_match(request: api.OpenMatchRequest) -> tuple[UUID, bytes]:
    """Return the match id and the request id."""
    faults = Faults()
    request_id = faults.uuid("request_id", request.request_id)
    match_id = faults.uuid("match_id", request.match_id)
    faults.reason("reason", request.reason)
    faults.check()
    return UUID(bytes=match_id), request_id


def list_administrative_events(request: api.ListAdministrativeEventsRequest) -> int:
    """Check the fields; return the size of the page."""
    faults = Faults()
    if request.actor_id:
        faults.player("actor_id", request.actor_id)
    faults.known("kind", request.kind, _ADMINISTRATIVE_KINDS)
    size = faults.page(request)
    faults.check()
    return size


def _tree_size(
    faults: Faults, request: api.GetCheckpointRequest | api.GetInclusionProofRequest
) -> int | None:
    faults.at_most("tree_size", request.tree_size, TREE_SIZE_MAX)
    return request.tree_size if request.HasField("tree_size") else None


def verify_payouts(request: api.VerifyPayoutsRequest) -> tuple[datetime, datetime]:
    """Return the start and the end of the time span. Without a limit it is open on that side."""
    faults = Faults()
    since, before = TIME_FIRST, TIME_LAST
    if request.HasField("start_time"):
        since = _time(faults, "start_time", request.start_time)
    if request.HasField("end_time"):
        before = _time(faults, "end_time", request.end_time)
    faults.check()
    return since, before


def list_flags(request: api.ListFlagsRequest) -> tuple[int, datetime, datetime]:
    """Return the size of the page, and the start and the end of the time span."""
    faults = Faults()
    if request.kind not in api.FlagKind.values() or not request.kind:
        faults.add("kind", "must be a kind of flag")
    if request.player_id:
        faults.player("player_id", request.player_id)
    size = faults.page(request)
    since, before = TIME_FIRST, TIME_LAST
    if request.HasField("start_time"):
        since = _time(faults, "start_time", request.start_time)
    if request.HasField("end_time"):
        before = _time(faults, "end_time", request.end_time)
    faults.check()
    return size, since, before


def _time(faults: Faults, path: str, time: Timestamp) -> datetime:
    try:
        found = time.ToDatetime(UTC)
    except (ValueError, OverflowError):
        found = TIME_LAST
    if not TIME_FIRST <= found < TIME_LAST:
        faults.add(path, "must be a time from 1970 to 9998")
    return found
