"""The news of a match for one player, computed from the records of a command and its outcome.

Everything here follows from the log, so a feed that is read from it later has the same news.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from domain.match.fold import Match
from domain.match.view import seats_in, timestamp
from durak.v1 import feed_service_pb2 as api
from durak.v1.events_pb2 import Record
from durak.v1.table_pb2 import PHASE_ENDED
from service.matches.lobby import concerned_by


class Moment(NamedTuple):
    """What the news of the next command need of a match as it was before."""

    version: int
    seats: tuple[str, ...]
    """The player of each seat. Empty: a bot or nobody."""
    on_clock: frozenset[int]
    concerned: frozenset[str]
    """The players whose match it is: see `concerned_by`. After its end it is nobody's."""


def moment_of(match: Match) -> Moment:
    """Return the moment of a match. A match of version 0 has nobody."""
    if not match.version:
        return Moment(0, (), frozenset(), frozenset())
    is_over = match.phase == PHASE_ENDED
    return Moment(
        match.version,
        tuple("" if seat is None else seat.player_id for seat in match.table.seats),
        frozenset(seats_in(match.on_clock())),
        frozenset() if is_over else frozenset(concerned_by(match)),
    )


def news_of(
    records: Sequence[Record], before: Moment, after: Moment, match: Match, player_id: str
) -> list[api.PlayerNews]:
    """Return the news of a command for a player. The match is as the command left it."""
    if player_id not in before.concerned and player_id not in after.concerned:
        return []
    news = []
    for record in records:
        if record.version > before.version:
            one = _news(record, before, match, player_id)
            if one is not None:
                one.event_time.CopyFrom(record.event_time)
                news.append(one)
    if _has_new_turn(before, after, match, player_id):
        news.append(your_turn(match))
    return news


def your_turn(match: Match) -> api.PlayerNews:
    """Return the news that a match waits for the reader."""
    turn = api.YourTurn(match_id=_id(match), version=match.version)
    deadline_us = match.deadline_us()
    if deadline_us is not None:
        turn.deadline_time.CopyFrom(timestamp(deadline_us))
    return api.PlayerNews(event_time=match.last_record.event_time, your_turn=turn)


def is_on_clock(moment: Moment, player_id: str) -> bool:
    """Return whether the table waits for a player."""
    return player_id in moment.seats and moment.seats.index(player_id) in moment.on_clock


def _has_new_turn(before: Moment, after: Moment, match: Match, player_id: str) -> bool:
    """Return whether the table waits for the player, with another deadline than before."""
    if not is_on_clock(after, player_id):
        return False
    return match.clock_record.version > before.version or not is_on_clock(before, player_id)


def _news(record: Record, before: Moment, match: Match, player_id: str) -> api.PlayerNews | None:
    event, version, match_id = record.event, record.version, _id(match)
    kind = event.WhichOneof("kind")
    table = match.table
    if kind == "table_opened" and player_id in table.reserved_for:
        offered = api.RematchOffered(
            match_id=match_id,
            rematch_of=table.rematch_of,
            seat=table.reserved_for.index(player_id),
            version=version,
        )
        return api.PlayerNews(rematch_offered=offered)
    if kind == "seat_taken":
        taken = api.TableSeatTaken(
            match_id=match_id,
            seat=event.seat_taken.seat,
            player_id=event.seat_taken.player_id,
            display_name=event.seat_taken.display_name,
            bot_level=event.seat_taken.bot_level,
            version=version,
            is_rematch=bool(table.rematch_of),
        )
        return api.PlayerNews(seat_taken=taken)
    if kind == "seat_vacated":
        vacated = api.TableSeatVacated(
            match_id=match_id,
            seat=event.seat_vacated.seat,
            player_id=before.seats[event.seat_vacated.seat],
            removed=event.seat_vacated.removed,
            version=version,
        )
        return api.PlayerNews(seat_vacated=vacated)
    seat = table.seat_of(player_id)
    if kind == "dealt":
        return api.PlayerNews(dealt=api.TableDealt(match_id=match_id, seat=seat, version=version))
    if kind == "finished":
        over = api.MatchOver(match_id=match_id, result=event.finished, seat=seat, version=version)
        return api.PlayerNews(match_over=over)
    return None


def _id(match: Match) -> str:
    return str(UUID(bytes=match.match_id))
