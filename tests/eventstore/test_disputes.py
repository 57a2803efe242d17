"""Stored disputes: guarded appends, lists, and corrections of coins."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from hashlib import sha256
from uuid import uuid4

import asyncpg
import pytest

from eventstore import EventStore, PageKey
from eventstore.errors import InsufficientCoins, LedgerMismatch, VersionConflict
from eventstore.ledger.transfers import TransferKind
from tests.conftest import Database, execute
from tests.eventstore.support import OPEN, OPENED, UPHELD, StoredDispute


async def test_a_dispute_has_its_own_chain(store: EventStore) -> None:
    dispute = StoredDispute(store)
    await dispute.add(b"opened")
    await dispute.add(b"ruled", UPHELD)
    stored = await store.disputes.read(dispute.dispute_id)
    link = sha256(b"durak.v1.dispute" + dispute.dispute_id.bytes).digest()
    for version, record in ((1, b"opened"), (2, b"ruled")):
        link = sha256(link + record).digest()
        assert stored[version - 1] == (version, record, link)
    assert await store.disputes.read(uuid4()) == []
    assert await store.read(dispute.dispute_id) == []  # not a match


async def test_one_of_several_concurrent_appends_is_stored(store: EventStore) -> None:
    dispute = StoredDispute(store)
    await dispute.add(b"opened")
    rivals = [
        StoredDispute(store, dispute.match_id, dispute_id=dispute.dispute_id) for _ in range(4)
    ]
    for rival in rivals:
        rival.version, rival.link = dispute.version, dispute.link
    done = await asyncio.gather(
        *(rival.add(b"ruled %d" % n) for n, rival in enumerate(rivals)), return_exceptions=True
    )
    assert sorted(type(one).__name__ for one in done) == ["NoneType"] + ["VersionConflict"] * 3
    stored = await store.disputes.read(dispute.dispute_id)
    assert len(stored) == 2
    winner = next(n for n, one in enumerate(done) if one is None)
    [listed] = await store.disputes.list_disputes(limit=9)
    assert listed.summary == stored[1].record == b"ruled %d" % winner


async def test_an_append_after_a_gap_or_another_hash_conflicts(store: EventStore) -> None:
    dispute = StoredDispute(store)
    dispute.version = 1
    with pytest.raises(VersionConflict) as conflict:
        await dispute.add(b"second without a first")
    assert conflict.value.actual == 0
    dispute.version = 0
    await dispute.add(b"opened")
    dispute.link = bytes(32)
    with pytest.raises(VersionConflict):
        await dispute.add(b"after another first")


async def test_lists_are_newest_first_with_every_filter(store: EventStore) -> None:
    match_id = uuid4()
    made = []
    for number in range(6):
        dispute = StoredDispute(
            store,
            match_id if number % 2 else uuid4(),
            "anna" if number < 3 else "boris",
            OPENED + timedelta(seconds=number // 2),
        )
        await dispute.add(b"opened")
        if number == 4:
            await dispute.add(b"ruled", UPHELD)
        made.append(dispute)

    async def ids(limit: int = 9, **filters: object) -> set[int]:
        rows = await store.disputes.list_disputes(limit=limit, **filters)  # type: ignore[arg-type]
        keys = [(row.opened_at, row.dispute_id) for row in rows]
        assert keys == sorted(keys, reverse=True)
        numbers = {dispute.dispute_id: number for number, dispute in enumerate(made)}
        return {numbers[row.dispute_id] for row in rows}

    assert await ids() == {0, 1, 2, 3, 4, 5}
    assert await ids(match_id=match_id) == {1, 3, 5}
    assert await ids(opened_by="anna") == {0, 1, 2}
    assert await ids(statuses=[UPHELD]) == {4}
    assert await ids(statuses=[OPEN, UPHELD], match_id=match_id, opened_by="boris") == {3, 5}

    first = await store.disputes.list_disputes(limit=4)
    after = PageKey(first[-1].opened_at, first[-1].dispute_id)
    rest = await store.disputes.list_disputes(limit=4, after=after)
    assert len({row.dispute_id for row in [*first, *rest]}) == 6
    assert len(rest) == 2


async def test_a_ruling_moves_coins_with_its_record(store: EventStore) -> None:
    for player in ("anna", "boris", "clara"):
        await store.ledger.open_account(player, 100)
    dispute = StoredDispute(store)
    await dispute.add(b"opened")
    await dispute.add(b"approved", UPHELD, {"anna": 70, "boris": -60, "clara": -10})
    assert [
        (await store.ledger.read_balance(player)).available for player in ("anna", "boris", "clara")
    ] == [170, 40, 90]
    [transfer, _] = await store.ledger.list_transfers("boris", limit=9)
    assert transfer.kind is TransferKind.CORRECTION_OUT
    assert (transfer.source_id, transfer.version) == (dispute.dispute_id, 2)
    assert (transfer.coins, transfer.available_after, transfer.actor) == (60, 40, "otto")
    assert (await store.ledger.check()).holds


@pytest.mark.parametrize(
    ("corrections", "error"),
    [
        ({"anna": 101, "boris": -101}, InsufficientCoins),
        ({"anna": 5, "boris": -4}, LedgerMismatch),
        ({"anna": 5, "nobody": -5}, LedgerMismatch),
        ({"anna": 0}, LedgerMismatch),
    ],
)
async def test_a_failed_correction_stores_no_record(
    store: EventStore, corrections: dict[str, int], error: type[Exception]
) -> None:
    for player in ("anna", "boris"):
        await store.ledger.open_account(player, 100)
    dispute = StoredDispute(store)
    await dispute.add(b"opened")
    with pytest.raises(error):
        await dispute.add(b"approved", UPHELD, corrections)
    assert len(await store.disputes.read(dispute.dispute_id)) == 1
    [row] = await store.disputes.list_disputes(limit=9)
    assert row.status == OPEN
    assert (await store.ledger.read_balance("anna")).available == 100
    assert (await store.ledger.check()).holds


async def test_the_ledger_check_finds_corrections_that_do_not_sum_to_zero(
    store: EventStore, database: Database
) -> None:
    for player in ("anna", "boris"):
        await store.ledger.open_account(player, 100)
    dispute = StoredDispute(store)
    await dispute.add(b"opened")
    await dispute.add(b"approved", UPHELD, {"anna": 7, "boris": -7})
    await execute(
        database.owner_dsn,
        "ALTER TABLE transfers DISABLE TRIGGER USER",
        f"UPDATE transfers SET coins = 8 WHERE kind = {TransferKind.CORRECTION_IN.value}",
    )
    check = await store.ledger.check()
    assert check.wrong_matches == [dispute.dispute_id]
    assert check.wrong_accounts == ["anna"]


@pytest.mark.parametrize("change", ["DELETE FROM {}", "TRUNCATE {}", "UPDATE {} SET version = 7"])
async def test_no_record_can_be_changed_or_deleted(
    store: EventStore, database: Database, change: str
) -> None:
    await StoredDispute(store).add(b"opened")
    for dsn in (database.app_dsn, database.owner_dsn):
        connection = await asyncpg.connect(dsn)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(change.format("dispute_events"))
        await connection.close()
