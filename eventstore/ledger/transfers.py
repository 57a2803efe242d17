"""Transfers of coins: their kinds, their effects on balances, and the rows that clients see."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

if TYPE_CHECKING:
    import asyncpg

COINS_MAX: Final = 2**53
"""Larger numbers are not exact in every language of the clients."""


class TransferKind(IntEnum):
    """The kind of a transfer. Every transfer has one player on one side (R12.1)."""

    ISSUE = 1
    """New coins → player: an opening balance or a grant."""
    STAKE = 2
    """Player → escrow of the match. Pending until a refund or a post ends it."""
    REFUND = 3
    """Escrow → player: the whole stake is returned."""
    POST = 4
    """Escrow → bank of the match."""
    PAYOUT = 5
    """Bank → player."""
    CORRECTION_IN = 6
    """Dispute → player, by a ruling."""
    CORRECTION_OUT = 7
    """Player → dispute, by a ruling. The corrections of one dispute sum to zero."""


class Effect(NamedTuple):
    """The accounts that a kind of transfer debits (-1) and credits (1).

    `available` and `escrow` are balances of the player. `pot` is the bank of a match or the sum
    that a dispute holds.
    """

    available: int
    escrow: int
    pot: int


EFFECTS: Final[Mapping[TransferKind, Effect]] = {
    TransferKind.ISSUE: Effect(1, 0, 0),
    TransferKind.STAKE: Effect(-1, 1, 0),
    TransferKind.REFUND: Effect(1, -1, 0),
    TransferKind.POST: Effect(0, -1, 1),
    TransferKind.PAYOUT: Effect(1, 0, -1),
    TransferKind.CORRECTION_IN: Effect(1, 0, -1),
    TransferKind.CORRECTION_OUT: Effect(-1, 0, 1),
}


class Balance(NamedTuple):
    """The coins of a player: `available` to stake, and in `escrow` of matches in progress."""

    available: int
    escrow: int


class Transfer(NamedTuple):
    """One transfer. `number` counts the transfers of its player from 1.

    `source_id` is the match, the grant or the dispute that caused it.
    """

    source_id: UUID
    version: int
    ordinal: int
    kind: TransferKind
    player: str
    number: int
    coins: int
    available_after: int
    actor: str
    recorded_at: datetime


TRANSFER_COLUMNS: Final = ", ".join(Transfer._fields)
"""The columns of a query whose rows `read_transfer` converts."""


def read_transfer(row: asyncpg.Record) -> Transfer:
    """Return the transfer of a row with TRANSFER_COLUMNS."""
    return Transfer(*row)._replace(kind=TransferKind(row["kind"]))
