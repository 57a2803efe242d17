"""The lobby: the row that lists show of each match, and pages of these rows."""

from typing import Final
from uuid import UUID

from google.protobuf.message import DecodeError

from domain.match.fold import Match
from domain.match.view import match_summary
from domain.rating import is_rated
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import PHASE_ENDED
from eventstore import EventStore, LobbyRow, PageKey
from eventstore.read_models.lobby import ListedMatch
from service.matches import requests
from service.rpc.page_tokens import seal_time, unseal_time
from service.rpc.set_aside import SetAside
from service.times import to_datetime

_LISTED: Final = frozenset({"table_opened", "seat_taken", "seat_vacated", "dealt", "finished"})


_READS_MAX: Final = 5
"""Queries for one page. A page with many private matches of others is shorter instead."""


def changes_row(events: list[Event]) -> bool:
    """Return whether these events change what lists show: phase or seats."""
    return not _LISTED.isdisjoint([event.WhichOneof("kind") for event in events])


def lobby_row(match: Match, opened_by: str | None = None) -> LobbyRow:
    """Return what lists of matches, and the standings of ended ones, need of a match.

    `opened_by` is the actor of its first record. It is needed for the first row of a match only,
    and for rows that are rebuilt.
    """
    seats = match.table.seats
    players = [seat.player_id for seat in seats if seat is not None and not seat.is_bot]
    prevented_by = () if match.result is None else match.result.prevented_by
    summary = match_summary(match)
    is_free = not summary.settings.stake_coins
    return LobbyRow(
        status=match.phase,
        opened_at=to_datetime(match.opened_us),
        summary=summary.SerializeToString(),
        players=tuple(players),
        ended_at=to_datetime(match.time_us) if match.phase == PHASE_ENDED else None,
        opened_by=opened_by,
        played_free=is_free and is_rated(summary.result),
        prevented_by=tuple(seat.player_id for it in prevented_by if (seat := seats[it])),
    )


async def list_matches(
    store: EventStore,
    request: api.ListMatchesRequest,
    caller_id: str,
    set_aside: SetAside[UUID],
) -> api.ListMatchesResponse:
    """Return a page of matches that the caller may find, newest first.

    Rows that are no messages are left out, and set aside so that each is reported once.

    Raises Refused MALFORMED_FIELD.
    """
    size = requests.list_matches(request)
    filters = _filters(request, caller_id)
    token = request.page_token
    after = unseal_time(token, filters) if token else None
    matches: list[api.MatchSummary] = []
    has_more = False
    for _ in range(_READS_MAX):
        rows = await store.lobby.list_matches(
            statuses=[request.phase] if request.phase else None,
            player=caller_id if request.mine else None,
            after=after,
            limit=size + 1,  # one more shows whether there is another page
        )
        has_more = False
        for at, row in enumerate(rows[:size], start=1):
            after = _place(row)
            summary = _read_summary(row, set_aside)
            if summary is not None and _may_find(summary, caller_id):
                matches.append(summary)
            has_more = len(rows) > at
            if len(matches) == size:
                break
        if len(matches) == size or not has_more:
            break
    next_page_token = seal_time(after, filters) if has_more and after is not None else ""
    return api.ListMatchesResponse(matches=matches, next_page_token=next_page_token)


def _read_summary(row: ListedMatch, set_aside: SetAside[UUID]) -> api.MatchSummary | None:
    try:
        summary = api.MatchSummary.FromString(row.summary)
    except DecodeError as error:
        set_aside.add(row.match_id, error)
        return None
    if set_aside:
        set_aside.remove(row.match_id)
    return summary


def _may_find(summary: api.MatchSummary, caller_id: str) -> bool:
    """Return whether a match is listed for a caller: always, unless it is private."""
    if not summary.is_private or caller_id == summary.owner_id:
        return True
    if caller_id in summary.invited or caller_id in summary.reserved_for:
        return True
    return any(seat.player_id == caller_id for seat in summary.seats)


def _filters(request: api.ListMatchesRequest, caller_id: str) -> bytes:
    return bytes((request.phase, request.mine)) + (caller_id.encode() if request.mine else b"")


def _place(row: ListedMatch) -> PageKey:
    return PageKey(row.opened_at, row.match_id)
