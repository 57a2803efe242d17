"""ReviewMatch over gRPC: who may have a match reviewed, when, and the review itself."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any
from uuid import uuid4

import pytest
from grpc import aio

from durak.v1 import match_service_pb2 as api
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.match_service_pb2 import ReviewVerdict
from durak.v1.table_pb2 import EndgameResult
from eventstore import Append, EventStore, first_hash
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import TAKE, Table, move_of
from tests.service.playing import (
    DEADLINE_S,
    KEY,
    Player,
    Playing,
    Replica,
    play_out,
    playing,
    reason_of,
    refused,
    seated,
    until,
)

__all__ = ["playing"]

PATIENCE_S = DEADLINE_S - 2  # a busy machine leaves little CPU time for the workers


async def stored(store: EventStore, table: Table) -> str:
    """Store the match of a table as one append."""
    match_id = uuid4()
    datas = []
    for record in table.records:
        record.match_id = match_id.bytes
        datas.append(record.SerializeToString())
    await store.append(Append(match_id, 0, first_hash(match_id), datas))
    return str(match_id)


async def review(player: Player, match_id: str) -> list[api.ReviewedMove]:
    request = api.ReviewMatchRequest(match_id=match_id)
    return list((await player.call("ReviewMatch", request)).moves)


async def in_role(playing: Playing, replica: Replica, name: str, *roles: str) -> Player:
    """A caller whose token has these roles."""
    player = await playing.player(replica, name)
    token = KEY.mint(name, roles=roles, issuer="durak", audience="durak", lifetime_seconds=600)
    player.metadata = (("authorization", f"Bearer {token}"),)
    return player


async def test_a_move_that_gives_a_win_away_is_reported_with_the_better_move(
    playing: Playing,
) -> None:
    # B cannot beat K♦ and would take it; then 6♣ would be A's last card.
    table = endgame_table("6♣ K♦", "9♣ K♥", trump="♠")
    right = move_of(table.match, "K♦")
    table.play("A: 6♣", "B: 9♣ beats 6♣", "A: pass", "B: K♥", "A: take")
    replica = await playing.replica(review_seconds_max=PATIENCE_S)
    match_id = await stored(replica.store, table)
    ann = await playing.player(replica, "player-A")
    moves = (await review(ann, match_id))[-5:]
    assert [move.seat for move in moves] == [0, 1, 0, 1, 0]
    first = moves[0]
    assert first.move == move_of(table.match, "6♣")
    assert first.version == moves[1].version - 1
    assert first.verdict == ReviewVerdict.REVIEW_VERDICT_GAVE_AWAY
    assert first.before == EndgameResult.ENDGAME_RESULT_WIN
    assert first.after == EndgameResult.ENDGAME_RESULT_LOSS
    assert first.better_move == right
    for move in moves[1:]:
        result = (
            EndgameResult.ENDGAME_RESULT_WIN if move.seat else EndgameResult.ENDGAME_RESULT_LOSS
        )
        assert move.verdict == ReviewVerdict.REVIEW_VERDICT_KEPT
        assert move.before == move.after == result
        assert move.WhichOneof("better") is None
    assert moves[-1].move == TAKE


async def test_waiting_can_be_the_better_move(playing: Playing) -> None:
    # Without Q♦, J♠ must beat 10♦: a draw. With Q♦, one of the two is left as the last card.
    table = endgame_table("Q♥ Q♦ J♠", "10♦ K♦ 8♠", trump="♠")
    table.play("A: Q♥", "A: Q♦", "B: 8♠ beats Q♥", "B: K♦ beats Q♦", "A: pass")
    table.play("B: 10♦", "A: J♠ beats 10♦")
    replica = await playing.replica(review_seconds_max=PATIENCE_S)
    match_id = await stored(replica.store, table)
    ann = await playing.player(replica, "player-A")
    throw = (await review(ann, match_id))[-6]
    assert throw.verdict == ReviewVerdict.REVIEW_VERDICT_GAVE_AWAY
    assert throw.WhichOneof("better") == "better_to_wait"
    assert throw.better_to_wait


async def test_only_players_of_the_match_and_auditors_may_have_it_reviewed(
    playing: Playing,
) -> None:
    replica = await playing.replica(review_seconds_max=PATIENCE_S)
    ann, bob, eve = [await playing.player(replica, name) for name in ("ann", "bob", "eve")]
    match_id = await seated([ann, bob])
    await play_out([ann, bob], match_id)
    auditor = await in_role(playing, replica, "olga", "auditor")
    seen = [await review(player, match_id) for player in (ann, bob, auditor)]
    assert seen[0] == seen[1] == seen[2] != []
    async with refused(ErrorReason.ERROR_REASON_NOT_SEATED):
        await review(eve, match_id)
    async with refused(ErrorReason.ERROR_REASON_NOT_SEATED):
        await review(await in_role(playing, replica, "pia", "player", "operator"), match_id)
    async with refused(ErrorReason.ERROR_REASON_ROLE_REQUIRED):
        await review(await in_role(playing, replica, "ann", "operator"), match_id)
    async with refused(ErrorReason.ERROR_REASON_MATCH_NOT_FOUND):
        await review(ann, str(uuid4()))
    async with refused(ErrorReason.ERROR_REASON_MALFORMED_FIELD):
        await review(ann, "this one")


@pytest.mark.parametrize("roles", [("player",), ("auditor",)])
async def test_a_match_that_has_not_ended_is_not_reviewed(
    playing: Playing, roles: tuple[str, ...]
) -> None:
    replica = await playing.replica(review_seconds_max=PATIENCE_S)
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    waiting = (await ann.open()).match_id
    await ann.sit(waiting)
    running = await seated([ann, bob])
    reader = await in_role(playing, replica, "ann", *roles)
    for match_id in (waiting, running):
        async with refused(ErrorReason.ERROR_REASON_MATCH_NOT_ENDED):
            await review(reader, match_id)


async def test_moves_that_the_solver_has_no_time_for_are_undecided(playing: Playing) -> None:
    table = endgame_table("6♥ 9♦ K♣ 8♣ Q♦ 7♠", "7♥ 10♦ K♥ 9♣ J♣ 8♠", trump="♠")
    table.play("A: 6♥", "B: leave")
    few = await playing.replica(review_seconds_max=PATIENCE_S, review_positions_max=10)
    enough = await playing.replica(review_seconds_max=PATIENCE_S)
    match_id = await stored(few.store, table)
    [undecided] = (await review(await playing.player(few, "player-A"), match_id))[-1:]
    assert undecided.verdict == ReviewVerdict.REVIEW_VERDICT_UNDECIDED
    assert not undecided.before
    assert not undecided.after
    [decided] = (await review(await playing.player(enough, "player-A"), match_id))[-1:]
    assert decided.verdict != ReviewVerdict.REVIEW_VERDICT_UNDECIDED
    assert decided.before


async def of_reviewers(playing: Playing, names: str, **settings: Any) -> list[Player]:
    """Auditors, on a replica with these settings."""
    replica = await playing.replica(review_seconds_max=PATIENCE_S, **settings)
    return [await in_role(playing, replica, name, "auditor") for name in names.split()]


async def ended_match(playing: Playing) -> str:
    replica = await playing.replica()
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await seated(players)
    await play_out(players, match_id)
    return match_id


async def test_each_caller_may_have_one_review_at_a_time(playing: Playing) -> None:
    match_id = await ended_match(playing)
    cleo, dora = await of_reviewers(playing, "cleo dora", reviews_max=2)
    both = [asyncio.create_task(review(cleo, match_id)) for _ in range(2)]
    done, running = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    (second,), (first,) = done, running  # refused before anything is read
    async with refused(ErrorReason.ERROR_REASON_OVERLOADED):
        await second
    assert await review(dora, match_id) == await first == await review(cleo, match_id) != []


async def test_two_accounts_that_repeat_reviews_do_not_keep_a_third_out(playing: Playing) -> None:
    match_id = await ended_match(playing)
    *greedy, ann = await of_reviewers(playing, "eve max ann", reviews_max=1)
    made = Counter[str]()

    async def repeat(player: Player) -> None:
        while True:
            await review(player, match_id)
            made[player.name] += 1

    repeating = [asyncio.create_task(repeat(player)) for player in greedy]
    await until(lambda: len(made) == len(greedy))
    assert await review(ann, match_id)
    for task in repeating:
        assert not task.done()
        task.cancel()
    await asyncio.wait(repeating)


async def test_reviews_beyond_the_queue_or_its_time_are_OVERLOADED(playing: Playing) -> None:
    match_id = await ended_match(playing)
    limits: dict[str, dict[str, float]] = {
        "a b c": {"reviews_waiting_max": 1},
        "a b": {"review_wait_seconds_max": 0.000_001},
    }
    for names, limit in limits.items():
        reviewers = await of_reviewers(playing, names, reviews_max=1, **limit)
        found = await asyncio.gather(
            *(review(reviewer, match_id) for reviewer in reviewers), return_exceptions=True
        )
        [error] = [one for one in found if not isinstance(one, list)]
        assert isinstance(error, aio.AioRpcError)
        assert reason_of(error) == ErrorReason.ERROR_REASON_OVERLOADED


async def test_a_review_without_a_worker_is_OVERLOADED_and_one_during_shutdown_DRAINING(
    playing: Playing,
) -> None:
    replica = await playing.replica(review_seconds_max=0.000_001)
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await seated(players)
    await play_out(players, match_id)
    async with refused(ErrorReason.ERROR_REASON_OVERLOADED):
        await review(players[0], match_id)
    await replica.engine.workers.close()
    async with refused(ErrorReason.ERROR_REASON_DRAINING):
        await review(players[0], match_id)
