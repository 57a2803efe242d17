"""WatchLobby: the open tables and the running matches, and their changes, on any replica."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from grpc import aio

from durak.v1 import errors_pb2 as reasons
from durak.v1 import feed_service_pb2 as api
from durak.v1 import match_service_pb2 as matches
from durak.v1.feed_service_pb2_grpc import FeedServiceStub
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Phase
from service.feeds.lobby_watch import fits
from tests.service.matches.test_coin_moves import staked
from tests.service.playing import (
    DEADLINE_S,
    SETTINGS,
    Player,
    Playing,
    new_id,
    play_out,
    playing,
    refused,
    seated,
    until,
)

__all__ = ["playing"]

FAST = 0.02


class List:
    """The list of a client: it follows the messages as feed_service.proto says, and checks them."""

    def __init__(self) -> None:
        self.matches: dict[str, matches.MatchSummary] = {}
        self.messages: list[api.WatchLobbyResponse] = []
        self.is_caught_up = False

    def take(self, message: api.WatchLobbyResponse) -> None:
        self.messages.append(message)
        for one in message.added:
            assert one.match_id not in self.matches
            self.matches[one.match_id] = one
        for one in message.changed:
            assert one.version > self.matches[one.match_id].version
            self.matches[one.match_id] = one
        for match_id in message.removed_match_ids:
            del self.matches[match_id]
        assert not (message.caught_up and self.is_caught_up)
        self.is_caught_up |= message.caught_up


def watch(player: Player, **request: Any) -> Any:
    stub: Any = FeedServiceStub(player.channel)
    return stub.WatchLobby(api.WatchLobbyRequest(**request), metadata=player.metadata)


@asynccontextmanager
async def watching(player: Player, **request: Any) -> AsyncIterator[List]:
    """Watch the lobby during the block, beginning after the snapshot."""
    call, shown = watch(player, **request), List()

    async def read() -> None:
        while True:
            shown.take(await call.read())

    async with asyncio.timeout(DEADLINE_S):
        while not shown.is_caught_up:
            shown.take(await call.read())
    task = asyncio.create_task(read())
    try:
        yield shown
        assert not task.done(), "the watch has ended"
    finally:
        call.cancel()
        task.cancel()
        await asyncio.wait({task})


async def leave(player: Player, match_id: str) -> None:
    request = matches.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    await player.call("LeaveMatch", request)


@pytest.mark.parametrize("replicas", [1, 2])
async def test_tables_appear_change_and_disappear(playing: Playing, replicas: int) -> None:
    first = await playing.replica(lobby_interval_seconds=FAST)
    second = await playing.replica(lobby_interval_seconds=FAST) if replicas == 2 else first
    ann, bob = [await playing.player(first, name) for name in ("ann", "bob")]
    guest = await playing.player(second, "guest")
    old = (await ann.open()).match_id
    async with (
        watching(guest) as tables,
        watching(guest, phase=Phase.PHASE_PLAYING) as running,
    ):
        assert list(tables.matches) == [old]
        assert running.matches == {}
        match_id = (await ann.open()).match_id
        await until(lambda: match_id in tables.matches)
        await ann.sit(match_id, seat=0)
        await until(lambda: tables.matches[match_id].seats[0].taken)
        await bob.sit(match_id, seat=1)
        await until(lambda: match_id not in tables.matches)
        await until(lambda: match_id in running.matches)
        assert running.matches[match_id].phase == Phase.PHASE_PLAYING
        await play_out([ann, bob], match_id)
        await until(lambda: running.matches == {})
        assert list(tables.matches) == [old]


async def test_filters_choose_tables_and_follow_their_free_seats(playing: Playing) -> None:
    replica = await playing.replica(lobby_interval_seconds=FAST)
    ann = await playing.player(replica, "ann")
    three = Settings(deck=Deck.DECK_52, seats=3, throw_in=ThrowIn.THROW_IN_ALL, transfer=True)
    big = (await ann.open(three)).match_id
    rich = (await ann.open(staked(100))).match_id
    free = (await ann.open()).match_id
    for wanted, expected in (
        ({}, {big, rich, free}),
        ({"deck": Deck.DECK_52}, {big}),
        ({"seats": 2}, {rich, free}),
        ({"transfer": True}, {big}),
        ({"transfer": False, "stake_coins_max": 0}, {free}),
        ({"stake_coins_min": 100}, {rich}),
        ({"stake_coins_min": 101}, set()),
        ({"free_seats_min": 3}, {big}),
        ({"tricky": True}, set()),
    ):
        async with watching(ann, filter=api.LobbyFilter(**wanted)) as tables:
            assert set(tables.matches) == expected, wanted
    async with watching(ann, filter=api.LobbyFilter(free_seats_min=3)) as tables:
        await ann.sit(big)
        await until(lambda: big not in tables.matches)
        await leave(ann, big)
        await until(lambda: big in tables.matches)


async def test_private_tables_and_rematches_are_shown_to_their_players_only(
    playing: Playing,
) -> None:
    replica = await playing.replica(lobby_interval_seconds=FAST)
    ann, bob, eve = [await playing.player(replica, name) for name in ("ann", "bob", "eve")]
    async with watching(bob) as of_bob, watching(eve) as of_eve:
        request = matches.OpenTableRequest(request_id=new_id(), settings=SETTINGS, invited=["bob"])
        private = (await ann.call("OpenTable", request)).view.match_id
        await until(lambda: private in of_bob.matches)
        match_id = await seated([ann, bob])
        await play_out([ann, bob], match_id)
        again = matches.RematchRequest(match_id=match_id, request_id=new_id())
        rematch = (await ann.call("Rematch", again)).view.match_id
        await until(lambda: rematch in of_bob.matches)
        public = (await ann.open()).match_id
        await until(lambda: public in of_eve.matches)
    assert private not in of_eve.matches
    seen = b"".join(message.SerializeToString() for message in of_eve.messages)
    assert private.encode() not in seen
    assert rematch.encode() not in seen


async def test_changes_arrive_when_every_hint_is_lost(playing: Playing) -> None:
    first = await playing.replica(lobby_interval_seconds=FAST)
    second = await playing.replica(heads_interval_seconds=0.1, lobby_interval_seconds=FAST)
    ann = await playing.player(first, "ann")
    first.store.hints.add = lambda *_: None  # type: ignore[method-assign] # every hint is lost
    async with watching(await playing.player(second, "guest")) as tables:
        match_id = (await ann.open()).match_id
        await until(lambda: match_id in tables.matches)


async def test_the_list_has_the_newest_tables_and_a_slow_reader_ends_at_the_same_list(
    playing: Playing,
) -> None:
    replica = await playing.replica(lobby_matches_max=6, lobby_interval_seconds=FAST)
    ann = await playing.player(replica, "ann")
    call, slow = watch(ann), List()
    async with asyncio.timeout(DEADLINE_S):
        while not slow.is_caught_up:
            slow.take(await call.read())
    async with watching(ann) as fast:
        opened = [(await ann.open()).match_id for _ in range(9)]
        for match_id in opened[5:]:
            await ann.sit(match_id)
            await leave(ann, match_id)
        await until(lambda: set(fast.matches) == set(opened[3:]))
        await until(lambda: all(fast.matches[it].version == 3 for it in opened[5:]))
    async with asyncio.timeout(DEADLINE_S):
        while slow.matches != fast.matches:
            slow.take(await call.read())
    call.cancel()


async def test_a_reader_that_is_far_behind_compares_the_whole_list(
    playing: Playing, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await playing.replica(lobby_interval_seconds=FAST)
    ann = await playing.player(replica, "ann")
    board = replica.engine.feeds.board
    monkeypatch.setattr(board, "changed_since", lambda _: None)  # all is forgotten at once
    gone = (await ann.open()).match_id
    async with watching(ann) as tables:
        await ann.call(
            "CancelTable", matches.CancelTableRequest(match_id=gone, request_id=new_id())
        )
        match_id = (await ann.open()).match_id
        await until(lambda: list(tables.matches) == [match_id])


async def test_watches_share_the_reads_of_the_lobby(playing: Playing) -> None:
    replica = await playing.replica(heads_interval_seconds=60)
    ann = await playing.player(replica, "ann")
    reads = count_calls(replica.store.lobby, "read_newest")
    async with watching(ann), watching(ann), watching(ann):
        first = reads()
    assert first <= 2  # the watch that was first, and the loop that it woke at most
    async with watching(ann):
        assert reads() > first  # nobody watched meanwhile: the list is read again


def count_calls(thing: Any, name: str) -> Callable[[], int]:
    """Count the calls of a method from now on."""
    method, calls = getattr(thing, name), []

    async def counted(*args: Any, **more: Any) -> Any:
        calls.append(args)
        return await method(*args, **more)

    setattr(thing, name, counted)
    return lambda: len(calls)


async def test_a_silent_watch_has_heartbeats(playing: Playing) -> None:
    replica = await playing.replica(heartbeat_interval_seconds=0.05)
    ann = await playing.player(replica, "ann")
    async with watching(ann) as tables:
        await until(lambda: len(tables.messages) >= 3)
    assert tables.messages[-1] == api.WatchLobbyResponse()


@pytest.mark.parametrize(
    "request_fields",
    [
        {"phase": Phase.PHASE_ENDED},
        {"phase": 99},
        {"filter": api.LobbyFilter(seats=-1)},
        {"filter": api.LobbyFilter(seats=7)},
        {"filter": api.LobbyFilter(deck=5)},  # type: ignore[arg-type]
        {"filter": api.LobbyFilter(stake_coins_max=-1)},
        {"filter": api.LobbyFilter(stake_coins_min=2**62)},
    ],
    ids=str,
)
async def test_malformed_watches_are_refused(
    playing: Playing, request_fields: dict[str, Any]
) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
        await watch(ann, **request_fields).read()


async def test_a_watch_ends_when_the_service_drains(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    call = watch(ann)
    assert (await call.read()).caught_up
    replica.interceptor.drain()
    async with refused(reasons.ERROR_REASON_DRAINING):
        while await call.read() is not aio.EOF:
            pass


def test_an_empty_filter_fits_every_match() -> None:
    assert fits(matches.MatchSummary(), api.LobbyFilter())
