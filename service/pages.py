"""Page tokens of ListMatches: where the next page begins, for the filters of the page before."""

import base64
import binascii
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

from domain.refusal import FieldFault
from durak.v1 import errors_pb2 as reasons
from durak.v1.match_service_pb2 import ListMatchesRequest
from eventstore import ListedMatch, PageKey
from service.errors import refuse

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SIZE_BYTES: Final = 8 + 16 + 8


def make_token(last: ListedMatch, request: ListMatchesRequest, caller_id: str) -> str:
    """The token of the page after the row `last`."""
    opened_us = (last.opened_at - _EPOCH) // _MICROSECOND
    place = opened_us.to_bytes(8) + last.match_id.bytes
    return base64.urlsafe_b64encode(place + _binding(place, request, caller_id)).decode()


def read_token(request: ListMatchesRequest, caller_id: str) -> PageKey | None:
    """Where the page asked for begins; None is the first. Raises Refused PAGE_TOKEN_INVALID."""
    if not request.page_token:
        return None
    try:
        data = base64.b64decode(request.page_token, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        data = b""
    place = data[:24]
    if len(data) != _SIZE_BYTES or data[24:] != _binding(place, request, caller_id):
        fault = FieldFault("page_token", "is not from a page of this list")
        raise refuse(reasons.ERROR_REASON_PAGE_TOKEN_INVALID, fault)
    opened_at = _EPOCH + int.from_bytes(place[:8]) * _MICROSECOND
    return PageKey(opened_at, UUID(bytes=place[8:]))


def _binding(place: bytes, request: ListMatchesRequest, caller_id: str) -> bytes:
    """A checksum of place and filters: it guards against mistakes; a forged place does no harm."""
    whose = caller_id.encode() if request.mine else b""
    filters = bytes((request.phase, request.mine)) + whose
    return sha256(b"durak.v1.page" + place + filters).digest()[:8]
