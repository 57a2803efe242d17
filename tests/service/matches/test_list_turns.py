"""No player fills the list of matches alone."""

from __future__ import annotations

import pytest

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_WAITING
from tests.service.playing import Player, Playing, new_id, playing, refused

__all__ = ["playing"]


async def all_pages(player: Player, **fields: object) -> list[list[str]]:
    """The ids of each page of a list."""
    pages: list[list[str]] = []
    token = ""
    while True:
        request = api.ListMatchesRequest(page_token=token, **fields)  # type: ignore[arg-type]
        page = await player.call("ListMatches", request)
        pages.append([match.match_id for match in page.matches])
        token = page.next_page_token
        if not token:
            return pages


async def opened(player: Player, number: int) -> list[str]:
    """The ids of new tables, newest first."""
    return [(await player.open()).match_id for _ in range(number)][::-1]


@pytest.mark.parametrize("phase", [0, PHASE_WAITING])
async def test_one_players_tables_leave_room_for_those_of_others(
    playing: Playing, phase: int
) -> None:
    replica = await playing.replica(caller_tables_max=100)
    ann, bob, greedy = [await playing.player(replica, name) for name in ("ann", "bob", "greedy")]
    anns, bobs = await opened(ann, 1), await opened(bob, 1)
    many = await opened(greedy, 60)
    # Without a bound ann's table would be on the seventh page.
    assert await all_pages(ann, phase=phase, page_size=10) == [many[:2] + bobs + anns]
    # The second page has a bound of its own, and its rows are older.
    assert await all_pages(ann, phase=phase, page_size=2) == [[many[0], bobs[0]], anns]
    assert await all_pages(ann, phase=phase, page_size=1) == [[one] for one in many + bobs + anns]
    # The owner sees all, and others do by the filter.
    pages = await all_pages(greedy, phase=phase, page_size=100)
    assert pages == [many + bobs + anns]
    by_opener = await all_pages(ann, phase=phase, opened_by="greedy", page_size=25)
    assert by_opener == [many[:25], many[25:50], many[50:]]


async def test_the_filter_by_opener_goes_with_phase_and_seat(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    third, second, first = await opened(ann, 3)
    await opened(bob, 1)
    cancel = api.CancelTableRequest(match_id=second, request_id=new_id())
    await ann.call("CancelTable", cancel)
    await bob.sit(first)
    assert await all_pages(bob, opened_by="ann") == [[third, second, first]]
    assert await all_pages(bob, opened_by="ann", phase=PHASE_WAITING) == [[third, first]]
    assert await all_pages(bob, opened_by="ann", phase=PHASE_ENDED) == [[second]]
    assert await all_pages(bob, opened_by="ann", mine=True) == [[first]]
    assert await all_pages(bob, opened_by="bob", mine=True) == [[]]
    assert await all_pages(bob, opened_by="nobody") == [[]]
    request = api.ListMatchesRequest(opened_by="ann", page_size=1)
    token = (await bob.call("ListMatches", request)).next_page_token
    async with refused(reasons.ERROR_REASON_PAGE_TOKEN_INVALID):
        other = api.ListMatchesRequest(opened_by="bob", page_size=1, page_token=token)
        await bob.call("ListMatches", other)
    async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
        await bob.call("ListMatches", api.ListMatchesRequest(opened_by="a b"))
