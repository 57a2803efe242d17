"""MatchService over gRPC: whole matches, and each call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from grpc import aio

from domain.match.view import redact
from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.cards_pb2 import Card
from durak.v1.events_pb2 import ActorKind, Outcome
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.table_pb2 import AttackMove, DefendMove, Move, Phase, TableView, TakeMove
from tests.service.playing import (
    SETTINGS,
    Clock,
    Player,
    Playing,
    easy_move,
    folded,
    has_move,
    log_of,
    new_id,
    play_out,
    playing,
    refused,
    seated,
    take_until_caught_up,
    without_server_time,
)

__all__ = ["playing"]


def table_of(seats: int, **settings: Any) -> Settings:
    return Settings(
        deck=Deck.DECK_52 if seats > 4 else Deck.DECK_36,
        seats=seats,
        throw_in=ThrowIn.THROW_IN_ALL,
        draw_allowed=True,
        **settings,
    )


async def two(playing: Playing, **settings: Any) -> tuple[list[Player], str]:
    replica = await playing.replica(**settings)
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    return players, await seated(players)


async def mover(players: list[Player], match_id: str) -> tuple[Player, TableView]:
    for player in players:
        view = await player.get(match_id)
        if has_move(view):
            return player, view
    pytest.fail("no seat is on the clock")


@pytest.mark.parametrize("seats", [2, 3, 4, 5, 6])
async def test_people_play_a_match_to_its_end(playing: Playing, seats: int) -> None:
    replica = await playing.replica()
    players = [await playing.player(replica, f"player-{seat}") for seat in range(seats)]
    match_id = await seated(players, table_of(seats, transfer=True))
    view = await play_out(players, match_id)
    match = await folded(replica.store, match_id)
    assert match.phase == Phase.PHASE_ENDED
    assert match.version == view.version
    assert view.result.outcome in {Outcome.OUTCOME_PLAYED_OUT, Outcome.OUTCOME_DRAW}
    assert all(
        record.actor_kind == ActorKind.ACTOR_KIND_PLAYER and record.request_id
        for record in await log_of(replica.store, match_id)
    )


async def test_a_repeated_request_gets_the_first_answer_and_takes_effect_once(
    playing: Playing,
) -> None:
    players, match_id = await two(playing)
    player, view = await mover(players, match_id)
    request = api.PlayRequest(match_id=match_id, request_id=new_id(), move=easy_move(view))
    first = await player.call("Play", request)
    again = await player.call("Play", request)
    assert without_server_time(again.view) == without_server_time(first.view)

    other, view = await mover(players, match_id)
    await other.play(match_id, easy_move(view))
    late = await player.call("Play", request)
    # The view after the move, although the match has changed since.
    assert without_server_time(late.view) == without_server_time(first.view)
    assert (await player.get(match_id)).version > first.view.version


async def test_a_repeated_request_is_recognised_after_a_restart(playing: Playing) -> None:
    players, match_id = await two(playing)
    player, view = await mover(players, match_id)
    request = api.PlayRequest(match_id=match_id, request_id=new_id(), move=easy_move(view))
    first = await player.call("Play", request)
    reborn = await playing.player(await playing.replica(), player.name)
    again = await reborn.call("Play", request)
    assert without_server_time(again.view) == without_server_time(first.view)


async def test_a_move_without_a_view_is_answered_with_its_version(playing: Playing) -> None:
    players, match_id = await two(playing)
    player, view = await mover(players, match_id)
    request = api.PlayRequest(match_id=match_id, request_id=new_id(), move=easy_move(view))
    request.omit_view = True
    short = await player.call("Play", request)
    assert short == api.PlayResponse(version=(await player.get(match_id)).version)
    assert short.version > view.version
    # The view is no part of the payload: a repetition may ask for it.
    request.omit_view = False
    whole = await player.call("Play", request)
    assert (whole.view.version, whole.version) == (short.version, 0)
    request.omit_view, request.expected_version = True, view.version
    assert await player.call("Play", request) == short
    request.request_id = new_id()
    async with refused(reasons.ERROR_REASON_STALE_VERSION):
        await player.call("Play", request)


async def test_a_request_id_with_another_payload_is_refused(playing: Playing) -> None:
    players, match_id = await two(playing)
    player, view = await mover(players, match_id)
    cards = view.moves.attack
    request_id = new_id()
    one, other = (Move(attack=AttackMove(card=card)) for card in cards[:2])
    await player.play(match_id, one, request_id=request_id)
    for move in (other, Move(take=TakeMove())):
        async with refused(reasons.ERROR_REASON_REQUEST_ID_REUSED):
            await player.play(match_id, move, request_id=request_id)


async def test_two_players_may_use_the_same_request_id(playing: Playing) -> None:
    players, match_id = await two(playing)
    request_id = new_id()
    player, view = await mover(players, match_id)
    await player.play(match_id, easy_move(view), request_id=request_id)
    other, view = await mover(players, match_id)
    assert other is not player
    after = await other.play(match_id, Move(take=TakeMove()), request_id=request_id)
    assert after.version > view.version
    again = await other.play(match_id, Move(take=TakeMove()), request_id=request_id)
    assert without_server_time(again) == without_server_time(after)


async def test_a_refused_request_is_not_remembered(playing: Playing) -> None:
    players, match_id = await two(playing)
    player, view = await mover(players, match_id)
    other = next(one for one in players if one is not player)
    request_id = new_id()
    async with refused(reasons.ERROR_REASON_NOTHING_LED):
        await other.play(match_id, Move(take=TakeMove()), request_id=request_id)
    await player.play(match_id, easy_move(view))
    await other.play(match_id, Move(take=TakeMove()), request_id=request_id)


async def test_a_view_has_the_time_of_the_servers_clock(playing: Playing) -> None:
    clock = Clock()
    ann = await playing.player(await playing.replica(clock), "ann")
    opened = await ann.open()
    clock.advance(7)
    before_us = clock()
    seen = await ann.get(opened.match_id)
    assert before_us <= seen.server_time.ToMicroseconds() <= clock()
    assert opened.server_time.ToMicroseconds() <= before_us - 7_000_000
    assert without_server_time(seen) == without_server_time(opened)


async def test_opening_twice_with_one_request_id_opens_one_table(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    bob = await playing.player(replica, "bob")
    request_id = new_id()
    first, second = await asyncio.gather(
        ann.open(request_id=request_id), ann.open(request_id=request_id)
    )
    assert without_server_time(first) == without_server_time(second)
    assert (await bob.open(request_id=request_id)).match_id != first.match_id
    async with refused(reasons.ERROR_REASON_REQUEST_ID_REUSED):
        await ann.open(table_of(3), request_id=request_id)
    await ann.sit(first.match_id)
    again = await ann.open(request_id=request_id)
    assert without_server_time(again) == without_server_time(first)


async def test_a_command_with_an_old_expected_version_is_refused(playing: Playing) -> None:
    players, match_id = await two(playing)
    player, view = await mover(players, match_id)
    with pytest.raises(aio.AioRpcError) as caught:
        await player.play(match_id, easy_move(view), expected_version=view.version - 1)
    assert str(view.version) in str(caught.value.trailing_metadata())
    async with refused(reasons.ERROR_REASON_STALE_VERSION):
        await player.play(match_id, easy_move(view), expected_version=view.version + 1)
    await player.play(match_id, easy_move(view), expected_version=view.version)


async def test_C15_two_throw_ins_at_the_same_moment_both_succeed(playing: Playing) -> None:
    replica = await playing.replica()
    settings = table_of(5)
    attempts = 0
    while True:  # until a deal gives two other seats a card of the rank that is led
        attempts += 1
        assert attempts < 60
        players = [await playing.player(replica, f"p{seat}") for seat in range(5)]
        match_id = await seated(players, settings)
        views = [await player.get(match_id) for player in players]
        attacker = next(seat for seat, view in enumerate(views) if has_move(view))
        defender = views[0].defender
        hands = {seat: list(view.hand) for seat, view in enumerate(views)}
        found = _two_of_a_rank(hands, attacker, defender)
        if found is not None:
            break
    lead, throws = found
    await players[attacker].play(match_id, Move(attack=AttackMove(card=lead)))
    answers = await asyncio.gather(
        *(
            players[seat].play(match_id, Move(attack=AttackMove(card=card)))
            for seat, card in throws.items()
        )
    )
    table = (await players[0].get(match_id)).table
    assert sorted(card.attack_card for card in table) == sorted([lead, *throws.values()])
    assert {view.version for view in answers} == {views[0].version + 2, views[0].version + 3}


def _two_of_a_rank(
    hands: dict[int, list[Card.ValueType]], attacker: int, defender: int
) -> tuple[Card.ValueType, dict[int, Card.ValueType]] | None:
    for lead in hands[attacker]:
        throws = {
            seat: next((card for card in hand if (card - lead) % 13 == 0), None)
            for seat, hand in hands.items()
            if seat not in {attacker, defender}
        }
        held = {seat: card for seat, card in throws.items() if card is not None}
        if len(held) >= 2:
            return lead, dict(list(held.items())[:2])
    return None


async def test_C16_versions_order_events_when_the_clock_goes_back(playing: Playing) -> None:
    clock = Clock()
    replica = await playing.replica(now_us=clock)
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = await seated(players)
    clock.advance(-3600)
    for _ in range(4):
        player, view = await mover(players, match_id)
        await player.play(match_id, easy_move(view))
    records = await log_of(replica.store, match_id)
    times = [record.event_time.ToNanoseconds() for record in records]
    assert times == sorted(times)
    await folded(replica.store, match_id)


async def test_C17_C18_no_player_or_spectator_is_shown_a_hidden_card(playing: Playing) -> None:
    replica = await playing.replica()
    players = [await playing.player(replica, f"player-{seat}") for seat in range(3)]
    guest = await playing.player(replica, "guest")
    match_id = await seated(players, table_of(3))
    watches = [reader.watch(match_id) for reader in (*players, guest)]
    await play_out(players, match_id)
    records = await log_of(replica.store, match_id)
    trump_card = next(r.event.dealt.trump_card for r in records if r.event.HasField("dealt"))
    for viewer, watch in zip((0, 1, 2, None), watches, strict=True):
        shown = [message.event async for message in watch if message.HasField("event")]
        assert [one.version for one in shown] == [record.version for record in records]
        for one, record in zip(shown, records, strict=True):
            assert one.event == redact(record.event, viewer, trump_card)
            if one.event.HasField("table_opened"):
                assert not one.event.table_opened.server_seed
            for hand in one.event.dealt.hands:
                if hand.seat != viewer:
                    assert set(hand.cards) <= {0, trump_card}
            assert set(one.event.dealt.stock[:-1]) <= {0}
            for draw in one.event.drew.draws:
                if draw.seat != viewer:
                    assert set(draw.cards) <= {0, trump_card}


async def test_an_unknown_match_is_not_found(playing: Playing) -> None:
    replica = await playing.replica()
    ann = await playing.player(replica, "ann")
    nowhere = new_id()
    for ask in (
        lambda: ann.get(nowhere),
        lambda: ann.sit(nowhere),
        lambda: ann.play(nowhere, Move(take=TakeMove())),
        lambda: ann.call("Rematch", api.RematchRequest(match_id=nowhere, request_id=new_id())),
        lambda: ann.watch(nowhere).read(),
    ):
        async with refused(reasons.ERROR_REASON_MATCH_NOT_FOUND):
            await ask()
    assert len(replica.engine.matches) == 0


async def test_a_caller_without_a_seat_cannot_act(playing: Playing) -> None:
    players, match_id = await two(playing)
    replica_channel = players[0].channel
    guest = Player(replica_channel, "guest")
    async with refused(reasons.ERROR_REASON_NOT_SEATED):
        await guest.play(match_id, Move(take=TakeMove()))
    async with refused(reasons.ERROR_REASON_NOT_SEATED):
        await guest.call(
            "LeaveMatch", api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
        )
    async with refused(reasons.ERROR_REASON_MATCH_NOT_WAITING):
        await guest.sit(match_id)
    view = await guest.get(match_id)
    assert not view.HasField("your_seat")
    assert not view.hand


async def test_a_seat_can_be_given_up_and_a_table_cancelled_before_the_deal(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = (await ann.open()).match_id
    await bob.sit(match_id)
    leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    view = (await bob.call("LeaveMatch", leave)).view
    assert not view.seats[0].taken
    again = (await bob.call("LeaveMatch", leave)).view
    assert without_server_time(again) == without_server_time(view)
    cancel = api.CancelTableRequest(match_id=match_id, request_id=new_id())
    async with refused(reasons.ERROR_REASON_NOT_OWNER):
        await bob.call("CancelTable", cancel)
    ended = (await ann.call("CancelTable", cancel)).view
    assert ended.result.outcome == Outcome.OUTCOME_CANCELLED
    async with refused(reasons.ERROR_REASON_MATCH_NOT_WAITING):
        await bob.sit(match_id)


async def test_a_rematch_brings_all_players_and_bots_to_one_table(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    match_id = (await ann.open(table_of(3))).match_id
    await ann.sit(match_id, seat=2)
    await ann.seat_bot(match_id, seat=1)
    await bob.sit(match_id, seat=0)
    async with refused(reasons.ERROR_REASON_MATCH_NOT_ENDED):
        await ann.call("Rematch", api.RematchRequest(match_id=match_id, request_id=new_id()))
    leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    await ann.call("LeaveMatch", leave)

    (old,) = (await ann.call("ListMatches", api.ListMatchesRequest())).matches
    assert (old.rematch_of, list(old.reserved_for)) == ("", [])

    requests = [api.RematchRequest(match_id=match_id, request_id=new_id()) for _ in range(2)]
    mine, theirs = await asyncio.gather(
        ann.call("Rematch", requests[0]), bob.call("Rematch", requests[1])
    )
    assert mine.view.match_id == theirs.view.match_id
    view = await ann.get(mine.view.match_id)
    assert view.phase == Phase.PHASE_PLAYING
    assert view.rematch_of == match_id
    (new, _) = (await ann.call("ListMatches", api.ListMatchesRequest())).matches
    assert (new.rematch_of, list(new.reserved_for)) == (match_id, ["bob", "", "ann"])
    assert [seat.player_id for seat in view.seats] == ["bob", "", "ann"]
    assert view.seats[1].bot_level == BotLevel.BOT_LEVEL_EASY
    assert (await ann.call("Rematch", requests[0])).view.version == mine.view.version
    guest = await playing.player(replica, "guest")
    async with refused(reasons.ERROR_REASON_NOT_SEATED):
        await guest.call("Rematch", api.RematchRequest(match_id=match_id, request_id=new_id()))


async def test_lists_are_paged_newest_first(playing: Playing) -> None:
    replica = await playing.replica()
    ann, bob = [await playing.player(replica, name) for name in ("ann", "bob")]
    opened = [(await ann.open()).match_id for _ in range(5)]
    await bob.sit(opened[1])
    await bob.sit(opened[3])
    await ann.sit(opened[3])

    async def ids(player: Player, **fields: Any) -> list[str]:
        found: list[str] = []
        token = ""
        while True:
            page = await player.call(
                "ListMatches", api.ListMatchesRequest(page_size=2, page_token=token, **fields)
            )
            assert len(page.matches) <= 2
            found += [match.match_id for match in page.matches]
            token = page.next_page_token
            if not token:
                return found

    assert await ids(ann) == opened[::-1]
    assert await ids(ann, phase=Phase.PHASE_PLAYING) == [opened[3]]
    assert await ids(bob, mine=True) == [opened[3], opened[1]]
    page = await ann.call("ListMatches", api.ListMatchesRequest(page_size=2))
    row = page.matches[0]
    assert (row.phase, row.owner_id, row.version) == (Phase.PHASE_WAITING, "ann", 1)
    for wrong in (
        api.ListMatchesRequest(page_token=page.next_page_token, phase=Phase.PHASE_ENDED),
        api.ListMatchesRequest(page_token=page.next_page_token, mine=True),
        api.ListMatchesRequest(page_token="nonsense"),
        api.ListMatchesRequest(page_token=page.next_page_token[:-4]),
    ):
        async with refused(reasons.ERROR_REASON_PAGE_TOKEN_INVALID):
            await ann.call("ListMatches", wrong)


async def test_incomplete_moves_are_malformed(playing: Playing) -> None:
    players, match_id = await two(playing)
    for move in (
        Move(),
        Move(attack=AttackMove()),
        Move(defend=DefendMove(card=Card.CARD_6C)),
    ):
        async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
            await players[0].play(match_id, move)


async def test_a_watch_from_the_start_folds_to_the_same_table(playing: Playing) -> None:
    players, match_id = await two(playing)
    events = await take_until_caught_up(players[0].watch(match_id))
    assert [event.version for event in events] == [1, 2, 3, 4]
    assert events[-1].event.HasField("dealt")
    assert SETTINGS.seats == len(events[-1].event.dealt.hands)
