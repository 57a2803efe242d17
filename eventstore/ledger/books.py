"""Coins as they move: which transfers a command makes, worked out from what stands in the ledger.

Nothing here touches the database. `Books` is what was read of it under lock; a move either is
entered into the books or raises, and then nothing of the command is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from eventstore.errors import InsufficientCoins, LedgerMismatch

MOST_COINS = 2**53
"""Above this a number is no longer exact in every client's language."""


class TransferKind(IntEnum):
    """What a transfer does. Each has one player on one side (R12.1)."""

    ISSUE = 1
    """Coins come into the game: opening balance or grant → player."""
    STAKE = 2
    """Player → escrow of the match; pending until it is voided or posted."""
    VOID = 3
    """Escrow → the player whose stake it was, whole."""
    POST = 4
    """Escrow → bank of the match."""
    PAYOUT = 5
    """Bank → player."""
    CORRECTION_IN = 6
    """Dispute → player: a ruling puts coins right."""
    CORRECTION_OUT = 7
    """Player → dispute; what a ruling moves adds up to nothing."""


@dataclass(frozen=True, slots=True)
class TakeStake:
    """A player sits down: their stake goes into escrow (R12.2)."""

    player: str
    coins: int


@dataclass(frozen=True, slots=True)
class ReturnStake:
    """A player gives up the seat before the deal: their stake comes back."""

    player: str


@dataclass(frozen=True, slots=True)
class Settle:
    """The match ends: every stake at it is paid out by these shares, which sum to the bank.

    Where everybody gets exactly their own stake back (R12.5), the stakes are voided; otherwise they
    are posted to the bank and the shares paid from it (R12.3, R12.4, R12.6).
    """

    shares: Mapping[str, int]


CoinMove = TakeStake | ReturnStake | Settle


class Stake(NamedTuple):
    """A pending stake of a match."""

    version: int
    ordinal: int
    player: str
    coins: int


class Entry(NamedTuple):
    """A transfer as it goes into the ledger; match, version and ordinal come with the append."""

    kind: TransferKind
    player: str
    number: int
    coins: int
    available_after: int
    stake: Stake | None = None


@dataclass(slots=True)
class Account:
    """A player's balances and the number of their last transfer."""

    available: int = 0
    escrow: int = 0
    transfers: int = 0


@dataclass(slots=True)
class Books:
    """The accounts that a command touches, the match's pending stakes, and what was entered."""

    accounts: dict[str, Account]
    stakes: list[Stake]
    entries: list[Entry] = field(default_factory=list)

    def enter(self, move: CoinMove) -> None:
        """Make a move. Raises InsufficientCoins or LedgerMismatch."""
        match move:
            case TakeStake(player, coins):
                self._take(player, coins)
            case ReturnStake(player):
                self._end(TransferKind.VOID, self._stake_of(player))
            case Settle(shares):
                self._settle(shares)

    def correct(self, corrections: Mapping[str, int]) -> None:
        """Move coins between players as a ruling says. Raises as `enter` does."""
        if sum(corrections.values()) or not all(corrections.values()):
            raise LedgerMismatch("the corrections of a ruling add up to 0, and none of them is 0")
        for player, coins in sorted(corrections.items()):
            account = self.accounts.get(player)
            if account is None:
                raise LedgerMismatch(f"{player} has no account")
            if account.available + coins < 0:
                raise InsufficientCoins(player, account.available, -coins)
            account.available += coins
            kind = TransferKind.CORRECTION_IN if coins > 0 else TransferKind.CORRECTION_OUT
            self._note(kind, player, abs(coins))

    def _take(self, player: str, coins: int) -> None:
        if not 0 < coins <= MOST_COINS:
            raise LedgerMismatch(f"a stake has 1 to {MOST_COINS} coins: {coins}")
        if any(stake.player == player for stake in self.stakes):
            raise LedgerMismatch(f"{player} has a stake at this match already")
        account = self.accounts.setdefault(player, Account())
        if account.available < coins:
            raise InsufficientCoins(player, account.available, coins)
        account.available -= coins
        account.escrow += coins
        self._note(TransferKind.STAKE, player, coins)

    def _settle(self, shares: Mapping[str, int]) -> None:
        stakes = {stake.player: stake.coins for stake in self.stakes}
        bank = sum(stakes.values())
        if sum(shares.values()) != bank or min(shares.values(), default=0) < 0:
            raise LedgerMismatch(f"the shares do not sum to the bank of {bank} coins")
        if not shares.keys() <= stakes.keys():
            raise LedgerMismatch("a share is for somebody who has no stake at this match")
        paid = {player: coins for player, coins in shares.items() if coins}
        end = TransferKind.VOID if paid == stakes else TransferKind.POST
        for stake in list(self.stakes):
            self._end(end, stake)
        if end is TransferKind.VOID:
            return
        for player, coins in paid.items():
            self.accounts[player].available += coins
            self._note(TransferKind.PAYOUT, player, coins)

    def _end(self, kind: TransferKind, stake: Stake) -> None:
        account = self.accounts[stake.player]
        account.escrow -= stake.coins
        if kind is TransferKind.VOID:
            account.available += stake.coins
        self.stakes.remove(stake)
        self._note(kind, stake.player, stake.coins, stake)

    def _stake_of(self, player: str) -> Stake:
        for stake in self.stakes:
            if stake.player == player:
                return stake
        raise LedgerMismatch(f"{player} has no stake at this match")

    def _note(
        self, kind: TransferKind, player: str, coins: int, stake: Stake | None = None
    ) -> None:
        account = self.accounts[player]
        account.transfers += 1
        entry = Entry(kind, player, account.transfers, coins, account.available, stake)
        self.entries.append(entry)


def players_of(moves: Sequence[CoinMove], stakes: Sequence[Stake]) -> list[str]:
    """All whose accounts the moves touch."""
    players: set[str] = set()
    for move in moves:
        if isinstance(move, Settle):
            players.update(stake.player for stake in stakes)
        else:
            players.add(move.player)
    return sorted(players)


class Balance(NamedTuple):
    """What a player has: `available` to stake, `escrow` at matches that have not ended."""

    available: int
    escrow: int


class Transfer(NamedTuple):
    """One transfer of a player's. `number` counts their transfers from 1."""

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
