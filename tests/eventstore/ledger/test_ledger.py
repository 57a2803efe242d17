from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from uuid import uuid4

import asyncpg
import pytest

from eventstore import EmbeddedPostgres, EventStore, Head, Limits
from eventstore.errors import (
    InsufficientCoins,
    LedgerMismatch,
    NoAccount,
    StoreError,
    StoreUnavailable,
    VersionConflict,
)
from eventstore.ledger.books import CoinMove, ReturnStake, Settle, TakeStake
from eventstore.ledger.ledger import Grant
from eventstore.ledger.transfers import Balance, TransferKind
from tests.conftest import Database
from tests.eventstore.support import Writer, assert_whole, grant, next_act, until

ISSUE, STAKE, REFUND, POST, PAYOUT, CORRECTION_IN, CORRECTION_OUT = TransferKind


class Table(Writer):
    """A match whose events move coins."""

    async def move(self, *moves: CoinMove) -> Head:
        command = self.command(f"{len(moves)} moves".encode())
        self.head = await self.store.append(command, moves)
        return self.head


async def open_accounts(store: EventStore, coins: int, *players: str) -> None:
    for player in players:
        await store.ledger.open_account(player, coins)


async def assert_conserved(store: EventStore, issued: int) -> None:
    """R12.8: balances and escrows together equal all coins ever issued, account by account."""
    check = await store.ledger.check()
    assert check.holds, check
    assert check.issued == issued


async def balances(store: EventStore, players: Sequence[str]) -> list[Balance]:
    return [await store.ledger.read_balance(player) for player in players]


async def test_an_account_opens_once_with_its_opening_balance(store: EventStore) -> None:
    assert await store.ledger.read_balance("ann") == (0, 0)
    opened = await asyncio.gather(*(store.ledger.open_account("ann", 1000) for _ in range(8)))
    assert set(opened) == {(1000, 0)}
    assert await store.ledger.open_account("ann", 5) == (1000, 0)
    await assert_conserved(store, issued=1000)


async def test_a_repeated_grant_is_issued_once(store: EventStore) -> None:
    grant_id = uuid4()
    for _ in range(3):
        await grant(store, grant_id, "ann", 70)
        assert await store.ledger.read_balance("ann") == (70, 0)
    for player, coins, actor in (
        ("bob", 70, "operator"),
        ("ann", 71, "operator"),
        ("ann", 70, "other"),
    ):
        act = next_act(await store.administration.read_last(), b"another", actor=actor)
        with pytest.raises(LedgerMismatch):
            await store.administration.append(act, Grant(grant_id, player, coins, actor))
    act = next_act(await store.administration.read_last(), b"nothing")
    with pytest.raises(ValueError, match="a grant has"):
        await store.administration.append(act, Grant(uuid4(), "ann", 0, "operator"))


async def test_R12_2_the_stake_moves_with_the_seat(store: EventStore) -> None:
    await open_accounts(store, 100, "ann", "bob")
    table = Table(store)
    await table.move(TakeStake("ann", 40))
    await table.move(TakeStake("bob", 40))

    assert await balances(store, ["ann", "bob"]) == [(60, 40), (60, 40)]
    assert await store.ledger.read_pending_stakes(table.stream_id) == {"ann": 40, "bob": 40}
    await assert_conserved(store, issued=200)


@pytest.mark.parametrize("player", ["poor", "stranger"])
async def test_R12_2_without_enough_coins_the_seat_is_refused_and_nothing_moves(
    store: EventStore, player: str
) -> None:
    await open_accounts(store, 39, "poor")
    table = Table(store)
    await table.move()

    with pytest.raises(InsufficientCoins) as refused:
        await table.move(TakeStake(player, 40))

    had = 39 if player == "poor" else 0
    assert (refused.value.player, refused.value.available, refused.value.needed) == (
        player, had, 40,
    )  # fmt: skip
    assert player not in str(refused.value)  # errors are logged, and names must not be
    assert await assert_whole(store, table.stream_id) == [b"0 moves"]
    assert await store.ledger.read_balance(player) == (had, 0)
    assert await store.ledger.list_transfers_of(table.stream_id) == []
    await table.move()  # the match continues
    await assert_conserved(store, issued=39)


