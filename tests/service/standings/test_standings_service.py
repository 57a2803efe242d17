"""StandingsService: series, and ratings with the values used to compute them."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

import pytest
from grpc import aio

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2
from durak.v1 import standings_service_pb2 as api
from durak.v1.settings_pb2 import BotLevel
from durak.v1.standings_service_pb2_grpc import StandingsServiceStub
from durak.v1.table_pb2 import TableView
from eventstore import EventStore, LobbyRow
from eventstore.read_models.standings import PlayerNumbers, SeatStanding, StandingsUpdate
from service.rpc.page_tokens import seal
from service.standings.scorekeeper import day_of
from service.times import system_now_us, to_datetime
from tests.eventstore.support import Writer
from tests.service.playing import (
    DEADLINE_S,
    KEY,
    SETTINGS,
    Playing,
    Replica,
    new_id,
    play_out,
    playing,
    refused,
)
from tests.service.standings.test_scorekeeper import count

__all__ = ["playing"]

NUMBERS = api.RatingNumbers(
    initial_points=1000,
    match_points=32,
    scale_points=400,
    easy_bot_points=800,
    normal_bot_points=1000,
    hard_bot_points=1200,
    bot_day_points=50,
)


class Reader:
    """A caller who reads the standings."""

    def __init__(self, channel: aio.Channel, name: str, *roles: str) -> None:
        token = KEY.mint(name, roles=roles, issuer="durak", audience="durak", lifetime_seconds=600)
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._stub = StandingsServiceStub(channel)

    async def call(self, method: str, request: Any) -> Any:
        call = getattr(self._stub, method)
        return await call(request, metadata=self._metadata, timeout=DEADLINE_S)

    async def series(self, series_id: str) -> api.GetSeriesResponse:
        answer = await self.call("GetSeries", api.GetSeriesRequest(series_id=series_id))
        return cast("api.GetSeriesResponse", answer)

    async def rating(self, player_id: str = "") -> api.Rating:
        answer = await self.call("GetRating", api.GetRatingRequest(player_id=player_id))
        assert answer.numbers == NUMBERS
        return cast("api.Rating", answer.rating)

    async def ratings(self, **fields: Any) -> api.ListRatingsResponse:
        answer = await self.call("ListRatings", api.ListRatingsRequest(**fields))
        assert answer.numbers == NUMBERS
        return cast("api.ListRatingsResponse", answer)


async def reader(playing: Playing, replica: Replica, name: str, *roles: str) -> Reader:
    channel = aio.insecure_channel(replica.address)
    playing.stack.push_async_callback(channel.close)
    return Reader(channel, name, *(roles or ("player",)))


async def put_ratings(store: EventStore, *ratings: tuple[str, PlayerNumbers]) -> None:
    """Store standings as if each player had played one match."""
    for player, numbers in ratings:
        writer = Writer(store)
        now = to_datetime(system_now_us())
        row = LobbyRow(4, now, b"", ended_at=now)
        await store.append(writer.command(b"the end")._replace(lobby=row))

        async def work(
            update: StandingsUpdate, player: str = player, numbers: PlayerNumbers = numbers
        ) -> None:
            (ended,) = await update.take_uncounted(to_datetime(system_now_us()), 9)
            standing = SeatStanding(
                ended.match_id, 0, ended.ended_at, None, player, False, False, numbers
            )
            await update.add([ended], [standing])

        await store.standings.update(work)


async def test_R13_1_a_series_from_its_first_table_to_its_last_match(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    guest = await reader(playing, replica, "guest", "auditor")
    request = match_service_pb2.OpenTableRequest(
        request_id=new_id(), settings=SETTINGS, start_series=True
    )
    series_id = (await ann.call("OpenTable", request)).view.match_id

    waiting = await guest.series(series_id)
    assert waiting.settings.series_id == waiting.series_id == series_id
    assert [seat.player_id for seat in waiting.seats] == ["", ""]
    assert (waiting.matches, waiting.draws) == (0, 0)

    await ann.sit(series_id, seat=0)
    await ann.seat_bot(series_id, seat=1)
    views: list[TableView] = [await play_out([ann], series_id)]
    for _ in range(3):
        again = match_service_pb2.RematchRequest(match_id=views[-1].match_id, request_id=new_id())
        views.append(await play_out([ann], (await ann.call("Rematch", again)).view.match_id))
    await count(replica.store)

    results = [view.result for view in views]
    duraks = [result.durak if result.HasField("durak") else None for result in results]
    series = await guest.series(series_id)
    assert list(series.seats) == [
        api.SeriesSeat(
            seat=0, player_id="ann", display_name="ann",
            wins=duraks.count(1), losses=duraks.count(0),
        ),
        api.SeriesSeat(
            seat=1, bot_level=BotLevel.BOT_LEVEL_EASY,
            wins=duraks.count(0), losses=duraks.count(1),
        ),
    ]  # fmt: skip
    assert (series.matches, series.draws) == (4, duraks.count(None))


async def test_an_unknown_series_is_not_found(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    alone = (await ann.open()).match_id
    guest = await reader(playing, replica, "guest")
    for series_id in (alone, new_id(), str(UUID(int=0))):
        async with refused(reasons.ERROR_REASON_MATCH_NOT_FOUND):
            await guest.series(series_id)
    for malformed in ("", "seven"):
        async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
            await guest.series(malformed)
    assert len(replica.engine.matches) == 1, "an unknown match uses no memory"


async def test_a_rating_is_that_of_the_named_player_or_of_the_caller(playing: Playing) -> None:
    replica = await playing.replica()
    today = day_of(to_datetime(system_now_us()))
    await put_ratings(
        replica.store,
        ("ann", PlayerNumbers(1234, 9, 5, 3, today, 17)),
        ("bob", PlayerNumbers(-20, 90, 1, 89, today - 1, 50, 4)),
    )
    ann = await reader(playing, replica, "ann")
    shown = api.Rating(
        player_id="ann", points=1234, matches=9, wins=5, losses=3, bot_points_today=17
    )
    assert await ann.rating() == await ann.rating("ann") == shown
    # Points that bob won from bots yesterday do not count today.
    assert await ann.rating("bob") == api.Rating(
        player_id="bob", points=-20, matches=90, wins=1, losses=89, times_left=4
    )
    assert await ann.rating("new") == api.Rating(player_id="new", points=1000)
    async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
        await ann.rating("a b")


async def test_ratings_come_in_pages_the_most_points_first(playing: Playing) -> None:
    replica = await playing.replica()
    points = {"ann": 1000, "bob": 1100, "cid": 1000, "dan": -5, "eve": 1000}
    for player, number in points.items():
        await put_ratings(replica.store, (player, PlayerNumbers(number, 1, 0, 0, 0, 0)))
    guest = await reader(playing, replica, "guest", "operator")
    pages, token = [], ""
    while True:
        page = await guest.ratings(page_size=2, page_token=token)
        pages.append([(one.points, one.player_id) for one in page.ratings])
        token = page.next_page_token
        if not token:
            break
    assert pages == [[(1100, "bob"), (1000, "ann")], [(1000, "cid"), (1000, "eve")], [(-5, "dan")]]
    async with refused(reasons.ERROR_REASON_PAGE_TOKEN_INVALID):
        await guest.ratings(page_token="AAAA")
    async with refused(reasons.ERROR_REASON_PAGE_TOKEN_INVALID):  # not a valid player id
        await guest.ratings(page_token=seal(bytes(4) + b"a\0", b"ratings"))
    async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
        await guest.ratings(page_size=-1)


@pytest.mark.parametrize("role", ["player", "operator", "auditor"])
async def test_all_roles_see_the_standings(playing: Playing, role: str) -> None:
    replica = await playing.replica()
    guest = await reader(playing, replica, "guest", role)
    assert list((await guest.ratings()).ratings) == []
    assert (await guest.rating()).points == 1000


async def test_a_caller_without_a_role_sees_no_standings(playing: Playing) -> None:
    replica = await playing.replica()
    stranger = await reader(playing, replica, "stranger", "nothing")
    async with refused(reasons.ERROR_REASON_ROLE_REQUIRED):
        await stranger.ratings()
