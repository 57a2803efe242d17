"""The stored administrative log: guarded appends, one chain, nothing changed or removed."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import asyncpg
import pytest

from domain.match.fold import CorruptLogError
from eventstore import EventStore
from eventstore.administration import FIRST_ADMINISTRATION_HASH
from eventstore.errors import InsufficientCoins, LedgerMismatch, VersionConflict
from eventstore.ledger.ledger import Grant
from service.stored_records import read_chain
from tests.conftest import Database, execute
from tests.eventstore.support import grant, next_act


async def test_concurrent_acts_form_one_chain(store: EventStore) -> None:
    await asyncio.gather(*(grant(store, uuid4(), "ann", 5, f"operator {n}") for n in range(6)))
    stored = await store.administration.read()
    assert [one.version for one in stored] == [1, 2, 3, 4, 5, 6]
    assert read_chain(stored, FIRST_ADMINISTRATION_HASH, bytes) == [b"ann 5"] * 6
    assert await store.ledger.read_balance("ann") == (30, 0)


async def test_an_act_after_another_hash_or_with_a_used_request_conflicts(
    store: EventStore,
) -> None:
    request_id = uuid4()
    await grant(store, request_id, "ann", 5)
    last = await store.administration.read_last()
    assert last is not None
    for append in (
        next_act(None, b"a second beginning"),
        next_act(last._replace(hash=bytes(32)), b"another chain"),
        next_act(last._replace(version=7), b"after a gap"),
        next_act(last, b"the same request", request_id=request_id),
    ):
        with pytest.raises(VersionConflict):
            await store.administration.append(append, Grant(uuid4(), "ann", 9))
    assert await store.ledger.read_balance("ann") == (5, 0)
    assert await store.administration.read() == [last]


async def test_an_act_is_not_stored_if_its_coins_cannot_move(store: EventStore) -> None:
    grant_id = uuid4()
    await grant(store, grant_id, "ann", 5)
    last = await store.administration.read_last()
    with pytest.raises((LedgerMismatch, InsufficientCoins)):
        await store.administration.append(next_act(last, b"act"), Grant(grant_id, "ann", 6))
    assert await store.administration.read_last() == last


async def test_the_service_cannot_change_or_remove_an_act(
    store: EventStore, database: Database
) -> None:
    await grant(store, uuid4(), "ann", 5)
    for statement in (
        "UPDATE administrative_events SET actor = 'nobody'",
        "DELETE FROM administrative_events",
        "TRUNCATE administrative_events",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await execute(database.app_dsn, statement)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await execute(database.owner_dsn, statement)


async def test_a_changed_byte_breaks_the_chain(store: EventStore, database: Database) -> None:
    for n in range(3):
        await grant(store, uuid4(), f"p{n}", 5)
    await execute(database.owner_dsn, "ALTER TABLE administrative_events DISABLE TRIGGER USER")
    await execute(
        database.owner_dsn,
        "UPDATE administrative_events SET record = set_byte(record, 0, 33) WHERE version = 2",
    )
    with pytest.raises(CorruptLogError, match="breaks at version 2"):
        read_chain(await store.administration.read(), FIRST_ADMINISTRATION_HASH, bytes)
