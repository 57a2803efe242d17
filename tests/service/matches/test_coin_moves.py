"""Stakes (R12): coins move with the seat and with the end of the match, and only once."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from uuid import UUID

import pytest
from google.rpc import error_details_pb2
from grpc import aio

from domain.match.commands import Actor, Command, OpenTable, Play, TakeSeat, by_player
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.refusal import Refusal
from domain.match.view import seats_in, table_view
from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import LeftReason, Outcome
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.table_pb2 import DefendMove, Move, Phase, TakeMove
from eventstore import EventStore
from eventstore.ledger.transfers import TransferKind
from service.ids import table_id
from tests.eventstore.support import grant
from tests.service.frame import answer_of
from tests.service.playing import (
    Clock,
    Player,
    Playing,
    Replica,
    easy_move,
    log_of,
    new_id,
    playing,
    reason_of,
    refused,
    rest_of,
    seated,
    without_server_time,
)

__all__ = ["playing"]

OPENING = 1000


def staked(stake: int = 100, seats: int = 2, **settings: object) -> Settings:
    """Settings with a stake."""
    return Settings(
        deck=Deck.DECK_36,
        seats=seats,
        throw_in=ThrowIn.THROW_IN_ALL,
        draw_allowed=True,
        stake_coins=stake,
        **settings,  # type: ignore[arg-type]
    )


async def people(playing: Playing, replica: Replica, count: int) -> list[Player]:
    return [await playing.player(replica, name) for name in ("ann", "bob", "cid")[:count]]


async def balances(store: EventStore, players: list[Player]) -> list[tuple[int, int]]:
    """The available coins and the coins in escrow of each player."""
    return [await store.ledger.read_balance(player.name) for player in players]


async def check_conserved(store: EventStore, accounts: int) -> None:
    """R12.8: all coins together are the opening balances of this many accounts."""
    check = await store.ledger.check()
    assert check.holds, check
    assert check.issued == accounts * OPENING


async def play_on(players: list[Player], match_id: str) -> str:
    """Play to the end like easy bots, one seat after the other. Returns the last request id."""
    view = await players[0].get(match_id)
    request_id = ""
    while view.phase == Phase.PHASE_PLAYING:
        player = players[view.on_clock[0]]
        request_id = new_id()
        move = easy_move(await player.get(match_id))
        view = await player.play(match_id, move, request_id=request_id)
    return request_id


async def test_R12_2_sitting_down_takes_the_stake_and_giving_the_seat_up_returns_it(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    ann, bob = await people(playing, replica, 2)
    match_id = (await ann.open(staked())).match_id
    assert await balances(replica.store, [ann]) == [(0, 0)], "opening a table costs nothing"
    await ann.sit(match_id)
    assert await balances(replica.store, [ann]) == [(900, 100)]

    leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    for _ in range(3):
        await ann.call("LeaveMatch", leave)
        assert await balances(replica.store, [ann]) == [(1000, 0)]

    for player in (ann, bob):
        await player.sit(match_id)
    assert await balances(replica.store, [ann, bob]) == [(900, 100), (900, 100)]
    await check_conserved(replica.store, 2)


async def test_C19_R12_2_a_player_with_too_few_coins_gets_no_seat_and_no_coin_moves(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    (ann,) = await people(playing, replica, 1)
    match_id = (await ann.open(staked(1001))).match_id
    with pytest.raises(aio.AioRpcError) as caught:
        await ann.sit(match_id)
    answer = answer_of(caught.value)
    (info,) = (one for one in answer.details if isinstance(one, error_details_pb2.ErrorInfo))
    assert answer.reason == "INSUFFICIENT_COINS"
    assert dict(info.metadata) == {
        "balance_coins": "1000",
        "stake_coins": "1001",
        "clause": "R12.2",
    }
    assert len(await log_of(replica.store, match_id)) == 1
    assert await balances(replica.store, [ann]) == [(1000, 0)]
    await ann.sit((await ann.open(staked(1000))).match_id)  # the last coin can be staked
    assert await balances(replica.store, [ann]) == [(0, 1000)]
    await check_conserved(replica.store, 1)


async def test_C19_a_player_with_coins_for_one_stake_gets_one_of_many_seats_asked_for_at_once(
    playing: Playing,
) -> None:
    replicas = [await playing.replica() for _ in range(2)]
    owner = await playing.player(replicas[0], "owner")
    tables = [(await owner.open(staked(600))).match_id for _ in range(6)]
    twins = [await playing.player(replica, "ann") for replica in replicas]

    async def sit(number: int) -> bool:
        try:
            await twins[number % 2].sit(tables[number])
        except aio.AioRpcError as error:
            if reason_of(error) != reasons.ERROR_REASON_INSUFFICIENT_COINS:
                raise
            return False
        return True

    seats = await asyncio.gather(*(sit(number) for number in range(6)))
    assert sum(seats) == 1
    for match_id, is_seated in zip(tables, seats, strict=True):
        assert len(await log_of(replicas[0].store, match_id)) == 1 + is_seated
    assert await balances(replicas[0].store, twins[:1]) == [(400, 600)]
    await check_conserved(replicas[0].store, 1)


async def test_of_two_players_who_race_for_the_last_seat_one_pays(playing: Playing) -> None:
    replicas = [await playing.replica() for _ in range(2)]
    ann = await playing.player(replicas[0], "ann")
    rivals = [
        await playing.player(replica, name)
        for replica, name in zip(replicas, ("bob", "cid"), strict=True)
    ]
    for _ in range(5):
        match_id = (await ann.open(staked(10))).match_id
        await ann.sit(match_id)
        answers = await asyncio.gather(
            *(rival.sit(match_id) for rival in rivals), return_exceptions=True
        )
        (lost,) = (one for one in answers if isinstance(one, aio.AioRpcError))
        assert reason_of(lost) == reasons.ERROR_REASON_MATCH_NOT_WAITING
        pending = await replicas[0].store.ledger.read_pending_stakes(UUID(match_id))
        assert pending == {"ann": 10, rivals[answers.index(lost) ^ 1].name: 10}
    assert (await replicas[0].store.ledger.check()).holds


async def test_R12_3_the_bank_of_a_match_played_out_is_paid_by_place(playing: Playing) -> None:
    replica = await playing.replica()
    players = await people(playing, replica, 3)
    match_id = await seated(players, staked(101, seats=3, turn_timer_seconds=0))
    await play_on(players, match_id)
    result = (await players[0].get(match_id)).result
    shares = {one.seat: one.share_coins for one in result.results}
    # A bank of 303, weights 2 and 1: 202 and 101. Two first places share them with one odd coin.
    # In a draw all get their 101 back.
    by_place = sorted((one.place, -one.share_coins) for one in result.results)
    assert by_place in (
        [(1, -202), (2, -101), (3, 0)],
        [(1, -152), (1, -151), (3, 0)],
        [(1, -101), (2, -101), (2, -101)],
        [(1, -101), (1, -101), (1, -101)],
    )
    for seat, player in enumerate(players):
        assert await replica.store.ledger.read_balance(player.name) == (899 + shares[seat], 0)
    await check_conserved(replica.store, 3)


def draw_seed(request_id: str) -> bytes:
    """A server seed for a draw, if ann opens the match by this request and both play like easy
    bots."""
    for number in range(1000):
        seed = sha256(number.to_bytes(4)).digest()
        match = Match(table_id(UUID(request_id).bytes, "ann"))
        match = after(match, by_player("ann"), OpenTable(staked(), seed, 86_400, 30))
        for seat, name in enumerate(("ann", "bob")):
            match = after(match, by_player(name), TakeSeat(name, seat))
        while match.phase == Phase.PHASE_PLAYING:
            (seat, *_) = seats_in(match.on_clock())
            mover = by_player(("ann", "bob")[seat])
            match = after(match, mover, Play(easy_move(table_view(match, seat))))
        assert match.result is not None
        if match.result.outcome == Outcome.OUTCOME_DRAW:
            return seed
    raise AssertionError("easy bots never draw")


def after(match: Match, actor: Actor, command: Command) -> Match:
    outcome = decide(match, actor, command)
    assert not isinstance(outcome, Refusal)
    return outcome.after


async def test_C21_R12_5_a_draw_returns_all_stakes_once_even_if_it_is_repeated(
    playing: Playing, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_id = new_id()
    seed = draw_seed(request_id)
    monkeypatch.setattr("service.matches.commands.secrets.token_bytes", lambda _: seed)
    replica = await playing.replica()
    players = await people(playing, replica, 2)
    match_id = (await players[0].open(staked(), request_id)).match_id
    for seat, player in enumerate(players):
        await player.sit(match_id, seat=seat)
    last = await play_on(players, match_id)
    mover, version, move = await last_command(replica, players, match_id)
    assert (await players[0].get(match_id)).result.outcome == Outcome.OUTCOME_DRAW
    for _ in range(3):  # as a client does that lost the answer
        view = await mover.play(match_id, move, request_id=last)
        assert view.version == version
        assert await balances(replica.store, players) == [(1000, 0), (1000, 0)]
    made = await replica.store.ledger.list_transfers_of(UUID(match_id))
    assert [transfer.kind for transfer in made] == [TransferKind.STAKE] * 2 + [
        TransferKind.REFUND
    ] * 2
    await check_conserved(replica.store, 2)


async def last_command(
    replica: Replica, players: list[Player], match_id: str
) -> tuple[Player, int, Move]:
    """The player of the last move of an ended match, its first version, and the move."""
    records = await log_of(replica.store, match_id)
    initiating = next(one for one in records if one.request_id == records[-1].request_id)
    (mover,) = (player for player in players if player.name == initiating.actor_id)
    kind = initiating.event.WhichOneof("kind")
    match kind:
        case "defended":
            made = initiating.event.defended
            move = Move(defend=DefendMove(attack_card=made.attack_card, card=made.card))
        case "take_declared":
            move = Move(take=TakeMove())
        case _:
            assert kind == "passed"
            move = Move()
            getattr(move, "pass").SetInParent()
    return mover, records[-1].version, move


async def test_R12_6_C22_the_stake_of_a_player_who_leaves_goes_to_the_others(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    players = await people(playing, replica, 3)
    match_id = await seated(players, staked(101, seats=3))
    leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    for _ in range(2):
        await players[1].call("LeaveMatch", leave)
        # 101 = 51 + 50: the odd coin goes to the lowest seat.
        assert await balances(replica.store, players) == [(1051, 0), (899, 0), (1050, 0)]
    result = (await players[0].get(match_id)).result
    assert result.outcome == Outcome.OUTCOME_ABANDONED
    await check_conserved(replica.store, 3)


async def test_R10_3_R12_6_three_timeouts_cost_the_stake_once_with_two_replicas(
    playing: Playing,
) -> None:
    replicas = [await playing.replica() for _ in range(2)]
    players = await people(playing, replicas[0], 2)
    match_id = await seated(players, staked(turn_timer_seconds=1))
    there = await playing.player(replicas[1], "guest")
    watches = [one.watch(match_id) for one in (players[0], there)]  # so both replicas have timers
    for watch in watches:
        async for _ in rest_of(watch):
            pass
    records = await log_of(replicas[0].store, match_id)
    assert records[-2].event.left.reason == LeftReason.LEFT_REASON_TIMEOUTS
    leaver = records[-1].event.finished.leaver
    expected = [(900, 0) if seat == leaver else (1100, 0) for seat in range(2)]
    assert await balances(replicas[0].store, players) == expected
    await check_conserved(replicas[0].store, 2)


async def test_R12_5_cancelling_a_table_returns_the_stakes(playing: Playing) -> None:
    replica = await playing.replica()
    players = await people(playing, replica, 3)
    match_id = (await players[0].open(staked(seats=3))).match_id
    for player in players[1:]:
        await player.sit(match_id)
    cancel = api.CancelTableRequest(match_id=match_id, request_id=new_id())
    for _ in range(2):
        await players[0].call("CancelTable", cancel)
        assert await balances(replica.store, players[1:]) == [(1000, 0), (1000, 0)]
    empty = (await players[0].open(staked())).match_id
    await players[0].call(
        "CancelTable", api.CancelTableRequest(match_id=empty, request_id=new_id())
    )
    await check_conserved(replica.store, 2)


async def test_R10_8_R12_5_cancelling_by_the_clock_returns_the_stakes_too(playing: Playing) -> None:
    clock = Clock()
    replicas = [
        await playing.replica(now_us=clock, deadline_scan_interval_seconds=600) for _ in range(2)
    ]
    players = await people(playing, replicas[0], 2)
    match_id = (await players[0].open(staked())).match_id
    await players[1].sit(match_id)
    clock.advance(86_400 + 60)
    await asyncio.gather(*(replica.engine.clock.scan() for replica in replicas))
    view = await players[0].get(match_id)
    assert view.result.outcome == Outcome.OUTCOME_CANCELLED
    assert await balances(replicas[0].store, players[1:]) == [(1000, 0)]
    await check_conserved(replicas[0].store, 1)


async def test_R13_1_a_rematch_takes_the_stakes_again(playing: Playing) -> None:
    replica = await playing.replica()
    players = await people(playing, replica, 2)
    request = api.OpenTableRequest(request_id=new_id(), settings=staked(600), start_series=True)
    match_id = (await players[0].call("OpenTable", request)).view.match_id
    for seat, player in enumerate(players):
        await player.sit(match_id, seat=seat)
    leave = api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    await players[1].call("LeaveMatch", leave)
    assert await balances(replica.store, players) == [(1600, 0), (400, 0)]

    again = api.RematchRequest(match_id=match_id, request_id=new_id())
    async with refused(reasons.ERROR_REASON_INSUFFICIENT_COINS):
        await players[1].call("Rematch", again)
    await grant(replica.store, UUID(new_id()), "bob", 200)
    for _ in range(2):
        await players[1].call("Rematch", again)
        assert await balances(replica.store, players[1:]) == [(0, 600)]
    view = (
        await players[0].call("Rematch", api.RematchRequest(match_id=match_id, request_id=new_id()))
    ).view
    assert view.phase == Phase.PHASE_PLAYING
    assert view.settings.series_id == match_id
    assert await balances(replica.store, players) == [(1000, 600), (0, 600)]
    assert (await replica.store.ledger.check()).holds


async def test_R12_7_bots_do_not_sit_at_staked_tables(playing: Playing) -> None:
    replica = await playing.replica()
    (ann,) = await people(playing, replica, 1)
    match_id = (await ann.open(staked())).match_id
    async with refused(reasons.ERROR_REASON_NO_BOTS_AT_STAKED_TABLE):
        await ann.seat_bot(match_id, level=BotLevel.BOT_LEVEL_EASY)


async def test_a_repeated_seat_request_gets_the_first_answer_after_the_coins_are_spent(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    ann, bob = await people(playing, replica, 2)
    first = (await ann.open(staked(700))).match_id
    request_id = new_id()
    seen = await ann.sit(first, request_id=request_id)
    await ann.sit((await bob.open(staked(300))).match_id)  # stakes the rest of her coins
    again = await ann.sit(first, request_id=request_id)
    assert without_server_time(again) == without_server_time(seen)
    assert await balances(replica.store, [ann]) == [(0, 1000)]
    await check_conserved(replica.store, 1)


async def test_a_free_table_moves_no_coins(playing: Playing) -> None:
    replica = await playing.replica()
    players = await people(playing, replica, 2)
    match_id = await seated(players, staked(0))
    await players[0].call(
        "LeaveMatch", api.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    )
    await check_conserved(replica.store, 0)
