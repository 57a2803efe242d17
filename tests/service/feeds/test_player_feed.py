"""WatchPlayer: everything that concerns a player, once, in order, on any replica."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Outcome
from durak.v1.wallet_service_pb2 import TransferKind
from service.feeds.position import Position
from service.rpc.failures import Failures
from service.standings.scorekeeper import Scorekeeper
from tests.conftest import Database
from tests.service.feeds.reading import (
    Reader,
    expected_news,
    kinds_and_versions,
    reading,
)
from tests.service.matches.test_coin_moves import staked
from tests.service.matches.test_following import lose_the_end, move
from tests.service.playing import (
    Player,
    Playing,
    Replica,
    log_of,
    new_id,
    play_out,
    playing,
    refused,
    seated,
    until,
)

__all__ = ["playing"]


async def pair(playing: Playing, replica: Replica) -> list[Player]:
    return [await playing.player(replica, name) for name in ("ann", "bob")]


async def test_a_feed_reports_seats_deal_turns_and_the_end_of_a_match(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    async with reading(Reader(ann)) as feed:
        match_id = await seated([ann, bob])
        await until(lambda: "dealt" in feed.kinds)
        await play_out([ann, bob], match_id)
        await until(lambda: "match_over" in feed.kinds)
    assert feed.kinds[:3] == ["seat_taken", "seat_taken", "dealt"]
    [first, second] = feed.of_kind("seat_taken")
    assert (first.player_id, second.player_id) == ("ann", "bob")
    assert feed.of_kind("dealt")[0].seat == 0
    assert feed.of_kind("match_over")[0].result.outcome in {
        Outcome.OUTCOME_PLAYED_OUT,
        Outcome.OUTCOME_DRAW,
    }
    log = await log_of(replica.store, match_id)
    assert kinds_and_versions(feed.of_match(match_id)) == expected_news(log, "ann")
    assert "your_turn" in feed.kinds


async def test_a_turn_has_the_deadline_of_the_view(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    match_id = await seated([ann, bob])
    view = await ann.get(match_id)
    waiting = [ann, bob][view.on_clock[0]]
    reader = Reader(waiting)  # a feed without a position begins with the turns of now
    await reader.catch_up()
    [turn] = reader.of_kind("your_turn")
    assert (turn.match_id, turn.version) == (match_id, view.version)
    assert turn.deadline_time == view.deadline_time
    other = Reader([ann, bob][1 - view.on_clock[0]])
    await other.catch_up()
    assert other.news == []


@pytest.mark.parametrize("replicas", [1, 2])
async def test_a_resumed_feed_has_every_news_of_the_logs_once_and_in_order(
    playing: Playing, replicas: int
) -> None:
    first = await playing.replica()
    second = await playing.replica() if replicas == 2 else first
    ann, bob = await pair(playing, first)
    readers = [await playing.player(replica, "ann") for replica in (first, second)]
    reader = Reader(readers[0])
    await reader.catch_up()
    matches: list[str] = []

    async def play() -> None:
        for _ in range(2):
            ids = await asyncio.gather(*(seated([ann, bob]) for _ in range(3)))
            matches.extend(ids)
            await asyncio.gather(*(play_out([ann, bob], match_id) for match_id in ids))

    running = asyncio.create_task(play())
    turns = 0
    while not running.done():  # come and go, each time after a few messages, on any replica
        turns += 1
        reader.player = readers[turns % 2]
        wanted = len(reader.news) + 3
        await reader.read_until(lambda it: len(it.news) >= wanted or running.done())  # noqa: B023
    await running
    reader.player = readers[0]
    await reader.catch_up()
    assert turns > 3
    for match_id in matches:
        log = await log_of(first.store, match_id)
        assert kinds_and_versions(reader.of_match(match_id)) == expected_news(log, "ann")


async def test_a_feed_from_any_position_is_the_rest_of_the_whole_feed(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    start = Reader(ann)
    await start.catch_up()
    positions: list[tuple[str, int]] = [(start.position, 0)]
    async with reading(start) as feed:
        for _ in range(2):
            match_id = await seated([ann, bob])
            await play_out([ann, bob], match_id)
            await until(lambda: feed.kinds.count("match_over") == len(positions))
            positions.append((feed.position, len(feed.news)))
    for position, seen in positions:
        late = Reader(ann, position)
        await late.catch_up()
        assert late.news == start.news[seen:]


async def test_a_player_who_was_away_for_a_whole_match_gets_all_of_it(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    reader = Reader(ann)
    await reader.catch_up()
    match_id = await seated([ann, bob])
    await play_out([ann, bob], match_id)
    await reader.catch_up()
    log = await log_of(replica.store, match_id)
    assert kinds_and_versions(reader.of_match(match_id)) == expected_news(log, "ann")
    seen = len(reader.news)
    await reader.catch_up()
    assert len(reader.news) == seen


@pytest.mark.parametrize("replicas", [1, 2])
async def test_a_player_who_leaves_and_returns_misses_only_what_happened_between(
    playing: Playing, replicas: int
) -> None:
    first = await playing.replica()
    second = await playing.replica() if replicas == 2 else first
    ann, bob = await pair(playing, first)
    elsewhere = await playing.player(second, "bob")
    away = Reader(bob)
    await away.catch_up()
    ids = [(await ann.open()).match_id for _ in range(3)]
    async with reading(Reader(elsewhere)) as feed:
        for match_id in ids:
            await bob.sit(match_id, seat=1)
            leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
            await bob.call("LeaveMatch", leave)
            await ann.sit(match_id, seat=0)  # bob has no seat now
            await bob.sit(match_id, seat=1)
        await until(lambda: feed.kinds.count("dealt") == len(ids))
    expected = [("seat_taken", 2), ("seat_vacated", 3), ("seat_taken", 5), ("dealt", 6)]
    await away.catch_up()
    for match_id in ids:
        seen = kinds_and_versions(feed.of_match(match_id))
        assert [it for it in seen if it[0] != "your_turn"] == expected
        assert away.of_match(match_id) == feed.of_match(match_id)


async def test_a_removed_player_learns_of_it_and_of_nothing_later(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    carl = await playing.player(replica, "carl")
    match_id = (await ann.open()).match_id
    async with reading(Reader(bob)) as feed:
        await bob.sit(match_id, seat=1)
        remove = api.RemovePlayerRequest(match_id=match_id, request_id=new_id(), player_id="bob")
        await ann.call("RemovePlayer", remove)
        await until(lambda: "seat_vacated" in feed.kinds)
        await carl.sit(match_id, seat=1)
        await bob.open()  # news that come after those of carl's seat would have
        await bob.sit((await bob.open()).match_id, seat=0)
        await until(lambda: feed.kinds.count("seat_taken") == 2)
    assert kinds_and_versions(feed.of_match(match_id)) == [("seat_taken", 2), ("seat_vacated", 3)]
    assert feed.of_kind("seat_vacated")[0].removed


async def test_invitations_rematches_and_their_acceptance_reach_the_player(
    playing: Playing,
) -> None:
    first, second = await playing.replica(), await playing.replica()
    ann, bob = await pair(playing, first)
    elsewhere = await playing.player(second, "bob")
    async with reading(Reader(elsewhere)) as feed:
        request = api.OpenTableRequest(request_id=new_id(), invited=["bob"])
        request.settings.CopyFrom((await ann.open()).settings)
        private = (await ann.call("OpenTable", request)).view.match_id
        await until(lambda: "invitation" in feed.kinds)
        [invitation] = feed.of_kind("invitation")
        assert (invitation.match_id, invitation.owner_id) == (private, "ann")
        match_id = await seated([ann, bob])
        await play_out([ann, bob], match_id)
        again = api.RematchRequest(match_id=match_id, request_id=new_id())
        offered = (await ann.call("Rematch", again)).view.match_id
        await until(lambda: "rematch_offered" in feed.kinds)
        await until(lambda: bool(feed.of_match(offered)[1:]))
    [rematch] = feed.of_kind("rematch_offered")
    assert (rematch.match_id, rematch.rematch_of, rematch.seat) == (offered, match_id, 1)
    accepted = feed.of_match(offered)[1].seat_taken
    assert (accepted.player_id, accepted.is_rematch) == ("ann", True)


async def test_coins_reach_the_player_by_number(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    async with reading(Reader(ann)) as feed:
        match_id = await seated([ann, bob], staked(100))
        await until(lambda: len(feed.of_kind("coins_moved")) == 2)
        await play_out([ann, bob], match_id)
        await until(lambda: "match_over" in feed.kinds)
    after = Reader(ann, feed.position)
    await after.catch_up()
    transfers = feed.of_kind("coins_moved") + after.of_kind("coins_moved")
    stored = await replica.store.ledger.read_transfers("ann", 0, 100)
    assert [one.number for one in transfers] == [one.number for one in stored]
    assert [one.kind for one in transfers[:2]] == [
        TransferKind.TRANSFER_KIND_OPENING,
        TransferKind.TRANSFER_KIND_STAKE,
    ]


async def test_a_rating_is_news_when_its_match_is_counted(playing: Playing) -> None:
    replica, elsewhere = await playing.replica(), await playing.replica()
    ann, bob = await pair(playing, replica)
    async with reading(Reader(await playing.player(elsewhere, "ann"))) as feed:
        match_id = await seated([ann, bob])
        await play_out([ann, bob], match_id)
        assert "rating_changed" not in feed.kinds
        later = datetime.now(UTC) + timedelta(days=1)
        await Scorekeeper(replica.store, replica.config, Failures()).count(later)
        await until(lambda: "rating_changed" in feed.kinds)
    numbers = await replica.store.standings.read_rating("ann")
    assert numbers is not None
    [rating] = feed.of_kind("rating_changed")
    assert (rating.match_id, rating.points) == (match_id, numbers.points)


# --- refusals and ends ----------------------------------------------------------------------------


async def test_positions_that_are_not_of_the_feed_are_refused(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    await seated([ann, bob])
    reader = Reader(ann)
    await reader.catch_up()
    of_bob = Reader(bob)
    await of_bob.catch_up()
    cut = reader.position[:-4]
    hostile = [of_bob.position, cut, "x", "é" * 40, "A" * 50_000]
    for position in hostile:
        async with refused(reasons.ERROR_REASON_FEED_POSITION_INVALID):
            await Reader(ann, position).open().read()


async def test_forged_positions_are_refused_before_they_cost_anything(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    match_id = await seated([ann, bob])
    foreign = (await (await playing.player(replica, "carl")).open()).match_id
    key, other = bytes.fromhex(match_id.replace("-", "")), bytes.fromhex(foreign.replace("-", ""))
    forged = [
        Position(10_000, 0),  # from the future
        Position(0, 10_000),
        Position(-1, 0),
        Position(0, -1),
        Position(2**63 - 1, 2**63 - 1),
        Position(0, 0, {key: -1}),
        Position(0, 0, {key: 10_000}),
        Position(0, 0, {other: 1}),  # a match of other players
        Position(0, 0, {bytes(16): 1}),
    ]
    loads = replica.engine.matches.context.counters.loads
    for position in forged:
        async with refused(reasons.ERROR_REASON_FEED_POSITION_INVALID):
            await Reader(ann, position.seal("ann")).open().read()
    assert replica.engine.matches.context.counters.loads == loads
    assert len(replica.engine.feeds) == 0


async def test_a_position_with_many_matches_costs_its_caller_calls(playing: Playing) -> None:
    replica = await playing.replica()
    limited = await playing.replica(caller_calls_per_second=0.001, caller_calls_burst=3)
    ann, bob = await pair(playing, replica)
    keys = []
    for _ in range(6):
        match_id = await seated([ann, bob])
        await play_out([ann, bob], match_id)
        keys.append(bytes.fromhex(match_id.replace("-", "")))
    head = (await replica.store.news.read_heads(["ann"]))["ann"]
    forged = Position(*head, dict.fromkeys(keys, 0)).seal("ann")
    call = Reader(await playing.player(limited, "ann"), forged).open()
    counters = limited.engine.matches.context.counters
    await until(lambda: counters.loads > 0)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(Reader(ann).drain(call), 1)
    assert counters.loads < 3
    call.cancel()


async def test_a_silent_feed_has_heartbeats_with_its_position(playing: Playing) -> None:
    replica = await playing.replica(heartbeat_interval_seconds=0.05)
    ann = await playing.player(replica, "ann")
    reader = Reader(ann)
    await reader.read_until(lambda it: it.heartbeats == 2)
    await Reader(ann, reader.position).catch_up()


async def test_a_slow_reader_is_cut_off_and_resumes_without_loss(playing: Playing) -> None:
    replica = await playing.replica(watch_queue_events_max=16)
    ann = await playing.player(replica, "ann")
    reader = Reader(await playing.player(replica, "ann", is_slow=True))
    call = reader.open()
    reader.take(await call.read())
    match_id = (await ann.open()).match_id
    # From here on nothing is read, until the transport and the queue are full.
    while len(replica.engine.feeds):
        await ann.sit(match_id)
        await ann.call("LeaveMatch", api.LeaveMatchRequest(match_id=match_id, request_id=new_id()))
    assert replica.engine.matches.context.counters.slow_watches == 1
    async with refused(reasons.ERROR_REASON_SLOW_WATCHER):
        await reader.drain(call)
    log = await log_of(replica.store, match_id)
    seen = len(reader.news)
    assert seen < len(log)
    reader.player = ann
    await reader.catch_up()
    assert len(reader.news) > seen
    assert kinds_and_versions(reader.of_match(match_id)) == expected_news(log, "ann")


async def test_feeds_end_when_the_service_drains_and_when_their_token_expires(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    short = Reader(await playing.player(replica, "ann", lifetime_s=1))
    call = short.open()
    async with refused(reasons.ERROR_REASON_TOKEN_EXPIRED):
        await short.drain(call)
    reader = Reader(await playing.player(replica, "bob"))
    call = reader.open()
    reader.take(await call.read())
    replica.interceptor.drain()
    async with refused(reasons.ERROR_REASON_DRAINING):
        await reader.drain(call)
    await until(lambda: len(replica.engine.feeds) == 0)


async def test_a_killed_replica_loses_no_news(playing: Playing) -> None:
    first, second = await playing.replica(), await playing.replica()
    ann, bob = await pair(playing, first)
    reader = Reader(await playing.player(second, "ann"))
    await reader.catch_up()
    match_id = await seated([ann, bob])
    call = reader.open()
    async with asyncio.timeout(20):
        while "dealt" not in reader.kinds:
            reader.take(await call.read())
    await second.die()
    await play_out([ann, bob], match_id)
    reader.player = ann
    await reader.catch_up()
    log = await log_of(first.store, match_id)
    assert kinds_and_versions(reader.of_match(match_id)) == expected_news(log, "ann")


async def test_news_arrive_on_another_replica_when_every_hint_is_lost(playing: Playing) -> None:
    first, second = await playing.replica(), await playing.replica(heads_interval_seconds=0.1)
    ann, bob = await pair(playing, first)
    first.store.hints.add = lambda *_: None  # type: ignore[method-assign] # every hint is lost
    async with reading(Reader(await playing.player(second, "ann"))) as feed:
        match_id = await seated([ann, bob])
        await until(lambda: "dealt" in feed.kinds)
        await play_out([ann, bob], match_id)
        await until(lambda: "match_over" in feed.kinds)
    log = await log_of(first.store, match_id)
    assert kinds_and_versions(feed.of_match(match_id)) == expected_news(log, "ann")


async def test_a_feed_ends_when_the_log_of_its_match_was_put_back(
    playing: Playing, database: Database
) -> None:
    replica = await playing.replica(heads_interval_seconds=0.1)
    ann, bob = await pair(playing, replica)
    match_id = await seated([ann, bob])
    kept = (await ann.get(match_id)).version
    await move([ann, bob], match_id)
    reader = Reader(ann)
    await reader.catch_up()
    call = reader.open()
    reader.take(await call.read())
    await lose_the_end(database, match_id, kept)
    async with refused(reasons.ERROR_REASON_LOG_CHANGED):
        await reader.drain(call)
    async with refused(reasons.ERROR_REASON_FEED_POSITION_INVALID):
        await reader.catch_up()
    await Reader(ann).catch_up()


async def test_a_feed_follows_more_matches_than_fit_in_memory(playing: Playing) -> None:
    first, second = await playing.replica(), await playing.replica(live_matches_bytes_max=2 * 2**16)
    ann, bob = await pair(playing, first)
    async with reading(Reader(await playing.player(second, "ann"))) as feed:
        ids = [await seated([ann, bob]) for _ in range(4)]
        await until(lambda: feed.kinds.count("dealt") == len(ids))
        for at, match_id in enumerate(ids, start=1):
            await play_out([ann, bob], match_id)
            await until(lambda: feed.kinds.count("match_over") == at)  # noqa: B023
        assert len(second.engine.matches) <= 2
    assert second.engine.matches.context.counters.evictions > 0
    for match_id in ids:
        log = await log_of(first.store, match_id)
        assert kinds_and_versions(feed.of_match(match_id)) == expected_news(log, "ann")


async def test_a_match_without_a_feed_costs_no_query_and_no_entry(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = await pair(playing, replica)
    carl = await playing.player(replica, "carl")
    async with reading(Reader(carl)) as feed:
        match_id = await seated([ann, bob])
        await play_out([ann, bob], match_id)
        assert replica.engine.feeds.followed == 0
    assert feed.news == []
