"""StandingsService: series and ratings (R13), for all roles."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from domain.match.table import Seat
from durak.v1 import errors_pb2 as reasons
from durak.v1 import standings_service_pb2 as api
from durak.v1 import standings_service_pb2_grpc as api_grpc
from durak.v1.settings_pb2 import BotLevel
from eventstore.read_models.standings import PlayerNumbers, RatingKey, Standings
from service.config import Config
from service.matches.live_matches import LiveMatches
from service.rpc.authentication import SUBJECT
from service.rpc.call import Context, current_call
from service.rpc.errors import refuse
from service.rpc.page_tokens import seal, token_invalid, unseal
from service.standings import requests
from service.standings.scorekeeper import day_of, numbers_of

_FILTERS: Final = b"ratings"
_POINTS_BYTES: Final = 4


class StandingsService(api_grpc.StandingsServiceServicer):
    """The servicer. The interceptor turns its exceptions into a status."""

    def __init__(self, standings: Standings, matches: LiveMatches, config: Config) -> None:
        """Serve these standings. The seats of a series are those of its first match."""
        self._standings = standings
        self._matches = matches
        numbers = numbers_of(config)
        self._initial = PlayerNumbers(numbers.initial_points, 0, 0, 0, 0, 0)
        self._numbers = api.RatingNumbers(
            initial_points=numbers.initial_points,
            match_points=numbers.match_points,
            scale_points=numbers.scale_points,
            easy_bot_points=numbers.bot_points[BotLevel.BOT_LEVEL_EASY],
            normal_bot_points=numbers.bot_points[BotLevel.BOT_LEVEL_NORMAL],
            hard_bot_points=numbers.bot_points[BotLevel.BOT_LEVEL_HARD],
            bot_day_points=numbers.bot_day_points,
        )

    async def GetSeries(
        self, request: api.GetSeriesRequest, context: Context
    ) -> api.GetSeriesResponse:
        """Return the wins and losses of a series by seat."""
        series_id = UUID(bytes=requests.get_series(request))
        with self._matches.pinned(series_id.bytes) as live:
            await live.submit(live.catch_up)
            table = live.match.table
        settings = table.settings
        if settings.series_id != str(series_id):
            raise refuse(reasons.ERROR_REASON_MATCH_NOT_FOUND, match_id=str(series_id))
        counted = await self._standings.read_series(series_id)
        matches = max((seat.matches for seat in counted), default=0)
        found = {seat.seat: (seat.wins, seat.losses) for seat in counted}
        return api.GetSeriesResponse(
            series_id=settings.series_id,
            settings=settings,
            seats=[
                _series_seat(number, seat, *found.get(number, (0, 0)))
                for number, seat in enumerate(table.seats)
            ],
            matches=matches,
            draws=matches - sum(seat.losses for seat in counted),
        )

    async def GetRating(
        self, request: api.GetRatingRequest, context: Context
    ) -> api.GetRatingResponse:
        """Return the rating of a player."""
        requests.get_rating(request)
        player_id = request.player_id or current_call().caller.subject
        numbers = await self._standings.read_rating(player_id) or self._initial
        return api.GetRatingResponse(
            rating=_rating(player_id, numbers, _today()), numbers=self._numbers
        )

    async def ListRatings(
        self, request: api.ListRatingsRequest, context: Context
    ) -> api.ListRatingsResponse:
        """Return a page of all ratings, highest first."""
        size = requests.list_ratings(request)
        rows = await self._standings.list_ratings(
            after=_read_token(request.page_token), limit=size + 1
        )  # one more row shows whether there is another page
        page, today = rows[:size], _today()
        more = len(rows) > size
        return api.ListRatingsResponse(
            ratings=[_rating(player_id, numbers, today) for player_id, numbers in page],
            next_page_token=_make_token(*page[-1]) if more else "",
            numbers=self._numbers,
        )


def _today() -> int:
    return day_of(datetime.now(UTC))


def _make_token(player_id: str, numbers: PlayerNumbers) -> str:
    points = numbers.points.to_bytes(_POINTS_BYTES, signed=True)
    return seal(points + player_id.encode(), _FILTERS)


def _read_token(token: str) -> RatingKey | None:
    if not token:
        return None
    place = unseal(token, _FILTERS)
    points = int.from_bytes(place[:_POINTS_BYTES], signed=True)
    player_id = place[_POINTS_BYTES:].decode(errors="replace")
    if not SUBJECT.fullmatch(player_id):
        raise token_invalid()
    return RatingKey(points, player_id)


def _series_seat(number: int, seat: Seat | None, wins: int, losses: int) -> api.SeriesSeat:
    shown = api.SeriesSeat(seat=number, wins=wins, losses=losses)
    if seat is not None:
        shown.player_id = seat.player_id
        shown.display_name = seat.display_name
        shown.bot_level = seat.bot_level
    return shown


def _rating(player_id: str, numbers: PlayerNumbers, today: int) -> api.Rating:
    return api.Rating(
        player_id=player_id,
        points=numbers.points,
        matches=numbers.matches,
        wins=numbers.wins,
        losses=numbers.losses,
        bot_points_today=numbers.bot_points if numbers.day == today else 0,
        times_left=numbers.times_left,
        times_left_losing=numbers.times_left_losing,
    )
