"""`durak ratings` and `durak series`: how players and series stand (R13), and by which numbers."""

import asyncio
from uuid import UUID

import click

from durak.v1 import standings_service_pb2 as api
from durak.v1.standings_service_pb2_grpc import StandingsServiceStub
from service.cli.connection import Connection, with_connection
from service.render.texts import Names, Translate, player_name, translator


@click.command("ratings")
@click.option("--count", type=click.IntRange(1, 100), default=20, show_default=True)
@with_connection("player")
def ratings_command(*, connection: Connection, count: int) -> None:
    """List the ratings, the most points first, and the numbers by which they are counted."""
    translate = translator(connection.language)
    for line in asyncio.run(_ratings(connection, count, translate)):
        click.echo(line)


async def _ratings(connection: Connection, count: int, translate: Translate) -> list[str]:
    request = api.ListRatingsRequest(page_size=count)
    async with connection.client() as client:
        stub = StandingsServiceStub(client.channel)
        answer = await client.call(stub.ListRatings, request)
        lines = [_rating_line(rating, translate) for rating in answer.ratings]
        if not lines:
            lines = [_rating_line((await client.call(stub.GetRating, _OWN)).rating, translate)]
    return [*lines, numbers_line(answer.numbers, translate)]


_OWN = api.GetRatingRequest()


def _rating_line(rating: api.Rating, translate: Translate) -> str:
    return translate(
        "rating",
        player=player_name(rating.player_id),
        points=rating.points,
        matches=rating.matches,
        wins=rating.wins,
        losses=rating.losses,
        bots=rating.bot_points_today,
    )


def numbers_line(numbers: api.RatingNumbers, translate: Translate) -> str:
    """The numbers of the rating in one line (R13.2)."""
    return translate(
        "rating-numbers",
        initial=numbers.initial_points,
        match=numbers.match_points,
        scale=numbers.scale_points,
        easy=numbers.easy_bot_points,
        normal=numbers.normal_bot_points,
        hard=numbers.hard_bot_points,
        day=numbers.bot_day_points,
    )


@click.command("series")
@click.argument("series_id", metavar="SERIES", type=click.UUID)
@with_connection("player")
def series_command(*, connection: Connection, series_id: UUID) -> None:
    """Tell how SERIES stands: the id of the match that began it."""
    translate = translator(connection.language)
    for line in asyncio.run(_series(connection, str(series_id), translate)):
        click.echo(line)


async def _series(connection: Connection, series_id: str, translate: Translate) -> list[str]:
    async with connection.client() as client:
        stub = StandingsServiceStub(client.channel)
        request = api.GetSeriesRequest(series_id=series_id)
        return series_lines(await client.call(stub.GetSeries, request), translate)


def series_lines(series: api.GetSeriesResponse, translate: Translate) -> list[str]:
    """How a series stands, seat by seat (R13.1)."""
    names = Names(translate)
    for seat in series.seats:
        if seat.player_id or seat.bot_level:
            names.seat(seat.seat, seat.display_name or seat.player_id, seat.bot_level)
    return [
        translate("series", matches=series.matches, draws=series.draws),
        *(
            translate("series-seat", player=names[seat.seat], wins=seat.wins, losses=seat.losses)
            for seat in series.seats
        ),
    ]
