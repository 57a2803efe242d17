"""Page tokens: where the next page of a list begins, for the filters of the page before."""

import base64
import binascii
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

from domain.match.refusal import FieldFault
from durak.v1 import errors_pb2 as reasons
from durak.v1.match_service_pb2 import ListMatchesRequest
from eventstore import PageKey
from eventstore.read_models.lobby import ListedMatch
from service.rpc.errors import Refused, refuse

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_PLACE_BYTES: Final = 8 + 16
_LAST_US: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_CHECK_BYTES: Final = 8
_NUMBER_BYTES: Final = 8
_NUMBER_MAX: Final = 2**63 - 1
"""The largest number of the store's."""


def seal(place: bytes, filters: bytes) -> str:
    """The token of a place in a list that was asked for with these filters."""
    return base64.urlsafe_b64encode(place + _check(place, filters)).decode()


def unseal(token: str, filters: bytes) -> bytes:
    """The place in a token. Raises Refused PAGE_TOKEN_INVALID if it was not made so."""
    try:
        data = base64.b64decode(token, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        data = b""
    place, check = data[:-_CHECK_BYTES], data[-_CHECK_BYTES:]
    if not place or check != _check(place, filters):
        raise token_invalid()
    return place


def token_invalid() -> Refused:
    """What a token is answered with that no list has made."""
    fault = FieldFault("page_token", "is not from a page of this list")
    return refuse(reasons.ERROR_REASON_PAGE_TOKEN_INVALID, fault)


def _check(place: bytes, filters: bytes) -> bytes:
    """A checksum: it guards against mistakes, and anyone can forge it.

    A forged place of the right shape does no harm; the shape is for the reader to see to.
    """
    return sha256(b"durak.v1.page" + place + filters).digest()[:_CHECK_BYTES]


def seal_number(number: int, filters: bytes) -> str:
    """The token of the page after a row of a list that is numbered."""
    return seal(number.to_bytes(_NUMBER_BYTES), filters)


def unseal_number(token: str, filters: bytes) -> int:
    """The number of the last row of the page before. Raises Refused PAGE_TOKEN_INVALID."""
    place = unseal(token, filters)
    number = int.from_bytes(place)
    if len(place) != _NUMBER_BYTES or number > _NUMBER_MAX:
        raise token_invalid()
    return number


def seal_time(last: PageKey, filters: bytes) -> str:
    """The token of the page after a row of a list that goes by time, the newest first."""
    time_us = (last.opened_at - _EPOCH) // _MICROSECOND
    return seal(time_us.to_bytes(8) + last.match_id.bytes, filters)


def unseal_time(token: str, filters: bytes) -> PageKey:
    """The last row of the page before. Raises Refused PAGE_TOKEN_INVALID."""
    place = unseal(token, filters)
    time_us = int.from_bytes(place[:8])
    if len(place) != _PLACE_BYTES or time_us > _LAST_US:
        raise token_invalid()
    return PageKey(_EPOCH + time_us * _MICROSECOND, UUID(bytes=place[8:]))


def make_token(last: ListedMatch, request: ListMatchesRequest, caller_id: str) -> str:
    """The token of the page of matches after the row `last`."""
    return seal_time(PageKey(last.opened_at, last.match_id), _filters(request, caller_id))


def read_token(request: ListMatchesRequest, caller_id: str) -> PageKey | None:
    """Where the page of matches asked for begins; None is the first."""
    if not request.page_token:
        return None
    return unseal_time(request.page_token, _filters(request, caller_id))


def _filters(request: ListMatchesRequest, caller_id: str) -> bytes:
    return bytes((request.phase, request.mine)) + (caller_id.encode() if request.mine else b"")
