"""Watches: every version once, in order, redacted for the reader; and no leaks."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from contextlib import suppress
from typing import Any
from uuid import UUID

import asyncpg
import grpc
from grpc import aio
from structlog.testing import capture_logs

from domain.match.fold import Match
from domain.match.view import table_view
from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Record
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Phase
from service.matches.changes import EventMessage
from tests.service.playing import (
    DEADLINE_S,
    Player,
    Playing,
    Replica,
    log_of,
    new_id,
    play_out,
    playing,
    refused,
    rest_of,
    seated,
    take,
    take_until_caught_up,
    until,
    without_server_time,
)
from tests.service.wire import Wire

__all__ = ["playing"]


async def pair(playing: Playing, replica: Replica) -> list[Player]:
    return [await playing.player(replica, name) for name in ("ann", "bob")]


async def versions(watch: Any) -> list[int]:
    """The versions of all events of a watch until it ends."""
    async with asyncio.timeout(60):
        return [one.event.version async for one in rest_of(watch) if one.HasField("event")]


async def come_and_go(player: Player, match_id: str) -> None:
    """Two commands that cancel each other out at a waiting table."""
    await player.sit(match_id)
    leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    await player.call("LeaveMatch", leave)


async def test_a_watch_sends_past_events_then_new_events_and_then_ends(playing: Playing) -> None:
    replica = await playing.replica()
    players = await pair(playing, replica)
    match_id = await seated(players)
    late = players[0].watch(match_id, after=2)
    assert [event.version for event in await take_until_caught_up(late)] == [3, 4]
    await play_out(players, match_id)
    rest = await versions(late)
    assert rest == list(range(5, len(await log_of(replica.store, match_id)) + 1))
    assert await late.code() == grpc.StatusCode.OK
    whole = players[1].watch(match_id)
    assert len(await take_until_caught_up(whole)) == rest[-1]
    assert await whole.read() is aio.EOF


async def test_watches_that_start_at_any_moment_miss_and_repeat_no_event(playing: Playing) -> None:
    replica = await playing.replica(watch_page_events=3)
    players = await pair(playing, replica)
    match_id = await seated(players)
    guest = await playing.player(replica, "guest")
    readers: list[asyncio.Task[list[int]]] = []

    async def keep_joining() -> None:
        while replica.engine.matches.get(UUID(match_id).bytes).match.phase != Phase.PHASE_ENDED:
            if len(readers) < 30:
                readers.append(asyncio.create_task(versions(guest.watch(match_id))))
            await asyncio.sleep(0)

    await asyncio.gather(play_out(players, match_id), keep_joining())
    expected = list(range(1, len(await log_of(replica.store, match_id)) + 1))
    assert readers
    for seen in await asyncio.gather(*readers):
        assert seen == expected


async def test_a_resumed_watch_on_another_replica_sees_each_event_once(playing: Playing) -> None:
    first, second = await playing.replica(), await playing.replica()
    players = await pair(playing, first)
    match_id = await seated(players)
    guests = [await playing.player(replica, "guest") for replica in (first, second)]
    finished = asyncio.create_task(play_out(players, match_id))
    seen: list[int] = []
    turn = 0
    while True:
        watch = guests[turn % 2].watch(match_id, after=len(seen))
        turn += 1
        async with asyncio.timeout(DEADLINE_S):
            for _ in range(7):
                message = await watch.read()
                if message is aio.EOF:
                    break
                if message.HasField("event"):
                    seen.append(message.event.version)
            else:
                watch.cancel()
                continue
        break
    await finished
    assert seen == list(range(1, len(await log_of(first.store, match_id)) + 1))
    assert turn > 3


async def test_views_come_with_caught_up_and_after_each_command(playing: Playing) -> None:
    replica = await playing.replica()
    players = await pair(playing, replica)
    match_id = await seated(players)
    watch = players[1].watch(match_id, views=True)
    messages = await take(watch, 6)  # the deal, caught_up, a view
    await play_out(players, match_id)
    messages += [message async for message in rest_of(watch)]
    records = await log_of(replica.store, match_id)
    match = Match()
    views = 0
    for message in messages:
        if message.HasField("event"):
            match.apply(records[message.event.version - 1])
        elif message.HasField("view"):
            views += 1
            assert without_server_time(message.view) == table_view(match, 1)
    commands = {record.request_id for record in records[4:]}
    assert views == 1 + len(commands)


async def test_a_spectator_who_sits_down_sees_their_own_cards(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    match_id = (await ann.open()).match_id
    watch = ann.watch(match_id, views=True)
    await take(watch, 3)  # table_opened, caught_up, view
    await bob.sit(match_id, seat=1)
    await ann.sit(match_id, seat=0)
    seat_taken, _, mine, dealt, view = await take(watch, 5)
    assert seat_taken.event.event.seat_taken.seat == 1
    assert mine.event.event.seat_taken.player_id == "ann"
    assert 0 not in dealt.event.event.dealt.hands[0].cards
    assert set(dealt.event.event.dealt.hands[1].cards) <= {0, dealt.event.event.dealt.trump_card}
    assert len(view.view.hand) == 6


async def test_a_watch_beyond_the_head_is_refused(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    match_id = await seated([ann, bob])
    async with refused(reasons.ERROR_REASON_VERSION_BEYOND_HEAD):
        await ann.watch(match_id, after=5).read()
    assert [event.version for event in await take_until_caught_up(ann.watch(match_id, 4))] == []


async def test_a_watch_without_events_gets_heartbeats(playing: Playing) -> None:
    replica = await playing.replica(heartbeat_interval_seconds=0.05)
    ann = await playing.player(replica, "ann")
    watch = ann.watch((await ann.open()).match_id)
    assert [message.WhichOneof("kind") for message in await take(watch, 5)] == [
        "event",
        "caught_up",
        "heartbeat",
        "heartbeat",
        "heartbeat",
    ]


async def test_a_watch_ends_with_its_token(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann", lifetime_s=2)
    watch = ann.watch((await ann.open()).match_id)
    await take(watch, 2)
    async with refused(reasons.ERROR_REASON_TOKEN_EXPIRED):
        async with asyncio.timeout(DEADLINE_S):
            await watch.read()
    await until(lambda: replica.limits.watches == 0)


async def test_watches_end_when_the_service_drains(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    watch = ann.watch((await ann.open()).match_id)
    await take(watch, 2)
    replica.interceptor.drain()
    async with refused(reasons.ERROR_REASON_DRAINING):
        await watch.read()


async def test_a_slow_watcher_is_cut_off_and_can_resume(playing: Playing) -> None:
    replica = await playing.replica(watch_queue_events_max=16)
    ann = await playing.player(replica, "ann")
    slow = await playing.player(replica, "slow", is_slow=True)
    match_id = (await ann.open()).match_id
    watch = slow.watch(match_id, views=True)
    first = [message.WhichOneof("kind") for message in await take(watch, 3)]
    assert first == ["event", "caught_up", "view"]
    live = replica.engine.matches.get(UUID(match_id).bytes)
    big = b"x" * 32
    # From here on nothing is read, until the transport and the queue are full.
    while live.listeners:
        sit = api.TakeSeatRequest(match_id=match_id, request_id=new_id(), client_seed_hash=big)
        await ann.call("TakeSeat", sit)
        leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
        await ann.call("LeaveMatch", leave)
    assert replica.engine.matches.context.counters.slow_watches == 1
    seen = [1]
    async with refused(reasons.ERROR_REASON_SLOW_WATCHER):
        async for message in rest_of(watch):
            seen += [message.event.version] if message.HasField("event") else []
    head = live.match.version
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) < head
    again = await take_until_caught_up(slow.watch(match_id, after=seen[-1]))
    assert [event.version for event in again] == list(range(seen[-1] + 1, head + 1))


async def test_too_many_watches_of_one_player_are_refused(playing: Playing) -> None:
    replica = await playing.replica(caller_watches_max=2)
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open()).match_id
    watches = [ann.watch(match_id) for _ in range(2)]
    for watch in watches:
        await watch.read()
    async with refused(reasons.ERROR_REASON_TOO_MANY_WATCHES):
        await ann.watch(match_id).read()


async def test_nothing_is_left_of_abandoned_watches(playing: Playing) -> None:
    replica = await playing.replica(caller_watches_max=1000)
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open()).match_id
    live = replica.engine.matches.get(UUID(match_id).bytes)

    async def abandon(count: int) -> None:
        wire = Wire(("127.0.0.1", replica.port))
        await wire.open()
        channel = aio.insecure_channel(f"127.0.0.1:{wire.port}")
        guest = Player(channel, "guest")
        watches = [guest.watch(match_id) for _ in range(count)]
        await asyncio.gather(*(watch.read() for watch in watches))
        assert replica.limits.watches == count
        await wire.close()  # the client disappears without cancelling
        await until(lambda: replica.limits.watches == 0)
        assert not live.listeners
        assert live.pins == 0
        for watch in watches:
            with suppress(aio.AioRpcError, asyncio.CancelledError):
                await watch.read()
        await channel.close()

    await abandon(100)
    gc.collect()
    tracemalloc.start()
    try:
        await abandon(200)
        gc.collect()
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(3):
            await abandon(200)

        def grown() -> int:
            gc.collect()
            return tracemalloc.get_traced_memory()[0] - first

        # 600 more watches take some kilobytes each while they are open. gRPC frees the last ones
        # shortly after they end.
        await until(lambda: grown() < 300_000)
    finally:
        tracemalloc.stop()
    await come_and_go(ann, match_id)


async def test_an_event_is_serialized_once_for_all_viewers_who_see_the_same(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    players = await pair(playing, replica)
    match_id = await seated(players)
    records = await log_of(replica.store, match_id)
    trump_card = records[-1].event.dealt.trump_card
    for record in records:
        change = EventMessage(record, trump_card)
        assert change.encoded(None) is change.encoded(None)
        same = change.encoded(0) is change.encoded(1)
        assert same == (record.event.WhichOneof("kind") == "seat_taken")


async def test_events_stored_by_another_replica_come_in_groups_of_commands(
    playing: Playing,
) -> None:
    first, second = await playing.replica(), await playing.replica()
    ann = await playing.player(first, "ann")
    guest = await playing.player(second, "guest")
    settings = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL)
    match_id = (await ann.open(settings)).match_id
    watch = guest.watch(match_id, views=True)
    await take(watch, 3)
    await ann.sit(match_id)
    await ann.seat_bot(match_id)
    seen = await take(watch, 5)
    assert [message.WhichOneof("kind") for message in seen] == [
        "event",
        "view",
        "event",
        "event",
        "view",
    ]
    assert seen[1].view.version == 2
    assert seen[4].view.version == 4
    assert seen[4].view.phase == Phase.PHASE_PLAYING


async def test_a_record_that_breaks_the_chain_is_not_shown(playing: Playing, database: Any) -> None:
    replica = await playing.replica(live_matches_bytes_max=2**16)
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open()).match_id
    await ann.open()  # evicts the first from memory
    connection = await asyncpg.connect(database.owner_dsn)
    try:
        stored = await replica.store.read(UUID(match_id))
        record = Record.FromString(stored[0].record)
        record.event.table_opened.owner_id = "mallory"
        await connection.execute("ALTER TABLE events DISABLE TRIGGER events_append_only")
        await connection.execute(
            "UPDATE events SET record = $1 WHERE stream_id = $2",
            record.SerializeToString(),
            UUID(match_id),
        )
    finally:
        await connection.close()
    with capture_logs() as lines:
        async with refused(reasons.ERROR_REASON_LOG_CORRUPT):
            await ann.get(match_id)
    [line] = [line for line in lines if line["event"] == "call failed"]
    assert line["exc_info"].__notes__ == [f"match {match_id}"]
