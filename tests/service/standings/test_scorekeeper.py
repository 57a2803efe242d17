"""The standings (R13) of real matches, live and rebuilt from the log."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import asyncpg
import pytest

from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Outcome
from durak.v1.settings_pb2 import Settings
from durak.v1.table_pb2 import TableView
from eventstore import EventStore
from eventstore.read_models.standings import PlayerNumbers, SeriesSeat
from service.config import Config
from service.rebuild import rebuild
from service.rpc.failures import Failures
from service.standings import scorekeeper
from service.standings.scorekeeper import Scorekeeper
from tests.conftest import Database, execute
from tests.eventstore.support import until
from tests.service.matches.test_coin_moves import staked
from tests.service.playing import (
    Clock,
    Player,
    Playing,
    log_of,
    new_id,
    play_out,
    playing,
    rest_of,
    seated,
)
from tests.service.stored_matches import store_random

__all__ = ["playing"]

READ_MODELS = ("matches", "match_players", "standings", "ratings")


async def read_models(database: Database) -> dict[str, list[tuple[object, ...]]]:
    connection = await asyncpg.connect(database.owner_dsn)
    try:
        return {
            table: sorted(map(tuple, await connection.fetch(f"SELECT * FROM {table}")), key=repr)
            for table in READ_MODELS
        }
    finally:
        await connection.close()


async def count(store: EventStore, config: Config | None = None) -> int:
    return await Scorekeeper(store, config or Config(), Failures()).count(
        datetime.now(UTC) + timedelta(days=9)
    )


async def leave(player: Player, match_id: str) -> None:
    await player.call("LeaveMatch", api.LeaveMatchRequest(match_id=match_id, request_id=new_id()))


async def play_series(players: list[Player], settings: Settings, matches: int) -> list[TableView]:
    """Play the matches of a series to the end. Return the last views."""
    request = api.OpenTableRequest(request_id=new_id(), settings=settings, start_series=True)
    match_id = (await players[0].call("OpenTable", request)).view.match_id
    for seat, player in enumerate(players):
        await player.sit(match_id, seat=seat)
    views = [await play_out(players, match_id)]
    for _ in range(matches - 1):
        for player in players:
            again = api.RematchRequest(match_id=views[-1].match_id, request_id=new_id())
            match_id = (await player.call("Rematch", again)).view.match_id
        views.append(await play_out(players, match_id))
    return views


async def test_R13_1_a_series_is_the_sum_of_its_matches(playing: Playing) -> None:
    replica = await playing.replica()
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    views = await play_series(players, staked(10), 4)
    assert await count(replica.store) == 4
    results = [view.result for view in views if view.result.HasField("durak")]
    losses = [sum(result.durak == seat for result in results) for seat in range(2)]
    assert await replica.store.standings.read_series(UUID(views[0].match_id)) == [
        SeriesSeat(0, 4, losses[1], losses[0]),
        SeriesSeat(1, 4, losses[0], losses[1]),
    ]
    ratings = [await replica.store.standings.read_rating(player.name) for player in players]
    assert [(one.matches, one.wins, one.losses) for one in ratings if one] == [
        (4, losses[1], losses[0]),
        (4, losses[0], losses[1]),
    ]
    assert sum(one.points for one in ratings if one) == 2000


async def test_C22_R9_6_R13_2_a_player_who_leaves_gives_no_points_or_wins(playing: Playing) -> None:
    replica = await playing.replica()
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    for method in ("LeaveMatch", "CancelTable"):
        if method == "LeaveMatch":
            match_id = await seated(players)
        else:
            match_id = (await players[0].open()).match_id
        request = getattr(api, f"{method}Request")(match_id=match_id, request_id=new_id())
        await players[0].call(method, request)
    assert await count(replica.store) == 2
    left = PlayerNumbers(1000, 0, 0, 0, 0, 0, times_left=1)
    assert await replica.store.standings.list_ratings(limit=10) == [("ann", left)]
    assert await count(replica.store) == 0


async def test_R13_3_matches_left_are_counted_and_change_nothing_else(playing: Playing) -> None:
    replica = await playing.replica()
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    await play_out(players, await seated(players))
    await count(replica.store)
    ratings = [await replica.store.standings.read_rating(player.name) for player in players]
    for times in (1, 2):
        request = api.OpenTableRequest(request_id=new_id(), settings=staked(10), start_series=True)
        match_id = (await players[0].call("OpenTable", request)).view.match_id
        for seat, player in enumerate(players):
            await player.sit(match_id, seat=seat)
        await leave(players[1], match_id)
        assert await count(replica.store) == 1
        assert await replica.store.standings.read_series(UUID(match_id)) == []
        ann, bob = [await replica.store.standings.read_rating(one.name) for one in players]
        assert ann == ratings[0]
        assert bob is not None
        assert bob.times_left == times
        assert bob._replace(times_left=0) == ratings[1]
    await play_out(players, await seated(players))
    await count(replica.store)
    bob = await replica.store.standings.read_rating("bob")
    assert bob is not None
    assert (bob.matches, bob.times_left) == (2, 2)


async def test_R10_3_R13_3_three_timeouts_count_as_leaving(playing: Playing) -> None:
    replica = await playing.replica()
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await seated(players, staked(turn_timer_seconds=1))
    async for _ in rest_of(players[0].watch(match_id)):
        pass
    await count(replica.store)
    leaver = (await players[0].get(match_id)).result.leaver
    left = PlayerNumbers(1000, 0, 0, 0, 0, 0, times_left=1)
    assert await replica.store.standings.list_ratings(limit=10) == [(players[leaver].name, left)]


async def test_a_bot_has_no_rating_and_its_opponent_does(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open()).match_id
    await ann.sit(match_id, seat=0)
    await ann.seat_bot(match_id, seat=1)
    view = await play_out([ann], match_id)
    await count(replica.store)
    ((player, rating),) = await replica.store.standings.list_ratings(limit=10)
    # Against a rating of 800: 32 points × 0.24 for a win, × 0.76 for a loss.
    expected = {0: -24, 1: 8} if view.result.outcome == Outcome.OUTCOME_PLAYED_OUT else {}
    change = expected.get(view.result.durak, 0)
    assert (player, rating.points) == ("ann", 1000 + change)
    assert rating.bot_points == max(change, 0)
    assert rating.day == (datetime.now(UTC) - datetime(1970, 1, 1, tzinfo=UTC)).days


async def test_read_models_rebuilt_from_the_log_are_unchanged(
    playing: Playing, database: Database
) -> None:
    # Two clocks that differ, so matches are found out of order while counting runs.
    replicas = [await playing.replica(now_us=Clock()) for _ in range(2)]
    behind = Clock()
    behind.advance(-40)
    replicas.append(await playing.replica(now_us=behind))
    store = replicas[0].store
    for number in range(6):
        replica = replicas[number % 3]
        players = [await playing.player(replica, name) for name in ("ann", "bob", "cid")]
        await play_series(players[: 2 + number % 2], staked(1, seats=2 + number % 2), 2)
        await seated(players[:2])
        await players[2].open()
        await leave(players[0], await seated(players[:2]))
        await count(store)
    seen = await read_models(database)
    assert len(seen["matches"]) == 30
    assert len(seen["standings"]) == 6 * 2 + 6 * 3 + 6

    assert await rebuild(store, Config()) == (30, 18, [])
    assert await read_models(database) == seen
    await execute(
        database.owner_dsn,
        "DELETE FROM match_players WHERE player = 'ann'",
        "DELETE FROM matches WHERE status = 4",
        "UPDATE matches SET status = 4, summary = '', opened_at = now()",
        "UPDATE ratings SET points = 9999, wins = 7 WHERE player = 'bob'",
        "DELETE FROM standings WHERE player = 'cid'",
    )
    assert await rebuild(store, Config()) == (30, 18, [])
    assert await read_models(database) == seen


async def test_matches_from_a_version_without_standings_are_counted(
    store: EventStore, database: Database
) -> None:
    ids = [await store_random(store, seed, seats=2) for seed in range(12)]
    await execute(database.owner_dsn, "UPDATE matches SET ended_at = NULL")
    assert await count(store) == 0
    done = await rebuild(store, Config())
    assert (done.matches, done.counted, done.corrupt) == (12, 12, [])
    card_results = left = 0
    for match_id in ids:
        finished = (await log_of(store, str(match_id)))[-1].event.finished
        played = (Outcome.OUTCOME_PLAYED_OUT, Outcome.OUTCOME_DRAW)
        card_results += finished.outcome in played
        left += finished.HasField("leaver")
    models = await read_models(database)
    assert len(models["standings"]) == 2 * card_results + left > left > 0


async def test_a_damaged_match_is_skipped_and_the_others_are_rebuilt(
    store: EventStore, database: Database
) -> None:
    damaged, whole = [await store_random(store, seed, seats=2) for seed in (1, 2)]
    await execute(
        database.owner_dsn,
        "ALTER TABLE events DISABLE TRIGGER events_append_only",
        f"UPDATE events SET record = record || 'x' WHERE stream_id = '{damaged}' AND version = 3",
    )
    done = await rebuild(store, Config())
    assert (done.matches, done.corrupt) == (1, [damaged])
    assert whole != damaged


async def test_two_services_count_each_match_once(playing: Playing) -> None:
    replica = await playing.replica()
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    config = Config(standings_interval_seconds=0.01, standings_settle_seconds=0)
    keepers = [
        asyncio.create_task(Scorekeeper(replica.store, config, Failures()).run()) for _ in range(2)
    ]

    async def is_counted(matches: int) -> bool:
        rating = await replica.store.standings.read_rating("ann")
        return rating is not None and rating.matches == matches

    try:
        for number in range(3):
            await play_out(players, await seated(players))
            await until(partial(is_counted, number + 1))
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)


async def test_R13_3_leaving_a_lost_position_is_counted_apart(
    playing: Playing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which positions are lost is tested with the forecast. Here it decides the count alone."""
    replica = await playing.replica()
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    for losing in (True, False, True):
        monkeypatch.setattr(scorekeeper, "left_losing", lambda _, losing=losing: losing)
        await leave(players[1], await seated(players))
        assert await count(replica.store) == 1
    bob = await replica.store.standings.read_rating("bob")
    assert bob == PlayerNumbers(1000, 0, 0, 0, 0, 0, times_left=3, times_left_losing=2)
