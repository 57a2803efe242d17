"""The limit on waiting tables that one player has opened (TOO_MANY_TABLES)."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from google.rpc import error_details_pb2
from grpc import aio

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import Phase, TableView
from service.config import Config
from service.rebuild import rebuild
from tests.conftest import Database, execute
from tests.service.frame import answer_of
from tests.service.playing import (
    SETTINGS,
    Clock,
    Player,
    Playing,
    new_id,
    playing,
    reason_of,
    refused,
    seated,
    until,
    without_server_time,
)

__all__ = ["playing"]

TOO_MANY = reasons.ERROR_REASON_TOO_MANY_TABLES


async def people(playing: Playing, limit: int, *names: str) -> list[Player]:
    replica = await playing.replica(caller_tables_max=limit)
    return [await playing.player(replica, name) for name in names]


async def cancel(player: Player, match_id: str) -> None:
    request = api.CancelTableRequest(match_id=match_id, request_id=new_id())
    await player.call("CancelTable", request)


async def leave(player: Player, match_id: str) -> None:
    request = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    await player.call("LeaveMatch", request)


async def again(player: Player, match_id: str) -> TableView:
    request = api.RematchRequest(match_id=match_id, request_id=new_id())
    view: TableView = (await player.call("Rematch", request)).view
    return view


async def ended(players: list[Player]) -> str:
    """An ended match of these players, opened by the first."""
    match_id = await seated(players)
    await leave(players[-1], match_id)
    return match_id


async def assert_full(player: Player) -> None:
    """Assert that the player may not open another table now."""
    async with refused(TOO_MANY):
        await player.open()


async def test_beyond_the_limit_a_table_is_refused_with_its_details(playing: Playing) -> None:
    ann, bob = await people(playing, 2, "ann", "bob")
    opened = [(await ann.open()).match_id for _ in range(2)]
    with pytest.raises(aio.AioRpcError) as caught:
        await ann.open()
    assert reason_of(caught.value) == TOO_MANY
    (quota,) = (
        detail
        for detail in answer_of(caught.value).details
        if isinstance(detail, error_details_pb2.QuotaFailure)
    )
    assert [violation.subject for violation in quota.violations] == ["tables"]

    listed = (await ann.call("ListMatches", api.ListMatchesRequest())).matches
    assert [match.match_id for match in listed] == opened[::-1]
    await bob.open()  # the limit is for each player


async def test_a_dealt_or_cancelled_table_no_longer_counts(playing: Playing) -> None:
    ann, bob = await people(playing, 1, "ann", "bob")
    first = (await ann.open()).match_id
    await bob.sit(first)
    await assert_full(ann)  # the table still waits, so it counts
    await leave(bob, first)
    await assert_full(ann)
    await bob.sit(first)
    await ann.sit(first)
    second = (await ann.open()).match_id
    await assert_full(ann)
    await cancel(ann, second)
    await ann.open()
    await assert_full(ann)


async def test_a_table_that_is_closed_by_the_clock_makes_room(playing: Playing) -> None:
    clock = Clock()
    replica = await playing.replica(now_us=clock, caller_tables_max=1, idle_limit_seconds=60)
    ann = await playing.player(replica, "ann")
    live = replica.engine.matches.get(UUID((await ann.open()).match_id).bytes)
    clock.advance(61)
    await until(lambda: live.match.phase == Phase.PHASE_ENDED)  # R10.8
    await ann.open()


async def test_a_repeat_is_answered_beyond_the_limit(playing: Playing) -> None:
    (ann,) = await people(playing, 1, "ann")
    request_id = new_id()
    first = await ann.open(request_id=request_id)
    again = await ann.open(request_id=request_id)
    assert without_server_time(again) == without_server_time(first)
    await assert_full(ann)
    (reborn,) = await people(playing, 1, "ann")  # another process finds it in the log
    again = await reborn.open(request_id=request_id)
    assert without_server_time(again) == without_server_time(first)

    (stricter, *_) = await people(playing, 2, "ann")
    await stricter.open()
    (reborn,) = await people(
        playing, 1, "ann"
    )  # also when the limit was lowered below the number of tables
    again = await reborn.open(request_id=request_id)
    assert without_server_time(again) == without_server_time(first)


async def test_a_refused_opening_succeeds_later_with_the_same_request(playing: Playing) -> None:
    (ann,) = await people(playing, 1, "ann")
    first = (await ann.open()).match_id
    request_id = new_id()
    async with refused(TOO_MANY):
        await ann.open(request_id=request_id)
    await cancel(ann, first)
    assert (await ann.open(request_id=request_id)).phase == Phase.PHASE_WAITING


async def test_the_limit_holds_on_sessions(playing: Playing) -> None:
    (ann,) = await people(playing, 2, "ann")
    session = ann.session()

    def opening() -> api.OpenTableRequest:
        return api.OpenTableRequest(request_id=new_id(), settings=SETTINGS)

    answers = await asyncio.gather(*(session.ask(open_table=opening()) for _ in range(6)))
    assert sum(answer.HasField("view") for answer in answers) == 2
    refusals = [answer.error for answer in answers if answer.HasField("error")]
    assert [reason_of(error) for error in refusals] == [TOO_MANY] * 4
    await assert_full(ann)
    await session.close()


async def test_concurrent_openings_fill_the_limit_exactly(playing: Playing) -> None:
    (ann,) = await people(playing, 16, "ann")
    answers = await asyncio.gather(*(ann.open() for _ in range(40)), return_exceptions=True)
    errors = [answer for answer in answers if isinstance(answer, aio.AioRpcError)]
    assert [reason_of(error) for error in errors] == [TOO_MANY] * 24
    assert sum(isinstance(answer, TableView) for answer in answers) == 16


async def test_tables_opened_on_all_replicas_count(playing: Playing) -> None:
    (here,) = await people(playing, 2, "ann")
    (there,) = await people(playing, 2, "ann")
    first = (await here.open()).match_id
    await there.open()
    for ann in (here, there):
        await assert_full(ann)
    await cancel(there, first)
    await here.open()
    await assert_full(there)


async def test_a_rematch_counts_only_for_the_player_who_opens_it(playing: Playing) -> None:
    ann, bob = await people(playing, 1, "ann", "bob")
    matches = [await ended([ann, bob]) for _ in range(3)]
    rematch = await again(bob, matches[0])
    assert rematch.owner_id == "ann"
    async with refused(TOO_MANY):
        await again(bob, matches[1])  # a rematch does not bypass the limit
    await assert_full(bob)
    table = (await ann.open()).match_id  # bob's rematch does not count for ann
    async with refused(TOO_MANY):
        await again(ann, matches[1])

    joined = await again(ann, matches[0])  # joining opens no table
    assert joined.phase == Phase.PHASE_PLAYING
    await again(bob, matches[1])  # ann's tables do not count for bob
    await cancel(ann, table)
    await again(ann, matches[2])
    assert (await again(bob, matches[2])).phase == Phase.PHASE_PLAYING


async def test_a_rematch_that_nobody_joins_can_be_closed_by_the_player_who_opened_it(
    playing: Playing,
) -> None:
    ann, bob = await people(playing, 1, "ann", "bob")
    match_id = await ended([ann, bob])
    waiting = await again(bob, match_id)
    await assert_full(bob)
    await cancel(bob, waiting.match_id)
    await bob.open()
    await assert_full(bob)


async def test_a_rematch_that_another_replica_opened_is_joined_at_the_limit(
    playing: Playing,
) -> None:
    ann, bob = await people(playing, 1, "ann", "bob")
    match_id = await ended([ann, bob])
    (there,) = await people(playing, 1, "bob")
    await there.open()
    await again(ann, match_id)
    assert (await again(there, match_id)).phase == Phase.PHASE_PLAYING


async def test_a_rematch_against_bots_only_never_waits(playing: Playing) -> None:
    (ann,) = await people(playing, 1, "ann")
    match_id = (await ann.open()).match_id
    await ann.sit(match_id)
    await ann.seat_bot(match_id, level=BotLevel.BOT_LEVEL_EASY)
    await leave(ann, match_id)
    await ann.open()
    await assert_full(ann)
    assert (await again(ann, match_id)).phase == Phase.PHASE_PLAYING


async def test_tables_from_before_the_column_count_after_the_lobby_is_rebuilt(
    playing: Playing, database: Database
) -> None:
    replica = await playing.replica(caller_tables_max=2)
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await ended([ann, bob])
    await again(bob, match_id)
    await bob.open()
    await assert_full(bob)
    await execute(database.owner_dsn, "UPDATE matches SET opened_by = NULL")
    third = (await bob.open()).match_id
    await cancel(bob, third)
    await rebuild(replica.store, Config())
    await assert_full(bob)
    await ann.open()


async def test_bots_play_at_a_limited_number_of_tables_of_one_player(playing: Playing) -> None:
    replica = await playing.replica(caller_bot_tables_max=2, bot_delay_seconds=30)
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]

    async def seat_bots(player: Player) -> str:
        match_id = (await player.open()).match_id
        for _ in range(2):
            await player.seat_bot(match_id, level=BotLevel.BOT_LEVEL_EASY)
        return match_id

    for _ in range(2):
        await seat_bots(ann)
    async with refused(TOO_MANY):
        await seat_bots(ann)
    await seat_bots(bob)
    (elsewhere,) = [await playing.player(await playing.replica(caller_bot_tables_max=2), "ann")]
    async with refused(TOO_MANY):
        await seat_bots(elsewhere)
    await seated([ann, bob])  # players can sit down at any number of them
