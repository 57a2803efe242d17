"""Live matches: replicas share one log, through conflicts, lost connections and evictions."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count
from uuid import UUID

import pytest
from grpc import aio

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import Deck, Settings
from durak.v1.table_pb2 import Move, TakeMove
from service.matches.match_size import SIZE_MIN
from tests.service.playing import (
    SETTINGS,
    Player,
    Playing,
    easy_move,
    folded,
    has_move,
    log_of,
    new_id,
    play_out,
    playing,
    reason_of,
    refused,
    rest_of,
    seated,
    until,
    without_server_time,
)
from tests.service.wire import Wire, wire_to_database

__all__ = ["playing"]


async def wire_to(playing: Playing) -> Wire:
    """A wire between the database and the replicas that start after this call."""
    wire, playing.dsn = await wire_to_database(playing.dsn)
    playing.stack.push_async_callback(wire.close)  # after the replicas, which need it to stop
    playing.stack.callback(wire.repair)
    return wire


async def test_two_replicas_play_one_match(playing: Playing) -> None:
    first, second = await playing.replica(), await playing.replica()
    ann = await playing.player(first, "ann")
    bob = await playing.player(second, "bob")
    match_id = await seated([ann, bob])
    await play_out([ann, bob], match_id)
    match = await folded(first.store, match_id)
    for replica in (first, second):
        live = replica.engine.matches.get(match.match_id)
        await until(lambda live=live: live.match.version == match.version)  # type: ignore[misc]


async def test_two_replicas_that_race_on_one_match_lose_and_repeat_no_command(
    playing: Playing,
) -> None:
    replicas = [await playing.replica(conflict_retries_max=200) for _ in range(2)]
    settings = Settings()
    settings.CopyFrom(SETTINGS)
    settings.seats = 6
    settings.deck = Deck.DECK_52
    owner = await playing.player(replicas[0], "owner")
    match_id = (await owner.open(settings)).match_id

    async def sit_and_leave(number: int) -> int:
        player = await playing.player(replicas[number % 2], f"player-{number}")
        for _ in range(8):
            await player.sit(match_id)
            leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
            await player.call("LeaveMatch", leave)
        return 16

    acknowledged = sum(await asyncio.gather(*(sit_and_leave(number) for number in range(5))))
    records = await log_of(replicas[0].store, match_id)
    assert len(records) == 1 + acknowledged
    commands = [(record.actor_id, record.request_id) for record in records]
    assert len(set(commands)) == len(commands)
    assert sum(replica.engine.matches.context.counters.conflicts for replica in replicas) > 0


async def test_one_request_sent_to_two_replicas_takes_effect_once(playing: Playing) -> None:
    replicas = [await playing.replica() for _ in range(2)]
    ann, bob = [await playing.player(replicas[0], name) for name in ("ann", "bob")]
    match_id = await seated([ann, bob])
    before = len(await log_of(replicas[0].store, match_id))
    mover = ann if has_move(await ann.get(match_id)) else bob
    twin = await playing.player(replicas[1], mover.name)
    move = easy_move(await mover.get(match_id))
    request = api.PlayRequest(match_id=match_id, request_id=new_id(), move=move)
    one, other = await asyncio.gather(mover.call("Play", request), twin.call("Play", request))
    assert without_server_time(one.view) == without_server_time(other.view)
    assert len(await log_of(replicas[0].store, match_id)) == before + 1


async def test_a_command_is_refused_only_on_the_newest_state_of_the_log(playing: Playing) -> None:
    first, second = await playing.replica(), await playing.replica()
    ann, bob = [await playing.player(first, name) for name in ("ann", "bob")]
    match_id = await seated([ann, bob])
    leader, other = (ann, bob) if has_move(await ann.get(match_id)) else (bob, ann)
    there = await playing.player(second, other.name)
    await there.get(match_id)  # the match is in memory there, as of the deal
    await leader.play(match_id, easy_move(await leader.get(match_id)))
    view = await there.play(match_id, Move(take=TakeMove()))  # at once, before the tail is read
    assert view.taking or not view.table


async def test_after_a_cancelled_call_memory_and_log_agree(playing: Playing) -> None:
    replica = await playing.replica()
    owner = await playing.player(replica, "owner")
    match_id = (await owner.open()).match_id
    ann = await playing.player(replica, "ann")
    live = replica.engine.matches.get(bytes.fromhex(match_id.replace("-", "")))
    for turns in range(0, 30, 2):  # steps of the event loop; a seat can be given up sixteen times
        sit = api.TakeSeatRequest(match_id=match_id, request_id=new_id())
        call = ann.stub.TakeSeat(sit, metadata=ann.metadata)
        for _ in range(turns):
            await asyncio.sleep(0)
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        await until(lambda: not live.is_busy)
        assert live.match.version == len(await log_of(replica.store, match_id))
        view = await ann.get(match_id)
        if view.HasField("your_seat"):
            leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
            await ann.call("LeaveMatch", leave)
    await until(lambda: replica.limits.calls == 0)


async def test_a_command_whose_answer_was_lost_takes_effect_once(playing: Playing) -> None:
    wire = await wire_to(playing)
    replica = await playing.replica()
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await seated([ann, bob])
    mover = ann if has_move(await ann.get(match_id)) else bob
    before = len(await log_of(replica.store, match_id))
    request = api.PlayRequest(
        match_id=match_id, request_id=new_id(), move=easy_move(await mover.get(match_id))
    )
    wire.swallows_answers = True  # the database stores it, but its answer is lost
    call = asyncio.create_task(mover.call("Play", request))
    await wire.swallowed.wait()
    wire.cut()
    with pytest.raises(aio.AioRpcError) as caught:
        await call
    assert reason_of(caught.value) == reasons.ERROR_REASON_STORE_UNAVAILABLE
    wire.repair()
    view = (await mover.call("Play", request)).view
    assert view.version == before + 1
    assert len(await log_of(replica.store, match_id)) == before + 1


async def test_calls_are_refused_while_the_database_is_unavailable(playing: Playing) -> None:
    wire = await wire_to(playing)
    replica = await playing.replica()
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await seated([ann, bob])
    mover = ann if has_move(await ann.get(match_id)) else bob
    move = easy_move(await mover.get(match_id))
    wire.cut()
    request_id = new_id()
    async with refused(reasons.ERROR_REASON_STORE_UNAVAILABLE):
        await mover.play(match_id, move, request_id=request_id)
    async with refused(reasons.ERROR_REASON_STORE_UNAVAILABLE):
        await ann.get(match_id)
    wire.repair()
    await mover.play(match_id, move, request_id=request_id)
    await play_out([ann, bob], match_id)
    await folded(replica.store, match_id)


async def test_the_memory_of_matches_is_limited(playing: Playing) -> None:
    replica = await playing.replica(live_matches_bytes_max=4 * 2**16)
    matches = replica.engine.matches
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    tables = [await seated(players) for _ in range(8)]
    assert len(matches) <= 4
    for match_id in tables:  # an evicted match is folded again
        await play_out(players, match_id)
        assert matches.bytes <= 4 * 2**16
        await folded(replica.store, match_id)


async def test_matches_in_use_are_not_evicted(playing: Playing) -> None:
    replica = await playing.replica(live_matches_bytes_max=2 * 2**16)
    ann = await playing.player(replica, "ann")
    watches = []
    for _ in range(2):
        watch = ann.watch((await ann.open()).match_id)
        await watch.read()
        watches.append(watch)
    async with refused(reasons.ERROR_REASON_OVERLOADED):
        await ann.open()
    watches[0].cancel()
    await until(lambda: replica.limits.watches == 1)
    await ann.open()


async def play_by_calls(players: list[Player], match_id: str, moves: int | None = None) -> None:
    """Play a match without a watch: some moves, or to its end."""
    while moves != 0:
        for player in players:
            view = await player.get(match_id)
            if view.HasField("result"):
                return
            if has_move(view):
                await player.play(match_id, easy_move(view))
                moves = None if moves is None else moves - 1
                break


async def test_O18_watches_leave_room_for_commands(playing: Playing) -> None:
    tables_max = 20
    replica = await playing.replica(
        live_matches_bytes_max=tables_max * (SIZE_MIN + 1_600), caller_tables_max=100
    )
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    tables = [(await ann.open()).match_id for _ in range(19)]
    watches = [ann.watch(match_id) for match_id in tables[:18]]
    for watch in watches:
        await watch.read()
    again = bob.watch(tables[0])  # a match that is watched already takes no more room
    await again.read()
    async with refused(reasons.ERROR_REASON_OVERLOADED):
        await ann.watch(tables[18]).read()
    for _ in range(2):
        await play_by_calls([ann, bob], await seated([ann, bob]))
    watches[0].cancel()
    again.cancel()
    await until(lambda: replica.limits.watches == 17)
    await ann.watch(tables[18]).read()


async def test_O18_matches_that_grow_while_they_are_watched_leave_room(playing: Playing) -> None:
    bytes_max = 10 * SIZE_MIN + 20_000
    replica = await playing.replica(live_matches_bytes_max=bytes_max, caller_tables_max=100)
    matches = replica.engine.matches
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    tables = [await seated(players) for _ in range(9)]
    for match_id in tables:
        await players[0].watch(match_id).read()
    for match_id in tables:
        await play_by_calls(players, match_id, moves=12)
    assert matches.bytes + SIZE_MIN > bytes_max
    await play_by_calls(players, await seated(players))


async def test_an_ended_match_leaves_memory_soon(playing: Playing) -> None:
    replica = await playing.replica(ended_match_seconds=0.05)
    matches = replica.engine.matches
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    running = (await players[0].open()).match_id
    ended = await play_out(players, await seated(players))
    await until(lambda: len(matches) == 1)
    assert matches.find(UUID(running).bytes) is not None
    assert (await players[0].get(ended.match_id)).result == ended.result  # it is folded again
    watch = players[1].watch(ended.match_id, 0)
    assert [one async for one in rest_of(watch)]
    await until(lambda: len(matches) == 1)


async def test_a_command_is_refused_when_every_retry_meets_a_conflict(playing: Playing) -> None:
    rival = await playing.replica()
    bob = await playing.player(rival, "bob")
    match_id = (await bob.open()).match_id
    wire = await wire_to(playing)
    replica = await playing.replica(conflict_retries_max=2)
    ann = await playing.player(replica, "ann")
    await ann.get(match_id)
    gate = asyncio.Lock()
    numbers = count()
    guest: Player | None = None

    async def overtake() -> None:
        """Store another command first, through the other replica: a guest sits down or leaves."""
        nonlocal guest
        async with gate:
            if guest is None:
                guest = await playing.player(rival, f"guest-{next(numbers)}")
                await guest.sit(match_id)
            else:
                leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
                await guest.call("LeaveMatch", leave)
                guest = None

    wire.before_request = overtake
    async with refused(reasons.ERROR_REASON_CONTENTION):
        await ann.sit(match_id)
    wire.before_request = None
    assert replica.engine.matches.context.counters.conflicts == 3
    await ann.sit(match_id)
    records = await log_of(rival.store, match_id)
    seats_taken = [record.event.seat_taken.player_id for record in records]
    assert seats_taken.count("ann") == 1
