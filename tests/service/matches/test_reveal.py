"""Fair dealing over gRPC (R3.6, R10.9): reveals, deadlines, replicas, crashes and suspensions."""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from uuid import UUID

import pytest

from domain.audit import audit
from domain.match.deal import secret_hash
from domain.match.deal_check import Promises, check_deal
from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Outcome, Record
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Phase, TableView
from service.rebuild import rebuild
from tests.service.playing import (
    Clock,
    Player,
    Playing,
    Replica,
    kinds,
    log_of,
    new_id,
    playing,
    refused,
    rest_of,
    until,
)

__all__ = ["playing"]

STAKED = Settings(deck=Deck.DECK_36, seats=2, throw_in=ThrowIn.THROW_IN_ALL, stake_coins=100)
SECRETS = {"ann": b"a" * 32, "bob": b"b" * 32, "eve": b"e" * 32}


def promise(match_id: str, name: str) -> bytes:
    return secret_hash(UUID(match_id).bytes, name, SECRETS[name])


async def promised(ann: Player, bob: Player, settings: Settings = STAKED) -> str:
    """A full table at which both players promised a secret."""
    match_id = (await ann.open(settings)).match_id
    await ann.sit(match_id, client_seed_hash=promise(match_id, "ann"))
    view = await bob.sit(match_id, client_seed_hash=promise(match_id, "bob"))
    assert view.phase == Phase.PHASE_REVEALING
    return match_id


async def reveal(player: Player, match_id: str, **fields: Any) -> TableView:
    fields = {"request_id": new_id(), "secret": SECRETS[player.name], **fields}
    request = api.RevealSeedRequest(match_id=match_id, **fields)
    view: TableView = (await player.call("RevealSeed", request)).view
    return view


async def leave(player: Player, match_id: str) -> None:
    request = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    await player.call("LeaveMatch", request)


async def two(playing: Playing, clock: Clock | None = None, **settings: Any) -> tuple[Any, ...]:
    replica = await playing.replica(now_us=clock or Clock(), **settings)
    return replica, *[await playing.player(replica, name) for name in ("ann", "bob")]


async def check_log(replica: Replica, match_id: str) -> None:
    """The log is without faults for the second implementation."""
    assert audit(await replica.store.read(UUID(match_id))).findings == ()


def kinds_of(records: list[Record]) -> list[str]:
    return kinds([record.event for record in records])


async def balance(replica: Replica, name: str) -> tuple[int, int]:
    found = await replica.store.ledger.read_balance(name)
    return found[0], found[1]


async def test_R3_6_a_match_is_dealt_and_the_player_verifies_it_with_the_own_secret(
    playing: Playing,
) -> None:
    replica, ann, bob = await two(playing)
    match_id = await promised(ann, bob)
    view = await reveal(bob, match_id)
    assert list(view.on_clock) == [0]
    known = Promises(view.server_seed_hash, tuple(seat.client_seed_hash for seat in view.seats))
    view = await reveal(ann, match_id)
    assert view.phase == Phase.PHASE_PLAYING
    await leave(bob, match_id)
    messages = [message async for message in ann.watch(match_id)]
    events = [message.event.event for message in messages if message.HasField("event")]
    check_deal(UUID(match_id).bytes, "ann", SECRETS["ann"], known, events)
    await check_log(replica, match_id)


async def test_R3_6_reveals_work_on_a_session(playing: Playing) -> None:
    _, ann, bob = await two(playing)
    match_id = await promised(ann, bob)
    session = ann.session()
    request_id = new_id()
    request = api.RevealSeedRequest(match_id=match_id, request_id=request_id, secret=SECRETS["ann"])
    await session.send(reveal_seed=request)
    answer = await session.box(request_id).get()
    assert list(answer.view.on_clock) == [1]
    await session.call.done_writing()
    await session.reading


async def test_R3_6_a_repeated_reveal_has_the_same_answer_and_others_are_refused(
    playing: Playing,
) -> None:
    replica, ann, bob = await two(playing)
    match_id = await promised(ann, bob)
    async with refused(reasons.ERROR_REASON_SECRET_DOES_NOT_FIT):
        await reveal(ann, match_id, secret=SECRETS["bob"])
    async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
        await reveal(ann, match_id, secret=b"short")
    assert len(await log_of(replica.store, match_id)) == 3
    request_id = new_id()
    first = await reveal(ann, match_id, request_id=request_id)
    again = await reveal(ann, match_id, request_id=request_id)
    assert (first.version, again.version) == (4, 4)
    async with refused(reasons.ERROR_REASON_ALREADY_REVEALED):
        await reveal(ann, match_id)
    async with refused(reasons.ERROR_REASON_REQUEST_ID_REUSED):
        await reveal(ann, match_id, request_id=request_id, secret=SECRETS["bob"])
    last = new_id()
    dealt = await reveal(bob, match_id, request_id=last)
    again = await reveal(bob, match_id, request_id=last)
    assert (dealt.version, again.version) == (6, 6)
    assert len(await log_of(replica.store, match_id)) == 6


