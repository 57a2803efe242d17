"""Page tokens: the place of the last row of a page, bound to the filters of the list."""

import base64
import binascii
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

from domain.match.refusal import FieldFault
from durak.v1 import errors_pb2 as reasons
from eventstore import PageKey
from service.rpc.errors import Refused, refuse

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_PLACE_BYTES: Final = 8 + 16
_TIME_US_MAX: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_CHECK_BYTES: Final = 8
_NUMBER_BYTES: Final = 8
_NUMBER_MAX: Final = 2**63 - 1
"""The largest `bigint` of the store."""


def seal(place: bytes, filters: bytes) -> str:
    """Return the token of a place in the list with these filters."""
    return base64.urlsafe_b64encode(place + _check(place, filters)).decode()


def unseal(token: str, filters: bytes) -> bytes:
    """Return the place in a token.

    Raises Refused PAGE_TOKEN_INVALID if `seal` did not make it with these filters.
    """
    try:
        data = base64.b64decode(token, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        data = b""
    place, check = data[:-_CHECK_BYTES], data[-_CHECK_BYTES:]
    if not place or check != _check(place, filters):
        raise token_invalid()
    return place


def token_invalid() -> Refused:
    """Return the refusal of a token that does not come from a page of the list."""
    fault = FieldFault("page_token", "is not from a page of this list")
    return refuse(reasons.ERROR_REASON_PAGE_TOKEN_INVALID, fault)


def _check(place: bytes, filters: bytes) -> bytes:
    """Return a checksum. It detects mistakes, not forgery.

    A forged place of the right shape does no harm. The reader must check the shape.
    """
    return sha256(b"durak.v1.page" + place + filters).digest()[:_CHECK_BYTES]


def seal_number(number: int, filters: bytes) -> str:
    """Return the token of the page after a row, for a list in the order of numbers."""
    return seal(number.to_bytes(_NUMBER_BYTES), filters)


def unseal_number(token: str, filters: bytes) -> int:
    """Return the number of the last row of the previous page. Raises Refused PAGE_TOKEN_INVALID."""
    place = unseal(token, filters)
    number = int.from_bytes(place)
    if len(place) != _NUMBER_BYTES or number > _NUMBER_MAX:
        raise token_invalid()
    return number


def seal_time(last: PageKey, filters: bytes) -> str:
    """Return the token of the page after a row, for a list in the order of time, newest first."""
    time_us = (last.opened_at - _EPOCH) // _MICROSECOND
    return seal(time_us.to_bytes(8) + last.match_id.bytes, filters)


def unseal_time(token: str, filters: bytes) -> PageKey:
    """Return the key of the last row of the previous page. Raises Refused PAGE_TOKEN_INVALID."""
    place = unseal(token, filters)
    time_us = int.from_bytes(place[:8])
    if len(place) != _PLACE_BYTES or time_us > _TIME_US_MAX:
        raise token_invalid()
    return PageKey(_EPOCH + time_us * _MICROSECOND, UUID(bytes=place[8:]))
