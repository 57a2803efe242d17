"""The projection of ended matches into series and ratings (R13).

It counts matches in the order in which they ended. Every replica runs it, and the database lets one
at a time work. The result depends only on the log and the rating settings (docs/adr/0008).
"""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

from google.protobuf.message import DecodeError

from domain.endgame.forecast import left_losing
from domain.match.fold import CorruptLogError
from domain.rating import (
    Rating,
    RatingSettings,
    SeatOccupant,
    count_leaving,
    has_lost,
    has_won,
    is_rated,
    rate,
)
from durak.v1.match_service_pb2 import MatchSummary
from durak.v1.settings_pb2 import BotLevel
from eventstore import EventStore, first_hash
from eventstore.read_models.standings import (
    PlayerNumbers,
    SeatStanding,
    StandingsUpdate,
    UncountedMatch,
)
from service.config import Config
from service.rpc.failures import Failures
from service.rpc.set_aside import SetAside
from service.stored_records import read_records
from service.times import Now, system_now_us, to_datetime
from service.watchdog import progress, rest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Scorekeeper:
    """The projection: it counts every ended match once, about two seconds after its end."""

    def __init__(
        self, store: EventStore, config: Config, failures: Failures, now_us: Now = system_now_us
    ) -> None:
        """Count the matches of this store with the rating settings of `config`."""
        self.set_aside: SetAside[UUID] = SetAside("standings", failures)
        """Matches with a summary that is no message. They are counted once it is repaired."""
        self._store = store
        self._failures = failures
        self._config = config
        self._now_us = now_us
        self._numbers = numbers_of(config)
        self._counted_players: set[str] = set()
        """The players of the last update, to notify once it is durable."""

    async def run(self) -> None:
        """Count until cancelled. Raises StoreError."""
        settle = timedelta(seconds=self._config.standings_settle_seconds)
        while True:
            await self.count(to_datetime(self._now_us()) - settle)
            await rest(self._config.standings_interval_seconds)

    async def count(self, until: datetime, *, wait: bool = False) -> int:
        """Count all matches that ended by `until`. Returns how many.

        While another replica counts, it does nothing, or with `wait` waits for its turn.
        """
        total = 0
        more: int | None = 1
        while more:
            progress()
            more = await self._store.standings.update(
                lambda update: self._count_some(update, until), wait=wait
            )
            self._store.news.notify(self._counted_players)
            self._counted_players = set()
            total += more or 0
        return total

    async def _count_some(self, update: StandingsUpdate, until: datetime) -> int:
        aside = len(self.set_aside)
        ended = await update.take_uncounted(
            until,
            self._config.standings_batch_matches,
            self._is_readable,
            self.set_aside.list_waiting(),
        )
        if not ended:
            return max(0, len(self.set_aside) - aside)  # there can be more after those set aside
        matches = [MatchSummary.FromString(match.summary) for match in ended]
        players = {seat.player_id for match in matches for seat in match.seats if seat.player_id}
        numbers = await update.read_ratings(players)
        ratings = {player: Rating(*row) for player, row in numbers.items()}
        seats: list[SeatStanding] = []
        for when, match in zip(ended, matches, strict=True):
            if is_rated(match.result):
                seated = [SeatOccupant(seat.player_id, seat.bot_level) for seat in match.seats]
                day = day_of(when.ended_at)
                ratings |= rate(match.result, seated, ratings, day, self._numbers)
                seats += _seats(when, match, ratings)
            elif leaver := leaver_of(match):
                losing = await self._left_losing(when.match_id)
                ratings |= count_leaving(leaver, ratings, self._numbers, losing=losing)
                seats.append(_leaver_seat(when, match, ratings[leaver], losing=losing))
        await update.add(ended, seats)
        self._counted_players = {seat.player for seat in seats if seat.player is not None}
        return len(ended)

    async def _left_losing(self, match_id: UUID) -> bool:
        """Return whether the player left a lost position. If the log is damaged: False.

        A damaged log is reported. `durak rebuild` counts the match again once it is repaired.
        """
        stored = await self._store.read(match_id)
        try:
            records = read_records(stored, first_hash(match_id))
            return await asyncio.to_thread(left_losing, records)
        except CorruptLogError as error:
            self._failures.report("standings", error, match_id=str(match_id))
            return False

    def _is_readable(self, match: UncountedMatch) -> bool:
        """Return whether the summary of a match is a message. If not, set the match aside."""
        try:
            MatchSummary.FromString(match.summary)
        except DecodeError as error:
            self.set_aside.add(match.match_id, error)
            return False
        self.set_aside.remove(match.match_id)
        return True


def numbers_of(config: Config) -> RatingSettings:
    """Return the rating settings."""
    return RatingSettings(
        initial_points=config.rating_initial_points,
        match_points=config.rating_match_points_max,
        scale_points=config.rating_scale_points,
        bot_points={
            BotLevel.BOT_LEVEL_EASY: config.rating_easy_bot_points,
            BotLevel.BOT_LEVEL_NORMAL: config.rating_normal_bot_points,
            BotLevel.BOT_LEVEL_HARD: config.rating_hard_bot_points,
        },
        bot_day_points=config.rating_bot_day_points_max,
    )


def day_of(time: datetime) -> int:
    """Return the day (UTC) of a time, counted from 1970-01-01."""
    return (time - _EPOCH).days


def _seats(
    ended: UncountedMatch, match: MatchSummary, after: Mapping[str, Rating]
) -> Iterator[SeatStanding]:
    """Yield the result of a rated match for each seat, with the ratings after it."""
    series_id = UUID(match.settings.series_id) if match.settings.series_id else None
    for result in match.result.results:
        player = match.seats[result.seat].player_id or None
        yield SeatStanding(
            match_id=ended.match_id,
            seat=result.seat,
            ended_at=ended.ended_at,
            series_id=series_id,
            player=player,
            won=has_won(match.result, result),
            lost=has_lost(match.result, result),
            after=PlayerNumbers(*after[player]) if player else None,
        )


def leaver_of(match: MatchSummary) -> str:
    """Return the player who left a match (R10.4), or an empty text."""
    result = match.result
    return match.seats[result.leaver].player_id if result.HasField("leaver") else ""


def _leaver_seat(
    ended: UncountedMatch, match: MatchSummary, after: Rating, *, losing: bool
) -> SeatStanding:
    return SeatStanding(
        match_id=ended.match_id,
        seat=match.result.leaver,
        ended_at=ended.ended_at,
        series_id=None,
        player=leaver_of(match),
        won=False,
        lost=False,
        after=PlayerNumbers(*after),
        abandoned=True,
        left_losing=losing,
    )
