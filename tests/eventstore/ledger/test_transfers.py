from __future__ import annotations

from uuid import uuid4

import asyncpg
import pytest

from eventstore.ledger.transfers import EFFECTS, TransferKind
from tests.conftest import Database

INSERT = """
INSERT INTO transfers (source_id, version, ordinal, kind, player, number, coins, available_after,
    stake_version, stake_ordinal)
VALUES ($1, 1, 0, $2, 'ann', 1, 5, 5, $3::integer, $3::integer)
"""
ENDS_OF_STAKES = (TransferKind.REFUND, TransferKind.POST)


@pytest.mark.parametrize("kind", TransferKind)
def test_R12_8_a_transfer_debits_one_account_and_credits_another(kind: TransferKind) -> None:
    new_coins = 1 if kind is TransferKind.ISSUE else 0
    assert sum(EFFECTS[kind]) == new_coins
    assert max(EFFECTS[kind]) == 1


async def test_the_table_accepts_exactly_the_kinds_of_the_enum(database: Database) -> None:
    connection = await asyncpg.connect(database.app_dsn)
    try:
        for kind in TransferKind:
            stake = 1 if kind in ENDS_OF_STAKES else None
            await connection.execute(INSERT, uuid4(), kind, stake)
            with pytest.raises(asyncpg.CheckViolationError):
                await connection.execute(INSERT, uuid4(), kind, None if stake else 1)
        for number in (min(TransferKind) - 1, max(TransferKind) + 1):
            with pytest.raises(asyncpg.CheckViolationError):
                await connection.execute(INSERT, uuid4(), number, None)
    finally:
        await connection.close()
