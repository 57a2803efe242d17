"""Page tokens: a place comes back as it was, and a forged one does not reach the store."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from durak.v1.errors_pb2 import ERROR_REASON_PAGE_TOKEN_INVALID
from eventstore import PageKey
from service.rpc.errors import Refused
from service.rpc.page_tokens import seal, seal_number, seal_time, unseal_number, unseal_time

FILTERS = b"filters"
MATCH_ID = UUID(int=7)


@pytest.mark.parametrize("number", [0, 1, 2**63 - 1])
def test_a_number_comes_back(number: int) -> None:
    assert unseal_number(seal_number(number, FILTERS), FILTERS) == number


@pytest.mark.parametrize("opened_at", [datetime(1970, 1, 1, tzinfo=UTC), datetime.now(UTC)])
def test_a_time_comes_back(opened_at: datetime) -> None:
    last = PageKey(opened_at, MATCH_ID)
    assert unseal_time(seal_time(last, FILTERS), FILTERS) == last


# The checksum is public, so anyone can make a token of any place.


@pytest.mark.parametrize("place", [b"\0", bytes(7), bytes(9), b"\x80" + bytes(7), b"\xff" * 8])
def test_a_forged_number_is_refused(place: bytes) -> None:
    with pytest.raises(Refused) as caught:
        unseal_number(seal(place, FILTERS), FILTERS)
    assert caught.value.refusal.reason == ERROR_REASON_PAGE_TOKEN_INVALID


@pytest.mark.parametrize("place", [b"\0", bytes(23), bytes(25), b"\xff" * 24, b"\x7f" * 24])
def test_a_forged_time_is_refused(place: bytes) -> None:
    with pytest.raises(Refused) as caught:
        unseal_time(seal(place, FILTERS), FILTERS)
    assert caught.value.refusal.reason == ERROR_REASON_PAGE_TOKEN_INVALID
