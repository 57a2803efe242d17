"""Failures that allow a retry, and failures that do not."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from eventstore import Append, EventStore, Limits
from eventstore.errors import StoreError, StoreUnavailable
from eventstore.ledger.books import CoinMove, TakeStake
from eventstore.postgres.retry import retry
from tests.conftest import Database
from tests.eventstore.support import Writer

BEYOND_INTEGER = 2**40
LONGER_THAN_THE_TEST = Limits(retry_timeout_seconds=3600)


async def test_an_operation_is_retried_until_it_succeeds() -> None:
    failures = [ConnectionResetError(), TimeoutError()]

    async def operation() -> str:
        if failures:
            raise failures.pop()
        return "done"

    assert await retry(30.0, operation) == "done"


async def test_an_operation_without_time_for_retries_is_tried_once() -> None:
    tries = 0

    async def operation() -> None:
        nonlocal tries
        tries += 1
        raise ConnectionResetError

    with pytest.raises(StoreUnavailable, match="ConnectionResetError"):
        await retry(0.0, operation)
    assert tries == 1


async def test_an_error_of_the_operation_itself_is_not_retried() -> None:
    async def operation() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await retry(3600, operation)


async def test_a_read_with_an_argument_out_of_range_is_not_retried(database: Database) -> None:
    async with await EventStore.open(database.app_dsn, LONGER_THAN_THE_TEST) as store:
        with pytest.raises(StoreError, match="refused a statement: DataError"):
            await store.read(uuid4(), after_version=BEYOND_INTEGER)


@pytest.mark.parametrize("coins", [(), (TakeStake("ann", 5),)], ids=["batch", "transaction"])
async def test_an_append_with_an_argument_out_of_range_is_not_retried(
    database: Database, coins: tuple[CoinMove, ...]
) -> None:
    async with await EventStore.open(database.app_dsn, LONGER_THAN_THE_TEST) as store:
        with pytest.raises(StoreError, match="refused a statement: DataError"):
            await store.append(Append(uuid4(), BEYOND_INTEGER, bytes(32), [b"x"]), coins)
        await asyncio.gather(*(Writer(store).add(b"one") for _ in range(3)))