async def test_a_rematch_is_refused_if_one_player_lacks_coins(store: EventStore) -> None:
    await open_accounts(store, 100, "ann", "bob")
    table = Table(store)
    with pytest.raises(InsufficientCoins):
        await table.move(TakeStake("ann", 10), TakeStake("carl", 10), TakeStake("bob", 10))
    assert await balances(store, ["ann", "bob", "carl"]) == [(100, 0), (100, 0), (0, 0)]
    assert await store.read_head(table.stream_id) is None


async def test_R12_3_the_bank_goes_to_the_places(store: EventStore) -> None:
    """Three seats at 10: the bank is 30, weights 2 and 1, so 20 and 10; the durak gets nothing."""
    await open_accounts(store, 100, "ann", "bob", "carl")
    table = Table(store)
    for player in ("ann", "bob", "carl"):
        await table.move(TakeStake(player, 10))
    await table.move(Settle({"ann": 20, "bob": 10, "carl": 0}))

    assert await balances(store, ["ann", "bob", "carl"]) == [(110, 0), (100, 0), (90, 0)]
    assert await store.ledger.read_pending_stakes(table.stream_id) == {}
    made = await store.ledger.list_transfers_of(table.stream_id)
    assert [(t.version, t.ordinal, t.kind, t.player, t.coins) for t in made] == [
        (1, 0, STAKE, "ann", 10),
        (2, 0, STAKE, "bob", 10),
        (3, 0, STAKE, "carl", 10),
        (4, 0, POST, "ann", 10),
        (4, 1, POST, "bob", 10),
        (4, 2, POST, "carl", 10),
        (4, 3, PAYOUT, "ann", 20),
        (4, 4, PAYOUT, "bob", 10),
    ]
    await assert_conserved(store, issued=300)


async def test_R12_5_a_draw_gives_the_stakes_back(store: EventStore) -> None:
    await open_accounts(store, 100, "ann", "bob")
    table = Table(store)
    await table.move(TakeStake("ann", 30), TakeStake("bob", 30))
    await table.move(Settle({"ann": 30, "bob": 30}))

    assert await balances(store, ["ann", "bob"]) == [(100, 0), (100, 0)]
    made = await store.ledger.list_transfers_of(table.stream_id)
    assert [(t.kind, t.player) for t in made[2:]] == [(REFUND, "ann"), (REFUND, "bob")]
    await assert_conserved(store, issued=200)


async def test_R3_0_a_seat_given_up_returns_its_stake_and_can_be_taken_again(
    store: EventStore,
) -> None:
    await open_accounts(store, 100, "ann", "bob")
    table = Table(store)
    await table.move(TakeStake("ann", 30))
    await table.move(TakeStake("bob", 30))
    await table.move(ReturnStake("bob"))
    assert await balances(store, ["ann", "bob"]) == [(70, 30), (100, 0)]
    await table.move(TakeStake("bob", 30))
    await table.move(Settle({"ann": 0, "bob": 60}))
    assert await balances(store, ["ann", "bob"]) == [(70, 0), (130, 0)]
    await assert_conserved(store, issued=200)


@pytest.mark.parametrize(
    "move",
    [
        Settle({"ann": 61, "bob": 0}),
        Settle({"ann": 59, "bob": 0}),
        Settle({"ann": 60}),
        Settle({"ann": 30, "bob": 30, "eve": 0}),
        Settle({"eve": 60}),
        Settle({"ann": 70, "bob": -10}),
        Settle({}),
        ReturnStake("eve"),
        TakeStake("ann", 30),
        TakeStake("eve", 0),
        TakeStake("eve", -5),
    ],
    ids=repr,
)
async def test_R12_8_a_move_that_creates_or_loses_coins_is_refused(
    store: EventStore, move: CoinMove
) -> None:
    await open_accounts(store, 100, "ann", "bob", "eve")
    table = Table(store)
    await table.move(TakeStake("ann", 30), TakeStake("bob", 30))
    with pytest.raises(LedgerMismatch):
        await table.move(move)
    assert await assert_whole(store, table.stream_id) == [b"2 moves"]
    assert await balances(store, ["ann", "bob", "eve"]) == [(70, 30), (70, 30), (100, 0)]
    await assert_conserved(store, issued=300)


