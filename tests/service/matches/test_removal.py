"""RemovePlayer: the owner of a table removes a seated player before the deal (R3.0)."""

from __future__ import annotations

import asyncio

from grpc import aio

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import PHASE_PLAYING
from tests.service.playing import (
    Player,
    Playing,
    log_of,
    new_id,
    playing,
    reason_of,
    refused,
    take_until_caught_up,
    without_server_time,
)

__all__ = ["playing"]


def table_of(seats: int, stake: int = 0) -> Settings:
    return Settings(
        deck=Deck.DECK_36, seats=seats, throw_in=ThrowIn.THROW_IN_ALL, stake_coins=stake
    )


def removal(match_id: str, player: Player) -> api.RemovePlayerRequest:
    return api.RemovePlayerRequest(match_id=match_id, request_id=new_id(), player_id=player.name)


async def test_R3_0_a_removed_player_gets_the_stake_back_and_cannot_sit_again(
    playing: Playing,
) -> None:
    replicas = [await playing.replica() for _ in range(2)]
    ann, cid = [await playing.player(replicas[0], name) for name in ("ann", "cid")]
    bob = await playing.player(replicas[1], "bob")
    ledger = replicas[0].store.ledger
    match_id = (await ann.open(table_of(2, stake=100))).match_id
    await bob.sit(match_id)
    assert await ledger.read_balance("bob") == (900, 100)

    request = removal(match_id, bob)
    async with refused(reasons.ERROR_REASON_NOT_OWNER):
        await cid.call("RemovePlayer", request)
    view = (await ann.call("RemovePlayer", request)).view
    assert not any(seat.taken for seat in view.seats)
    again = (await ann.call("RemovePlayer", request)).view
    assert without_server_time(again) == without_server_time(view)
    assert await ledger.read_balance("bob") == (1000, 0)

    async with refused(reasons.ERROR_REASON_REMOVED_FROM_TABLE):
        await bob.sit(match_id)
    events = await take_until_caught_up(bob.watch(match_id))
    assert [event.event.WhichOneof("kind") for event in events] == [
        "table_opened",
        "seat_taken",
        "seat_vacated",
    ]
    assert events[-1].event.seat_vacated.removed
    await ann.sit(match_id)
    assert (await cid.sit(match_id)).phase == PHASE_PLAYING
    async with refused(reasons.ERROR_REASON_MATCH_NOT_WAITING):
        await ann.call("RemovePlayer", removal(match_id, cid))
    assert (await ledger.check()).holds


async def test_a_session_takes_removals_too(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = (await ann.open()).match_id
    await bob.sit(match_id)
    session = ann.session()
    answer = await session.ask(remove_player=removal(match_id, bob))
    assert not any(seat.taken for seat in answer.view.seats)
    unknown = api.RemovePlayerRequest(match_id=match_id, request_id=new_id())
    assert reason_of((await session.ask(remove_player=unknown)).error) == (
        reasons.ERROR_REASON_MALFORMED_FIELD
    )
    await session.close()


async def test_a_removal_and_the_last_seat_on_two_replicas_never_both_win(
    playing: Playing,
) -> None:
    """Either the removal is first and the table waits, or the deal is and the player stays."""
    replicas = [await playing.replica() for _ in range(2)]
    ann = await playing.player(replicas[0], "ann")
    bob, cid = [await playing.player(replicas[1], name) for name in ("bob", "cid")]
    for _ in range(6):
        match_id = (await ann.open(table_of(2, stake=1))).match_id
        await bob.sit(match_id)
        removing = asyncio.create_task(ann.call("RemovePlayer", removal(match_id, bob)))
        await cid.sit(match_id)
        await asyncio.wait([removing])
        error = removing.exception()
        log = await log_of(replicas[0].store, match_id)
        kinds = [str(record.event.WhichOneof("kind")) for record in log]
        if error is not None:
            assert isinstance(error, aio.AioRpcError)
            assert reason_of(error) == reasons.ERROR_REASON_MATCH_NOT_WAITING
            assert kinds == ["table_opened", "seat_taken", "seat_taken", "dealt"]
        else:
            assert sorted(kinds[2:]) == ["seat_taken", "seat_vacated"]
            assert "dealt" not in kinds
    assert (await replicas[0].store.ledger.check()).holds


async def test_T14_the_owners_of_forty_tables_remove_one_player_from_all_of_them(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    greedy, friend = [await playing.player(replica, name) for name in ("greedy", "friend")]
    for number in range(40):
        owner = await playing.player(replica, f"owner-{number}")
        match_id = (await owner.open(table_of(3))).match_id
        await greedy.sit(match_id)
        await owner.call("RemovePlayer", removal(match_id, greedy))
        async with refused(reasons.ERROR_REASON_REMOVED_FROM_TABLE):
            await greedy.sit(match_id)
        if number == 39:
            await owner.sit(match_id)
            await owner.seat_bot(match_id)
            assert (await friend.sit(match_id)).phase == PHASE_PLAYING
