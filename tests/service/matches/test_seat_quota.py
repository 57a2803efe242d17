"""The limit on seats of one player in matches that have not ended (TOO_MANY_SEATS, case T14)."""

from __future__ import annotations

import asyncio

from grpc import aio

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import Settings
from durak.v1.table_pb2 import Phase, TableView
from service.config import Config
from service.rebuild import rebuild
from tests.conftest import Database, execute
from tests.service.playing import (
    SETTINGS,
    Player,
    Playing,
    new_id,
    playing,
    reason_of,
    refused,
    seated,
)

__all__ = ["playing"]

TOO_MANY = reasons.ERROR_REASON_TOO_MANY_SEATS
OF_THREE = Settings(deck=SETTINGS.deck, seats=3, throw_in=SETTINGS.throw_in)


async def people(playing: Playing, limit: int, names: str) -> list[Player]:
    replica = await playing.replica(caller_seats_max=limit, caller_tables_max=100)
    return [await playing.player(replica, name) for name in names.split()]


async def leave(player: Player, match_id: str) -> None:
    request = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    await player.call("LeaveMatch", request)


async def assert_full(player: Player, opener: Player) -> None:
    match_id = (await opener.open()).match_id
    async with refused(TOO_MANY):
        await player.sit(match_id)


async def test_T14_an_account_that_takes_the_last_seat_of_many_strangers_is_limited(
    playing: Playing,
) -> None:
    greedy, *strangers = await people(playing, 16, "greedy " + " ".join(map(str, range(40))))
    tables = []
    for stranger in strangers:
        tables.append((await stranger.open()).match_id)
        await stranger.sit(tables[-1])
    answers = await asyncio.gather(*(greedy.sit(table) for table in tables), return_exceptions=True)
    errors = [answer for answer in answers if isinstance(answer, aio.AioRpcError)]
    assert [reason_of(error) for error in errors] == [TOO_MANY] * 24
    dealt = [answer for answer in answers if isinstance(answer, TableView)]
    assert [view.phase for view in dealt] == [Phase.PHASE_PLAYING] * 16
    for stranger, table, answer in zip(strangers, tables, answers, strict=True):
        if isinstance(answer, aio.AioRpcError):  # the table is as it was, for another player
            assert (await stranger.get(table)).phase == Phase.PHASE_WAITING


async def test_waiting_and_running_seats_count_on_all_replicas_until_they_end(
    playing: Playing,
) -> None:
    ann, bob = await people(playing, 2, "ann bob")
    (there,) = await people(playing, 2, "ann")
    running = await seated([ann, bob])
    waiting = (await bob.open(OF_THREE)).match_id
    await there.sit(waiting)
    for player in (ann, there):
        await assert_full(player, bob)
    await leave(ann, waiting)
    other = (await bob.open(OF_THREE)).match_id
    await ann.sit(other)
    await assert_full(there, bob)
    await leave(bob, running)  # ends the match
    await there.sit(waiting)
    await assert_full(ann, bob)


async def test_a_rematch_needs_a_seat_too(playing: Playing) -> None:
    ann, bob = await people(playing, 1, "ann bob")
    ended = await seated([ann, bob])
    await leave(bob, ended)
    await seated([ann, (await people(playing, 1, "cleo"))[0]])
    request = api.RematchRequest(match_id=ended, request_id=new_id())
    async with refused(TOO_MANY):
        await ann.call("Rematch", request)
    assert (await bob.call("Rematch", request)).view.phase == Phase.PHASE_WAITING


async def test_bots_do_not_count_and_a_repeat_is_answered_at_the_limit(playing: Playing) -> None:
    ann, bob = await people(playing, 1, "ann bob")
    request_id = new_id()
    match_id = (await ann.open(OF_THREE)).match_id
    for _ in range(2):
        await ann.seat_bot(match_id)
    first = await ann.sit(match_id, request_id=request_id)
    assert (await ann.sit(match_id, request_id=request_id)).version == first.version
    async with refused(reasons.ERROR_REASON_MATCH_NOT_WAITING):  # rather than TOO_MANY_SEATS
        await ann.sit(match_id)
    await assert_full(ann, bob)


async def test_the_count_is_right_after_the_lobby_is_rebuilt(
    playing: Playing, database: Database
) -> None:
    replica = await playing.replica(caller_seats_max=1)
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    ended = await seated([ann, bob])
    await leave(bob, ended)
    await seated([ann, bob])
    await execute(database.owner_dsn, "DELETE FROM match_players")
    await execute(database.owner_dsn, "UPDATE matches SET version = 0")
    await rebuild(replica.store, Config())
    await assert_full(ann, bob)
    await leave(bob, (await ann.call("ListMatches", mine())).matches[0].match_id)
    await seated([ann, bob])


def mine() -> api.ListMatchesRequest:
    return api.ListMatchesRequest(mine=True)