async def test_C21_a_repeated_refund_happens_once(store: EventStore) -> None:
    await open_accounts(store, 100, "ann", "bob")
    table = Table(store)
    await table.move(TakeStake("ann", 30), TakeStake("bob", 30))
    refund = table.command(b"the end")
    moves = [Settle({"ann": 30, "bob": 30})]
    results = await asyncio.gather(
        *(store.append(refund, moves) for _ in range(6)), return_exceptions=True
    )
    assert Counter(type(result) for result in results) == {Head: 1, VersionConflict: 5}
    await table.catch_up()
    with pytest.raises(LedgerMismatch):
        await table.move(*moves)  # another command: no stake is left
    assert await balances(store, ["ann", "bob"]) == [(100, 0), (100, 0)]
    await assert_conserved(store, issued=200)


async def test_C19_two_seats_at_once_with_coins_for_one(store: EventStore) -> None:
    await open_accounts(store, 50, "ann")
    tables = [Table(store) for _ in range(12)]
    results = await asyncio.gather(
        *(table.move(TakeStake("ann", 50)) for table in tables), return_exceptions=True
    )
    assert Counter(type(result) for result in results) == {Head: 1, InsufficientCoins: 11}
    assert await store.ledger.read_balance("ann") == (0, 50)
    await assert_conserved(store, issued=50)


async def test_matches_that_share_players_do_not_deadlock(database: Database) -> None:
    """All players at many tables, from two replicas, in every order of seats."""
    players = ["ann", "bob", "carl", "dora"]
    async with (
        await EventStore.open(database.app_dsn) as one,
        await EventStore.open(database.app_dsn) as two,
    ):
        await open_accounts(one, 1000, *players)
        shuffle = random.Random(12)

        async def match(store: EventStore, seats: list[str]) -> None:
            table = Table(store)
            await table.move(*(TakeStake(player, 7) for player in seats))
            await table.move(Settle(dict(zip(seats, [14, 7, 7, 0], strict=True))))

        await asyncio.gather(
            *(match(store, shuffle.sample(players, 4)) for store in (one, two) for _ in range(25))
        )
        for balance in await balances(one, players):
            assert balance.escrow == 0
        await assert_conserved(one, issued=4000)


async def test_a_conflicting_append_moves_no_coins(store: EventStore) -> None:
    await open_accounts(store, 100, "ann")
    table = Table(store)
    stale = table.command(b"too late")
    await table.move()
    with pytest.raises(VersionConflict):
        await store.append(stale, [TakeStake("ann", 30)])
    assert await store.ledger.read_balance("ann") == (100, 0)


async def test_one_append_of_a_batch_that_is_refused_does_not_affect_the_others(
    store: EventStore,
) -> None:
    rich = [f"rich{number}" for number in range(6)]
    await open_accounts(store, 100, "poor", *rich)
    stale, poor, stranger, twice = Table(store), Table(store), Table(store), Table(store)
    late = stale.command(b"too late")
    poor_and_late = stale.command(b"too late and too dear")
    await stale.move()
    found = await asyncio.gather(
        store.append(late, [TakeStake("rich0", 30)]),
        store.append(poor_and_late, [TakeStake("poor", 101)]),
        poor.move(TakeStake("poor", 101)),
        stranger.move(TakeStake("stranger", 1)),
        *(Table(store).move(TakeStake(player, 30)) for player in rich),
        twice.move(TakeStake("rich0", 30), TakeStake("rich1", 70)),
        return_exceptions=True,
    )
    kinds = [type(one) for one in found]
    refusals = [VersionConflict, VersionConflict, InsufficientCoins, NoAccount]
    assert kinds == [*refusals, *[Head] * len(rich), Head]
    assert await balances(store, ["poor", *rich]) == [
        *[(100, 0), (40, 60), (0, 100)],
        *[(70, 30)] * 4,
    ]
    assert await store.read_head(poor.stream_id) is None
    await assert_conserved(store, issued=700)


