"""Checks of the fields of AuditService's requests; see fields.py."""

from datetime import UTC, datetime
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from durak.v1 import audit_service_pb2 as api
from service.rpc.validation import Faults

_PAGE_RECORDS: Final = 500
RECORDS_LIMIT: Final = 1_000
TREE_SIZE_LIMIT: Final = 2**62

TIME_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
TIME_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)

_OfMatch = (
    api.GetStateAtRequest
    | api.VerifyMatchRequest
    | api.ExportMatchRequest
    | api.GetInclusionProofRequest
)


def read_events(request: api.ReadEventsRequest) -> tuple[bytes, int]:
    """Check the fields; return the match id and the size of the page."""
    faults = Faults()
    match_id = faults.uuid("match_id", request.match_id)
    faults.not_negative("after_version", request.after_version)
    size = faults.page(request, default=_PAGE_RECORDS, limit=RECORDS_LIMIT)
    faults.check()
    return match_id, size


def of_match(request: _OfMatch) -> bytes:
    """The match id; a tree size is checked where there is one."""
    faults = Faults()
    match_id = faults.uuid("match_id", request.match_id)
    if isinstance(request, api.GetStateAtRequest) and request.HasField("version"):
        faults.version("version", request.version)
    if isinstance(request, api.GetInclusionProofRequest):
        faults.at_most("tree_size", request.tree_size, TREE_SIZE_LIMIT)
    faults.check()
    return match_id


def get_checkpoint(request: api.GetCheckpointRequest) -> None:
    """Check the tree sizes."""
    faults = Faults()
    faults.at_most("tree_size", request.tree_size, TREE_SIZE_LIMIT)
    faults.at_most("since_tree_size", request.since_tree_size, TREE_SIZE_LIMIT)
    faults.check()


def verify_payouts(request: api.VerifyPayoutsRequest) -> tuple[datetime, datetime]:
    """The span of time; open ends are before and after everything."""
    faults = Faults()
    since, before = TIME_FIRST, TIME_LAST
    if request.HasField("start_time"):
        since = _time(faults, "start_time", request.start_time)
    if request.HasField("end_time"):
        before = _time(faults, "end_time", request.end_time)
    faults.check()
    return since, before


def _time(faults: Faults, path: str, time: Timestamp) -> datetime:
    try:
        found = time.ToDatetime(UTC)
    except (ValueError, OverflowError):
        found = TIME_LAST
    if not TIME_FIRST <= found < TIME_LAST:
        faults.add(path, "must be a time from 1970 to 9998")
    return found