async def test_R10_9_the_deadline_cancels_the_table_once_on_any_replica(playing: Playing) -> None:
    clock = Clock()
    replica, ann, bob = await two(playing, clock)
    other = await playing.replica(now_us=clock)
    match_id = await promised(ann, bob)
    await reveal(bob, match_id)
    await replica.die()
    clock.advance(31)
    spectator = await playing.player(other, "eve")
    async for message in spectator.watch(match_id):  # ends when the match does
        assert message.event.version <= 5
    records = await log_of(other.store, match_id)
    assert kinds_of(records)[-1] == "finished"
    finished = records[-1].event.finished
    assert finished.outcome == Outcome.OUTCOME_CANCELLED
    assert list(finished.prevented_by) == [0]
    assert [await balance(other, name) for name in ("ann", "bob")] == [(1000, 0), (1000, 0)]
    assert (await other.store.ledger.check()).holds
    await check_log(other, match_id)


async def test_R10_9_a_late_reveal_is_refused_even_if_the_clock_has_not_acted(
    playing: Playing,
) -> None:
    clock = Clock()
    replica, ann, bob = await two(playing, clock, deadline_scan_interval_seconds=3600)
    match_id = await promised(ann, bob)
    replica.engine.clock.close()
    clock.advance(31)
    async with refused(reasons.ERROR_REASON_MATCH_NOT_REVEALING):
        await reveal(ann, match_id)
    records = await log_of(replica.store, match_id)
    assert kinds_of(records) == [
        "table_opened",
        "seat_taken",
        "seat_taken",
        "finished",
    ]
    assert list(records[-1].event.finished.prevented_by) == [0, 1]
    await check_log(replica, match_id)


async def test_R3_6_a_leave_during_the_reveal_returns_all_stakes(playing: Playing) -> None:
    replica, ann, bob = await two(playing)
    match_id = await promised(ann, bob)
    assert await balance(replica, "ann") == (900, 100)
    async with refused(reasons.ERROR_REASON_MATCH_NOT_WAITING):
        cancel = api.CancelTableRequest(match_id=match_id, request_id=new_id())
        await ann.call("CancelTable", cancel)
    await leave(bob, match_id)
    finished = (await log_of(replica.store, match_id))[-1].event.finished
    assert list(finished.prevented_by) == [1]
    assert [await balance(replica, name) for name in ("ann", "bob")] == [(1000, 0), (1000, 0)]
    await check_log(replica, match_id)


async def test_R3_6_two_replicas_accept_a_reveal_each(playing: Playing) -> None:
    one, ann, _ = await two(playing)
    other = await playing.replica()
    bob = await playing.player(other, "bob")
    match_id = await promised(ann, bob)
    await asyncio.gather(reveal(ann, match_id), reveal(bob, match_id))
    records = await log_of(one.store, match_id)
    assert kinds_of(records)[3:] == [
        "seed_revealed",
        "seed_revealed",
        "dealt",
    ]
    await check_log(one, match_id)


async def test_a_player_who_prevents_deals_cannot_sit_down_for_a_while(playing: Playing) -> None:
    clock = Clock()
    replica, ann, bob = await two(playing, clock, prevented_deals_max=2)
    other = await playing.replica(now_us=clock, prevented_deals_max=2)
    for _ in range(2):
        match_id = await promised(ann, bob)
        await leave(bob, match_id)
        clock.advance(3600)
    match_id = (await ann.open()).match_id
    there = await playing.player(other, "bob")
    for player in (bob, there):
        async with refused(reasons.ERROR_REASON_SEATING_SUSPENDED):
            await player.sit(match_id)
    await ann.sit(match_id)  # nobody else is suspended
    await rebuild(replica.store, replica.config)
    async with refused(reasons.ERROR_REASON_SEATING_SUSPENDED):
        await bob.sit(match_id)
    clock.advance(86_400 - 2 * 3600 + 1)  # a day after the first of the two
    assert (await there.sit(match_id)).phase == Phase.PHASE_PLAYING


async def test_secrets_and_the_server_seed_are_in_no_answer_and_no_log_line_too_early(
    playing: Playing, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    replica, ann, bob = await two(playing)
    eve = await playing.player(replica, "eve")
    match_id = await promised(ann, bob)
    watch = eve.watch(match_id, views=True)
    async with refused(reasons.ERROR_REASON_SECRET_DOES_NOT_FIT):
        await reveal(bob, match_id, secret=b"w" * 32)
    await reveal(ann, match_id)
    seed = (await log_of(replica.store, match_id))[0].event.table_opened.server_seed
    before = [await eve.get(match_id), await bob.get(match_id)]
    for view in before:
        text = view.SerializeToString()
        assert seed not in text
        assert SECRETS["bob"] not in text
    await reveal(bob, match_id)
    await leave(ann, match_id)
    messages = [message async for message in rest_of(watch)]
    shown = [message.SerializeToString() for message in messages]
    assert all(seed not in text for text in shown[:-2])
    lines = caplog.text
    for hidden in (seed, *SECRETS.values()):
        assert hidden.hex() not in lines
    await until(lambda: replica.engine.matches.get(UUID(match_id).bytes).match.result is not None)
