"""PlaySession: commands and watches on one stream."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from grpc import aio
from structlog.testing import capture_logs

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.match_service_pb2 import PlaySessionRequest, PlaySessionResponse
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import AttackMove, Move, Phase, TakeMove
from tests.service.playing import (
    DEADLINE_S,
    SETTINGS,
    Player,
    Playing,
    Session,
    easy_move,
    has_move,
    log_of,
    new_id,
    play_out,
    playing,
    reason_of,
    refused,
    seated,
    until,
)
from tests.service.wire import Wire

__all__ = ["playing"]


FIXED_ID = "436bebf9-7c4a-4a7b-a4ee-f3ebc38d7914"  # test ids must not change between runs


def watch_of(match_id: str, *, after: int = 0, views: bool = False) -> api.SessionWatch:
    request = api.WatchMatchRequest(match_id=match_id, after_version=after, include_views=views)
    return api.SessionWatch(request_id=new_id(), watch=request)


async def player_in(playing: Playing, name: str = "ann", **settings: Any) -> Player:
    return await playing.player(await playing.replica(**settings), name)


async def play_by_session(session: Session, match_id: str) -> list[int]:
    """Play like the easy bot, by the views of a watch on the same stream alone.

    Returns all versions.
    """
    request_id = await session.send(watch=watch_of(match_id, views=True))
    seen: list[int] = []
    while True:
        answer = await session.answer(request_id)
        kind = answer.WhichOneof("kind")
        if kind == "watch_ended":
            assert answer.watch_ended.version == seen[-1]
            return seen
        assert kind == "watch", answer
        if answer.watch.HasField("event"):
            seen.append(answer.watch.event.version)
        view = answer.watch.view
        if answer.watch.HasField("view") and has_move(view):
            made = await session.ask(
                play=api.PlayRequest(
                    match_id=match_id,
                    request_id=new_id(),
                    expected_version=view.version,
                    move=easy_move(view),
                    omit_view=True,
                )
            )
            if made.HasField("error"):
                assert reason_of(made.error) == reasons.ERROR_REASON_STALE_VERSION
            else:
                assert made.WhichOneof("kind") == "version"
                assert made.version > view.version


async def test_several_matches_are_played_on_one_stream(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    first, second = ann.session(), bob.session()
    tables = [await seated([ann, bob]) for _ in range(4)]
    async with asyncio.timeout(60):
        seen = await asyncio.gather(
            *(play_by_session(session, table) for table in tables for session in (first, second))
        )
    for table, versions in zip(tables, seen[::2], strict=True):
        records = await log_of(replica.store, table)
        assert versions == list(range(1, len(records) + 1))
        assert records[-1].event.HasField("finished")
    assert seen[::2] == seen[1::2]
    await first.close()
    await second.close()
    await until(lambda: replica.limits.watches == 0)
    assert replica.limits.calls == 0


async def watched_to_its_end(
    session: Session, match_id: str, *, reads_more: bool
) -> list[PlaySessionResponse]:
    """Watch an ended match. Returns all answers."""
    request = watch_of(match_id)
    await session.send(watch=request, reads_more=reads_more)
    answers = [await session.answer(request.request_id)]
    while not answers[-1].HasField("watch_ended"):
        answers.append(await session.answer(request.request_id))
    return answers


async def test_a_client_that_reads_more_gets_several_answers_in_one_message(
    playing: Playing,
) -> None:
    """The events of an ended match wait to be written at the same time."""
    replica = await playing.replica()
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await seated(players)
    await play_out(players, match_id)
    session = players[0].session()
    single = await watched_to_its_end(session, match_id, reads_more=False)
    assert session.messages == len(single)
    assert not any(answer.more for answer in single)
    joined = await watched_to_its_end(session, match_id, reads_more=True)
    assert session.messages - len(single) < len(joined) / 4
    kinds = [[answer.WhichOneof("kind") for answer in answers] for answers in (single, joined)]
    assert kinds[0] == kinds[1]
    assert [one.watch for one in single] == [one.watch for one in joined]
    nested = [other for answer in joined for other in answer.more]
    assert nested
    assert not any(other.more for other in nested)
    once = await watched_to_its_end(session, match_id, reads_more=False)
    assert any(answer.more for answer in once), "it is enough to say so once"
    await session.close()


async def test_every_command_works_on_a_session(playing: Playing) -> None:
    ann = await player_in(playing)
    session = ann.session()
    opened = await session.ask(
        open_table=api.OpenTableRequest(request_id=new_id(), settings=SETTINGS)
    )
    match_id = opened.view.match_id
    ids: dict[str, Any] = {"match_id": match_id}
    sat = await session.ask(take_seat=api.TakeSeatRequest(request_id=new_id(), **ids))
    assert sat.view.your_seat == 0
    left = await session.ask(leave_match=api.LeaveMatchRequest(request_id=new_id(), **ids))
    assert not left.view.HasField("your_seat")
    await session.ask(take_seat=api.TakeSeatRequest(request_id=new_id(), **ids))
    easy = BotLevel.BOT_LEVEL_EASY
    dealt = await session.ask(seat_bot=api.SeatBotRequest(request_id=new_id(), level=easy, **ids))
    assert dealt.view.phase == Phase.PHASE_PLAYING
    left = await session.ask(leave_match=api.LeaveMatchRequest(request_id=new_id(), **ids))
    assert left.view.phase == Phase.PHASE_ENDED
    again = await session.ask(rematch=api.RematchRequest(request_id=new_id(), **ids))
    assert again.view.rematch_of == match_id
    other = await session.ask(
        open_table=api.OpenTableRequest(request_id=new_id(), settings=SETTINGS)
    )
    closed = await session.ask(
        cancel_table=api.CancelTableRequest(request_id=new_id(), match_id=other.view.match_id)
    )
    assert closed.view.phase == Phase.PHASE_ENDED
    await session.close()


async def test_commands_for_one_match_are_decided_in_the_order_sent(playing: Playing) -> None:
    ann = await player_in(playing)
    session = ann.session()
    match_id = (await ann.open()).match_id
    sent = []
    for _ in range(15):
        sit = api.TakeSeatRequest(match_id=match_id, request_id=new_id())
        leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
        sent += [await session.send(take_seat=sit), await session.send(leave_match=leave)]
    answers = [await session.answer(request_id) for request_id in sent]
    assert [answer.view.version for answer in answers] == list(range(2, 32))
    await session.close()


async def test_errors_are_the_same_as_those_of_unary_calls(playing: Playing) -> None:
    ann = await player_in(playing)
    session = ann.session()
    match_id = (await ann.open()).match_id
    request = api.PlayRequest(match_id=match_id, request_id=new_id(), move=Move(take=TakeMove()))
    with pytest.raises(aio.AioRpcError) as caught:
        await ann.call("Play", request)
    answer = await session.ask(play=request)
    assert reason_of(answer.error) == reason_of(caught.value) == reasons.ERROR_REASON_NOT_SEATED
    assert answer.error.message == caught.value.details()
    nowhere = await session.ask(watch=watch_of(new_id()))
    assert reason_of(nowhere.error) == reasons.ERROR_REASON_MATCH_NOT_FOUND
    beyond = await session.ask(watch=watch_of(match_id, after=9))
    assert reason_of(beyond.error) == reasons.ERROR_REASON_VERSION_BEYOND_HEAD
    await session.close()


async def test_refusals_are_logged_like_those_of_unary_calls(playing: Playing) -> None:
    ann = await player_in(playing)
    session = ann.session()
    nowhere = api.CancelTableRequest(match_id=FIXED_ID, request_id=new_id())
    with capture_logs() as lines:
        await session.ask(cancel_table=nowhere)
        async with refused(reasons.ERROR_REASON_MATCH_NOT_FOUND):
            await ann.call("CancelTable", nowhere)
    ours, unary = [line for line in lines if line["event"] == "call refused"]
    assert ours["method"] == "/durak.v1.MatchService/PlaySession"
    for fact in ("log_level", "reason", "clause", "caller"):
        assert ours[fact] == unary[fact]
    assert ours["reason"] == "MATCH_NOT_FOUND"


@pytest.mark.parametrize(
    ("message", "path"),
    [
        (b"\xff\xff\xff", ""),
        (PlaySessionRequest().SerializeToString(), "kind"),
        (PlaySessionRequest(play=api.PlayRequest()).SerializeToString(), "play.match_id"),
        (
            PlaySessionRequest(
                play=api.PlayRequest(
                    match_id=FIXED_ID, request_id=FIXED_ID, move=Move(attack=AttackMove())
                )
            ).SerializeToString(),
            "play.move.attack.card",
        ),
        (PlaySessionRequest(watch=api.SessionWatch()).SerializeToString(), "watch.request_id"),
        (PlaySessionRequest(unwatch=api.SessionUnwatch()).SerializeToString(), "unwatch.request"),
    ],
)
async def test_a_malformed_request_is_answered_and_the_session_continues(
    playing: Playing, message: bytes, path: str
) -> None:
    ann = await player_in(playing)
    raw: Any = ann.channel.stream_stream(
        "/durak.v1.MatchService/PlaySession",
        request_serializer=bytes,
        response_deserializer=PlaySessionResponse.FromString,
    )(metadata=ann.metadata)
    await raw.write(message)
    answer = await raw.read()
    assert ErrorReason.Name(reason_of(answer.error)) == "ERROR_REASON_MALFORMED_FIELD"
    assert path.encode() in answer.error.SerializeToString()
    opening = api.OpenTableRequest(request_id=new_id(), settings=SETTINGS)
    await raw.write(PlaySessionRequest(open_table=opening).SerializeToString())
    assert (await raw.read()).view.version == 1
    await raw.done_writing()
    assert await raw.read() is aio.EOF


async def test_invalid_requests_are_throttled_like_calls(playing: Playing) -> None:
    ann = await player_in(playing, caller_calls_per_second=50)
    call = ann.stub.PlaySession(metadata=ann.metadata)
    begun = asyncio.get_running_loop().time()
    for _ in range(5):
        await call.write(PlaySessionRequest())
        unwatch = api.SessionUnwatch(request_id=new_id())
        await call.write(PlaySessionRequest(unwatch=unwatch))
        malformed = api.SessionWatch(request_id=new_id())
        await call.write(PlaySessionRequest(watch=malformed))
    for _ in range(15):
        assert await call.read() is not aio.EOF
    assert asyncio.get_running_loop().time() - begun >= 14 / 50
    await call.done_writing()


async def test_a_watch_of_a_session_can_be_ended(playing: Playing) -> None:
    ann = await player_in(playing)
    session = ann.session()
    match_id = (await ann.open()).match_id
    request_id = await session.send(watch=watch_of(match_id))
    assert (await session.answer(request_id)).watch.HasField("event")
    assert (await session.answer(request_id)).watch.HasField("caught_up")
    repeated = watch_of(match_id)
    repeated.request_id = request_id
    answer = await session.ask(watch=repeated)
    assert reason_of(answer.error) == reasons.ERROR_REASON_REQUEST_ID_REUSED
    await session.send(unwatch=api.SessionUnwatch(request_id=request_id))
    assert (await session.answer(request_id)).watch_ended.version == 1
    await ann.sit(match_id)
    other = api.SessionUnwatch(request_id=new_id())
    assert (await session.ask(unwatch=other)).HasField("watch_ended")
    assert session.box(request_id).empty()
    await session.close()


async def test_the_number_of_unanswered_requests_is_bounded(playing: Playing) -> None:
    replica = await playing.replica(session_requests_max=8)
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open()).match_id
    running: list[int] = []
    call: Any = ann.stub.PlaySession(metadata=ann.metadata)

    async def send_all() -> None:
        for _ in range(100):
            sit = api.TakeSeatRequest(match_id=match_id, request_id=new_id())
            await call.write(PlaySessionRequest(take_seat=sit))
        await call.done_writing()

    async def look() -> None:
        while not sending.done() or replica.limits.calls:
            running.append(replica.limits.calls)
            await asyncio.sleep(0)

    sending = asyncio.create_task(send_all())
    looking = asyncio.create_task(look())
    answers = [answer async for answer in call]
    await asyncio.gather(sending, looking)
    assert len(answers) == 100
    assert sum(answer.HasField("view") for answer in answers) == 1
    assert max(running) <= 8


async def test_a_session_ends_with_its_token(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann", lifetime_s=2)
    session = ann.session()
    await session.ask(open_table=api.OpenTableRequest(request_id=new_id(), settings=SETTINGS))
    async with refused(reasons.ERROR_REASON_TOKEN_EXPIRED):
        await asyncio.wait_for(session.reading, DEADLINE_S)
    await until(lambda: replica.limits.watches == 0)


async def test_a_session_ends_when_the_service_drains_and_its_commands_are_answered(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    session = ann.session()
    match_id = (await ann.open()).match_id
    watched = await session.send(watch=watch_of(match_id))
    await session.answer(watched)
    sit = api.TakeSeatRequest(match_id=match_id, request_id=new_id())
    request_id = await session.send(take_seat=sit)
    await until(lambda: replica.limits.calls > 0 or not session.box(request_id).empty())
    replica.interceptor.drain()
    async with refused(reasons.ERROR_REASON_DRAINING):
        await asyncio.wait_for(session.reading, DEADLINE_S)
    assert session.box(request_id).get_nowait().view.version == 2


async def test_the_watches_of_a_slow_reader_are_cut_off_one_by_one(playing: Playing) -> None:
    replica = await playing.replica(watch_queue_events_max=4, session_requests_max=4)
    ann = await playing.player(replica, "ann", is_slow=True)
    bob = await playing.player(replica, "bob")
    match_id = (await ann.open()).match_id
    call: Any = ann.stub.PlaySession(metadata=ann.metadata)
    watch = watch_of(match_id, views=True)
    await call.write(PlaySessionRequest(watch=watch))
    assert (await call.read()).watch.HasField("event")
    while not replica.engine.matches.context.counters.slow_watches:
        promise = b"x" * 32
        sit = api.TakeSeatRequest(match_id=match_id, request_id=new_id(), client_seed_hash=promise)
        await bob.call("TakeSeat", sit)
        leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
        await bob.call("LeaveMatch", leave)
    seen = [1]
    while (answer := await asyncio.wait_for(call.read(), DEADLINE_S)).HasField("watch"):
        if answer.watch.HasField("event"):
            seen.append(answer.watch.event.version)
    assert reason_of(answer.error) == reasons.ERROR_REASON_SLOW_WATCHER
    assert seen == list(range(1, len(seen) + 1))
    again = watch_of(match_id, after=seen[-1])
    await call.write(PlaySessionRequest(watch=again))
    answer = await asyncio.wait_for(call.read(), DEADLINE_S)
    assert answer.watch.event.version == seen[-1] + 1
    call.cancel()


async def test_nothing_is_left_of_a_client_that_dies(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    match_id = (await ann.open()).match_id
    wire = Wire(("127.0.0.1", replica.port))
    await wire.open()
    channel = aio.insecure_channel(f"127.0.0.1:{wire.port}")
    guest = Player(channel, "guest")
    sessions = [guest.session() for _ in range(5)]
    for session in sessions:
        await session.answer(await session.send(watch=watch_of(match_id)))
    assert replica.limits.watches == 10
    await wire.close()
    await until(lambda: replica.limits.watches == 0)
    assert not replica.engine.matches.get(bytes.fromhex(match_id.replace("-", ""))).listeners
    await asyncio.gather(*(session.reading for session in sessions), return_exceptions=True)
    await channel.close()
