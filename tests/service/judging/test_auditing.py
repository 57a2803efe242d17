"""Audits of stored matches with every coin, one by one and in processes."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from multiprocessing import active_children
from pathlib import Path
from uuid import uuid4

import pytest

from domain.audit import Kind
from durak.v1.transcript_pb2 import LEDGER_ENTRY_KIND_STAKE, LedgerEntry
from eventstore import EventStore
from eventstore.whole_matches import WholeMatch
from service.audit.payouts import verify_payouts
from service.checkpoints.seals import Seals
from service.judging.judge import AuditPool, Case, judge
from service.judging.ledger_entries import entries_of
from tests.conftest import Database, execute
from tests.domain.audit.audit_matches import START_US, random_match
from tests.service.stored_matches import store_match, store_random

SEEDS = range(25)
STARTED = datetime.fromtimestamp(START_US / 1e6, UTC)


async def test_staked_matches_pass_with_every_coin(store: EventStore) -> None:
    for seed in SEEDS:
        match_id = await store_random(store, seed, stake_coins=100)
        [match] = await store.whole_matches.read([match_id])
        report = judge(match).report
        assert report.ok, (seed, report.findings)
        assert report.coins_checked
    assert (await store.ledger.check()).holds


async def test_ledger_entries_are_those_that_the_events_demand(store: EventStore) -> None:
    for seed in SEEDS:
        played = random_match(seed, stake_coins=100)
        [match] = await store.whole_matches.read([await store_match(store, played)])
        found = entries_of(match.records, match.transfers)
        assert sorted(map(without_id, found)) == sorted(map(without_id, played.ledger))
        assert len({entry.transfer_id for entry in found}) == len(found) // 2


def without_id(entry: LedgerEntry) -> bytes:
    other = LedgerEntry()
    other.CopyFrom(entry)
    other.ClearField("transfer_id")
    return other.SerializeToString()


async def test_a_running_match_passes_with_its_stakes_in_escrow(store: EventStore) -> None:
    played = random_match(3, stake_coins=100, seats=2)
    [match] = await store.whole_matches.read([await store_match(store, played, commands=3)])
    report = judge(match).report
    assert report.ok, report.findings
    assert not report.facts.is_ended
    kinds = {entry.kind for entry in entries_of(match.records, match.transfers)}
    assert kinds == {LEDGER_ENTRY_KIND_STAKE}


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ("UPDATE transfers SET coins = coins + 1 WHERE kind = 5", {Kind.PAYOUT, Kind.ESCROW}),
        ("DELETE FROM transfers WHERE kind = 5", {Kind.PAYOUT, Kind.ESCROW}),
        ("UPDATE transfers SET coins = 99 WHERE kind = 2", {Kind.STAKE, Kind.ESCROW}),
        ("UPDATE transfers SET player = 'thief' WHERE kind = 5", {Kind.PAYOUT}),
        ("UPDATE transfers SET version = version + 1000 WHERE kind = 5", {Kind.LEDGER}),
    ],
)
async def test_a_changed_ledger_is_found(
    store: EventStore, database: Database, change: str, kinds: set[Kind]
) -> None:
    played = next(
        played
        for played in (random_match(seed, stake_coins=100, seats=3) for seed in range(100))
        if played.records[-1].event.finished.outcome == 1
    )
    match_id = await store_match(store, played)
    await execute(database.owner_dsn, "ALTER TABLE transfers DISABLE TRIGGER USER", change)
    [match] = await store.whole_matches.read([match_id])
    report = judge(match).report
    assert kinds <= {finding.kind for finding in report.findings}


async def test_matches_are_read_once_each_in_the_order_of_their_opening(store: EventStore) -> None:
    ids = [await store_random(store, seed) for seed in range(60)]  # more than a page
    day = timedelta(days=1)
    pages = [page async for page in store.whole_matches.iterate_ids_opened(STARTED, STARTED + day)]
    assert len(pages) == 2
    assert sorted(one for page in pages for one in page) == sorted(ids)
    assert await store.whole_matches.count_opened(STARTED, STARTED + day) == 60
    assert await store.whole_matches.count_opened(STARTED + day, STARTED) == 0
    assert not [
        page async for page in store.whole_matches.iterate_ids_opened(STARTED - day, STARTED)
    ]
    everything = [one async for page in store.whole_matches.iterate_ids() for one in page]
    assert everything == sorted(ids)


async def test_a_missing_match_is_read_without_records(store: EventStore) -> None:
    missing = uuid4()
    assert await store.whole_matches.read([missing]) == [WholeMatch(missing, [], [])]


async def test_results_come_in_the_order_of_the_pages(store: EventStore) -> None:
    ids = [await store_random(store, seed) for seed in range(12)]

    async def pages() -> AsyncIterator[list[Case]]:
        for match_id in ids:
            yield [Case(one) for one in await store.whole_matches.read([match_id])]

    async with AuditPool(2) as auditors:
        found = [one async for page in auditors.judge_pages(pages()) for one in page]
        assert len(active_children()) == 2
    assert not active_children()
    assert [one.match_id for one in found] == ids
    assert all(one.report.ok for one in found)


async def test_the_pool_ends_when_its_caller_stops_reading(store: EventStore) -> None:
    match_id = await store_random(store, 1)

    async def endless() -> AsyncIterator[list[Case]]:
        while True:
            yield [Case(one) for one in await store.whole_matches.read([match_id])]

    async with AuditPool(1) as auditors:
        async with asyncio.timeout(60):
            async for _ in auditors.judge_pages(endless()):
                break


AUDIT = """
import asyncio
import signal
import subprocess
import sys
from service.judging.judge import AuditPool

async def pages():
    yield []
    print("auditing", flush=True)
    await asyncio.Event().wait()

async def main():
    async with AuditPool(1) as auditors:
        async for _ in auditors.judge_pages(pages()):
            pass

asyncio.run(main())
"""


def test_the_processes_end_when_their_parent_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", AUDIT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "auditing\n"
    parent.kill()
    # The processes inherit its output, which ends with the last of them.
    parent.communicate(timeout=60)
    assert parent.returncode == -signal.SIGKILL


async def test_matches_opened_during_a_verification_are_left_out(
    store: EventStore, database: Database
) -> None:
    for seed in range(2):
        await store_random(store, seed)
    judging = verify_payouts(
        store,
        1,
        STARTED - timedelta(days=1),
        datetime.max.replace(tzinfo=UTC),
        Seals(store.checkpoints, Path("no-key")),
    )
    async with aclosing(judging) as messages:
        first = await anext(messages)
        assert first.progress.matches_total == 2
        late = await store_random(store, 2)
        await execute(
            database.owner_dsn,
            f"UPDATE matches SET opened_at = opened_at + interval '1 s' WHERE match_id = '{late}'",
        )
        *_, last = [message async for message in messages]
    assert last.summary.matches_judged == 2
