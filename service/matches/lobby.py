"""The lobby: the row that lists show of each match, and pages of these rows."""

from collections import Counter
from dataclasses import replace
from typing import Final
from uuid import UUID

from google.protobuf.message import DecodeError

from domain.match.fold import Match
from domain.match.view import match_summary
from domain.rating import is_rated
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import PHASE_ENDED, Phase
from eventstore import EventStore, LobbyRow, PageKey
from eventstore.read_models.lobby import ListedMatch
from service.matches import requests
from service.rpc.page_tokens import seal_time, unseal_time
from service.rpc.set_aside import SetAside
from service.times import to_datetime

_LISTED: Final = frozenset({"table_opened", "seat_taken", "seat_vacated", "dealt", "finished"})


_READS_MAX: Final = 5
"""Queries for one page. A page with many private matches of others is shorter instead."""
_NEXT_ROWS: Final = 100
"""Rows of the second and later queries. One opener may have many tables in a row."""
_OPENERS_MIN: Final = 5
"""Openers that a page has room for: one of them gets this part of it."""


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


def concerned_by(match: Match) -> set[str]:
    """Return the players whose table a match is: owner, seated players, those of a rematch.

    Of an ended match too. Before its first event it is nobody's.
    """
    if not match.version:
        return set()
    table = match.table
    players = {table.owner_id, *table.reserved_for}
    players.update(seat.player_id for seat in table.seats if seat is not None)
    players.discard("")  # bots
    return players


def with_news(row: LobbyRow, before: Match, after: Match) -> LobbyRow:
    """Return the row with the players who get news of a command: those new to the match."""
    had, has = concerned_by(before), concerned_by(after)
    invited = () if before.version else after.table.invited
    return replace(
        row,
        concerns=tuple(sorted(has - had)),
        invites=tuple(sorted(set(invited) - has)),
    )


async def list_matches(
    store: EventStore,
    request: api.ListMatchesRequest,
    caller_id: str,
    set_aside: SetAside[UUID],
) -> api.ListMatchesResponse:
    """Return a page of matches that the caller may find, newest first, and of many openers.

    Rows that are no messages are left out, and set aside so that each is reported once.

    Raises Refused MALFORMED_FIELD.
    """
    size = requests.list_matches(request)
    filters = _filters(request, caller_id)
    token = request.page_token
    after = unseal_time(token, filters) if token else None
    turns = _Turns(request, caller_id, size)
    matches: list[api.MatchSummary] = []
    has_more = False
    rows_max = size
    for _ in range(_READS_MAX):
        rows = await store.lobby.list_matches(
            statuses=_statuses(request),
            player=caller_id if request.mine else None,
            opened_by=request.opened_by or None,
            after=after,
            limit=rows_max + 1,  # one more shows whether there is another page
        )
        has_more = False
        for at, row in enumerate(rows[:rows_max], start=1):
            after = _place(row)
            has_more = len(rows) > at
            if turns.is_over(row.opened_by):
                continue
            summary = _read_summary(row, set_aside)
            if summary is not None and may_find(summary, caller_id):
                matches.append(summary)
                turns.count(row.opened_by)
            if len(matches) == size:
                break
        if len(matches) == size or not has_more:
            break
        rows_max = max(size, _NEXT_ROWS)
    next_page_token = seal_time(after, filters) if has_more and after is not None else ""
    return api.ListMatchesResponse(matches=matches, next_page_token=next_page_token)


class _Turns:
    """Bounds how many matches of one opener a page shows, so that nobody fills the pages alone.

    The matches of the caller, and lists by seat or opener, have no bound.
    """

    def __init__(self, request: api.ListMatchesRequest, caller_id: str, size: int) -> None:
        self._is_bounded = not (request.mine or request.opened_by)
        self._caller_id = caller_id
        self._most = max(1, size // _OPENERS_MIN)
        self._shown = Counter[str]()

    def is_over(self, opener: str | None) -> bool:
        """Return whether the page has enough matches of this opener."""
        return opener is not None and self._shown[opener] >= self._most

    def count(self, opener: str | None) -> None:
        """Count a match that the page shows."""
        if self._is_bounded and opener is not None and opener != self._caller_id:
            self._shown[opener] += 1


def _read_summary(row: ListedMatch, set_aside: SetAside[UUID]) -> api.MatchSummary | None:
    try:
        summary = api.MatchSummary.FromString(row.summary)
    except DecodeError as error:
        set_aside.add(row.match_id, error)
        return None
    if set_aside:
        set_aside.remove(row.match_id)
    return summary


def may_find(summary: api.MatchSummary, caller_id: str) -> bool:
    """Return whether a match is listed for a caller: always, unless it is private."""
    if not summary.is_private or caller_id == summary.owner_id:
        return True
    if caller_id in summary.invited or caller_id in summary.reserved_for:
        return True
    return any(seat.player_id == caller_id for seat in summary.seats)


def _statuses(request: api.ListMatchesRequest) -> list[int] | None:
    if request.phase:
        return [request.phase]
    return list(Phase.values()) if request.opened_by else None


def _filters(request: api.ListMatchesRequest, caller_id: str) -> bytes:
    mine = caller_id if request.mine else ""
    return bytes((request.phase, request.mine)) + f"{mine} {request.opened_by}".encode()


def _place(row: ListedMatch) -> PageKey:
    return PageKey(row.opened_at, row.match_id)
