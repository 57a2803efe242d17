"""Opening coins can be staked only after a number of free matches played to the end (R12.9)."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from google.rpc import error_details_pb2
from grpc import aio

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Outcome
from service.rebuild import rebuild
from tests.conftest import Database, execute
from tests.eventstore.support import grant
from tests.service.frame import answer_of
from tests.service.matches.test_coin_moves import OPENING, balances, staked
from tests.service.playing import (
    SETTINGS,
    Player,
    Playing,
    Replica,
    log_of,
    new_id,
    play_out,
    playing,
    refused,
    seated,
)

__all__ = ["playing"]


async def people(playing: Playing, replica: Replica, *names: str) -> list[Player]:
    """Return players of these names."""
    return [await playing.player(replica, name) for name in names]


async def metadata_of_refusal(player: Player, match_id: str) -> dict[str, str]:
    """Take a seat, which must be refused with OPENING_COINS_LOCKED. Return its metadata."""
    with pytest.raises(aio.AioRpcError) as caught:
        await player.sit(match_id)
    answer = answer_of(caught.value)
    assert answer.reason == "OPENING_COINS_LOCKED"
    (info,) = (one for one in answer.details if isinstance(one, error_details_pb2.ErrorInfo))
    return dict(info.metadata)


async def play_free(players: list[Player]) -> None:
    """Play a match without a stake to its end."""
    view = await play_out(players, await seated(players))
    assert view.result.outcome in (Outcome.OUTCOME_PLAYED_OUT, Outcome.OUTCOME_DRAW)


async def leave(player: Player, match_id: str) -> None:
    await player.call("LeaveMatch", api.LeaveMatchRequest(match_id=match_id, request_id=new_id()))


async def test_T13_five_new_accounts_cannot_pour_their_coins_into_a_sixth(playing: Playing) -> None:
    replica = await playing.replica(opening_free_matches_min=3)
    sixth, *throw_aways = await people(playing, replica, "sixth", "a", "b", "c", "d", "e")
    await replica.store.ledger.open_account("sixth", OPENING)
    await grant(replica.store, uuid4(), "sixth", 5 * OPENING)
    for player in throw_aways:
        match_id = (await sixth.open(staked(OPENING))).match_id
        await sixth.sit(match_id)
        assert await metadata_of_refusal(player, match_id) == {
            "clause": "R12.9",
            "stakeable_coins": "0",
            "played_matches": "0",
            "needed_matches": "3",
        }
        assert len(await log_of(replica.store, match_id)) == 2, "opened, and one seat taken"
        await leave(sixth, match_id)
    assert await balances(replica.store, [sixth]) == [(6 * OPENING, 0)]
    assert await balances(replica.store, throw_aways) == [(OPENING, 0)] * 5
    assert (await replica.store.ledger.check()).holds


async def test_T13_the_coins_stay_when_the_new_accounts_open_the_tables_themselves(
    playing: Playing,
) -> None:
    replicas = [await playing.replica(opening_free_matches_min=1) for _ in range(2)]
    (new,) = await people(playing, replicas[0], "new")
    for stake in (1, OPENING):
        match_id = (await new.open(staked(stake))).match_id
        (twin,) = await people(playing, replicas[1], "new")
        for player in (new, twin):
            await metadata_of_refusal(player, match_id)


async def test_R12_9_free_matches_played_to_the_end_unlock_the_opening_coins(
    playing: Playing,
) -> None:
    replica = await playing.replica(opening_free_matches_min=2)
    players = await people(playing, replica, "ann", "bob")
    table = (await players[0].open(staked(OPENING))).match_id
    for played in ("0", "1"):
        assert (await metadata_of_refusal(players[0], table))["played_matches"] == played
        await play_free(players)
    for player in players:
        await player.sit(table)
    assert await balances(replica.store, players) == [(0, OPENING)] * 2


async def test_R12_9_a_match_against_a_bot_counts(playing: Playing) -> None:
    replica = await playing.replica(opening_free_matches_min=1)
    (ann,) = await people(playing, replica, "ann")
    match_id = (await ann.open(SETTINGS)).match_id
    await ann.sit(match_id)
    await ann.seat_bot(match_id)
    await play_out([ann], match_id)
    await ann.sit((await ann.open(staked(OPENING))).match_id)


async def test_R9_6_R12_9_cancelled_abandoned_and_staked_matches_do_not_count(
    playing: Playing,
) -> None:
    replica = await playing.replica(opening_free_matches_min=1)
    players = ann, bob = await people(playing, replica, "ann", "bob")
    await leave(bob, await seated(list(players)))
    waiting = (await ann.open(SETTINGS)).match_id
    await ann.sit(waiting)
    await ann.call("CancelTable", api.CancelTableRequest(match_id=waiting, request_id=new_id()))
    for player in players:
        await replica.store.ledger.open_account(player.name, OPENING)
        await grant(replica.store, uuid4(), player.name, 10)
    await play_out(list(players), await seated(list(players), staked(5)))
    for player in players:
        table = (await player.open(staked(500))).match_id
        assert (await metadata_of_refusal(player, table))["played_matches"] == "0"


async def test_R12_9_granted_coins_can_be_staked_at_once_and_return_to_be_staked_again(
    playing: Playing,
) -> None:
    replica = await playing.replica(opening_free_matches_min=3)
    (ann,) = await people(playing, replica, "ann")
    await replica.store.ledger.open_account("ann", OPENING)
    await grant(replica.store, UUID(new_id()), "ann", 100)
    for _ in range(2):
        match_id = (await ann.open(staked(60))).match_id
        await ann.sit(match_id)
        second = (await ann.open(staked(60))).match_id
        assert (await metadata_of_refusal(ann, second))["stakeable_coins"] == "40"
        await leave(ann, match_id)
    await ann.sit((await ann.open(staked(100))).match_id)
    assert await balances(replica.store, [ann]) == [(OPENING, 100)]


async def test_R12_2_too_few_coins_come_before_locked_ones(playing: Playing) -> None:
    replica = await playing.replica(opening_free_matches_min=3)
    (ann,) = await people(playing, replica, "ann")
    async with refused(reasons.ERROR_REASON_INSUFFICIENT_COINS):
        await ann.sit((await ann.open(staked(OPENING + 1))).match_id)


async def test_R12_9_a_rebuilt_lobby_counts_the_same_free_matches(
    playing: Playing, database: Database
) -> None:
    replica = await playing.replica(opening_free_matches_min=1)
    players = await people(playing, replica, "ann", "bob")
    await play_free(players)
    await execute(database.owner_dsn, "UPDATE matches SET played_free = false")
    table = (await players[0].open(staked(1))).match_id
    await metadata_of_refusal(players[0], table)
    await rebuild(replica.store, replica.config)
    await players[0].sit(table)
