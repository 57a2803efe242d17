"""`durak ratings` and `durak series`: ratings of players and scores of series (R13)."""

import asyncio
from uuid import UUID

import click

from durak.v1 import standings_service_pb2 as api
from durak.v1.standings_service_pb2_grpc import StandingsServiceStub
from service.cli.client import CallRefused
from service.cli.connection import Connection, with_connection
from service.cli.terminal import new_console
from service.render.texts import Names, player_name, translator
from service.text.localisation import Translate


@click.command("ratings")
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(1, 100),
    default=20,
    show_default=True,
    help="Number of players to list.",
)
@with_connection("player")
def ratings_command(*, connection: Connection, count: int) -> None:
    """List player ratings, highest first, and explain how they are computed."""
    translate = translator(connection.language)
    console = new_console()
    for line in asyncio.run(_ratings(connection, count, translate)):
        console.print(line)


async def _ratings(connection: Connection, count: int, translate: Translate) -> list[str]:
    async with connection.client() as client:
        stub = StandingsServiceStub(client.channel)
        answer = await client.call(stub.ListRatings, api.ListRatingsRequest(page_size=count))
        ratings = list(answer.ratings)
        if not ratings:
            ratings = [(await client.call(stub.GetRating, api.GetRatingRequest())).rating]
    lines = [_rating_line(rating, translate) for rating in ratings]
    return [*lines, numbers_line(answer.numbers, translate)]


def _rating_line(rating: api.Rating, translate: Translate) -> str:
    return translate(
        "rating",
        player=player_name(rating.player_id),
        points=rating.points,
        matches=rating.matches,
        wins=rating.wins,
        losses=rating.losses,
        bots=rating.bot_points_today,
        left=rating.times_left,
        losing=rating.times_left_losing,
    )


def numbers_line(numbers: api.RatingNumbers, translate: Translate) -> str:
    """Return the numbers that the rating is computed with (R13.2)."""
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
    """Show the score of SERIES, the id of its first match.

    `durak play --series` starts a series; its rematches belong to it.
    """
    try:
        request = api.GetSeriesRequest(series_id=str(series_id))
        series = connection.call(StandingsServiceStub, lambda stub: stub.GetSeries, request)
    except CallRefused as refusal:
        if refusal.reason == "MATCH_NOT_FOUND":
            refusal.add_note(
                f"No series has the id {series_id}. Give the id of the first match of a series; "
                "`durak play --series` starts one."
            )
        raise
    for line in series_lines(series, translator(connection.language)):
        click.echo(line)


def series_lines(series: api.GetSeriesResponse, translate: Translate) -> list[str]:
    """Return the score of a series, seat by seat (R13.1)."""
    names = Names(translate)
    for seat in series.seats:
        if seat.player_id or seat.bot_level:
            names.add(seat.seat, seat.display_name or seat.player_id, seat.bot_level)
    return [
        translate("series", matches=series.matches, draws=series.draws),
        *(
            translate("series-seat", player=names[seat.seat], wins=seat.wins, losses=seat.losses)
            for seat in series.seats
        ),
    ]