async def test_transfers_are_paged_newest_first_with_the_balance_after_each(
    store: EventStore,
) -> None:
    await open_accounts(store, 100, "ann")
    for number in range(5):
        table = Table(store)
        await table.move(TakeStake("ann", 10 + number))
        await table.move(ReturnStake("ann"))
    found: list[tuple[int, TransferKind, int]] = []
    before = None
    while page := await store.ledger.list_transfers("ann", before=before, limit=4):
        assert len(page) <= 4
        found.extend((each.number, each.kind, each.available_after) for each in page)
        before = page[-1].number
    assert [number for number, _, _ in found] == list(range(11, 0, -1))
    assert found[-3:] == [(3, REFUND, 100), (2, STAKE, 90), (1, ISSUE, 100)]


async def test_a_lost_answer_moves_the_coins_once(own_postgres: EmbeddedPostgres) -> None:
    """The commit is on disk and waits for a missing standby. Then its connection is cut."""
    async with await EventStore.open(own_postgres.app_dsn()) as store:
        await open_accounts(store, 100, "ann")
        table = Table(store)
        owner = await asyncpg.connect(own_postgres.owner_dsn())
        try:
            await owner.execute("ALTER SYSTEM SET synchronous_standby_names = 'no_such_standby'")
            await owner.execute("SELECT pg_reload_conf()")
            cut = False
            taking: asyncio.Task[Head] | None = None

            async def cut_one() -> bool:
                nonlocal taking, cut
                if taking is not None and taking.done() and not cut:
                    await table.move(ReturnStake("ann"))  # the setting has no effect yet
                    taking = None
                if taking is None:
                    taking = asyncio.create_task(table.move(TakeStake("ann", 60)))
                cut = cut or bool(
                    await owner.fetchval(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE wait_event = 'SyncRep'"
                    )
                )
                return cut

            await until(cut_one)
            assert taking is not None
            await taking
        finally:
            await owner.close()
        assert await store.ledger.read_balance("ann") == (40, 60)
        await assert_conserved(store, issued=100)


async def test_killed_postgres_leaves_no_coin_lost_doubled_or_stuck(
    own_postgres: EmbeddedPostgres,
) -> None:
    players = [f"player{number}" for number in range(8)]
    stopped = asyncio.Event()
    played = 0
    async with await EventStore.open(
        own_postgres.app_dsn(), Limits(coin_connections_max=8)
    ) as store:
        await open_accounts(store, 1000, *players)

        async def store_surely(table: Table, *moves: CoinMove) -> None:
            """Repeat the same command until it is known to be in the log."""
            target = table.head.version + 1
            while table.head.version < target:
                try:
                    await table.move(*moves)
                except StoreError:
                    with suppress(StoreUnavailable):
                        await table.catch_up()

        async def play(seed: int) -> None:
            nonlocal played
            shuffle = random.Random(seed)
            while not stopped.is_set():
                first, second = shuffle.sample(players, 2)
                table = Table(store)
                await store_surely(table, TakeStake(first, 5))
                await store_surely(table, TakeStake(second, 5))
                won = shuffle.random() < 0.5
                shares = [10, 0] if won else [5, 5]
                await store_surely(table, Settle(dict(zip((first, second), shares, strict=True))))
                assert await store.ledger.read_pending_stakes(table.stream_id) == {}
                played += 1

        tasks = [asyncio.create_task(play(seed)) for seed in range(8)]
        for _ in range(3):
            goal = played + 40

            async def reached(goal: int = goal) -> bool:
                return played >= goal

            await until(reached)
            pid = own_postgres.status().pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await asyncio.to_thread(own_postgres.start)
        stopped.set()
        await asyncio.gather(*tasks)
        assert all(balance.escrow == 0 for balance in await balances(store, players))
        await assert_conserved(store, issued=8000)
