"""The rules of the ledger: which transfers a command makes, given the accounts that it touches.

Nothing here uses the database. `Books` holds the rows that were read under lock. A move that is not
allowed raises, and then nothing of the command is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from eventstore.errors import InsufficientCoins, LedgerMismatch, NoAccount
from eventstore.ledger.transfers import COINS_MAX, EFFECTS, TransferKind


@dataclass(frozen=True, slots=True)
class TakeStake:
    """A player takes a seat, and the stake goes into escrow (R12.2).

    The coins of the opening balance cannot be staked until the player has played `free_matches`
    free matches to the end (R12.9).
    """

    player: str
    coins: int
    free_matches: int = 0


@dataclass(frozen=True, slots=True)
class ReturnStake:
    """A player gives up the seat before the deal, and the stake is returned."""

    player: str


@dataclass(frozen=True, slots=True)
class Settle:
    """The match ends, and its stakes are paid out by shares that sum to the bank.

    If every player gets exactly the own stake (R12.5), the stakes are refunded. Otherwise they are
    posted to the bank, which pays the shares (R12.3, R12.4, R12.6). Every player with a stake has a
    share, which can be 0.
    """

    shares: Mapping[str, int]


CoinMove = TakeStake | ReturnStake | Settle


class Stake(NamedTuple):
    """A pending stake of a match, and the version and ordinal of its transfer."""

    version: int
    ordinal: int
    player: str
    coins: int


class Entry(NamedTuple):
    """A transfer to write. Its source, version and ordinal come with the command.

    `stake` is the stake that a refund or a post ends.
    """

    kind: TransferKind
    player: str
    number: int
    coins: int
    available_after: int
    stake: Stake | None


@dataclass(slots=True)
class Account:
    """The balances of a player, and the number of their last transfer."""

    available: int = 0
    escrow: int = 0
    transfers: int = 0


@dataclass(slots=True)
class Books:
    """The accounts that a command touches, the pending stakes of its match, and its entries.

    >>> books = Books({"ann": Account(available=100)}, [])
    >>> books.move(TakeStake("ann", 30))
    >>> books.accounts["ann"]
    Account(available=70, escrow=30, transfers=1)
    """

    accounts: dict[str, Account]
    stakes: list[Stake]
    entries: list[Entry] = field(default_factory=list)

    def move(self, move: CoinMove) -> None:
        """Make one move of a match. Raises InsufficientCoins or LedgerMismatch."""
        match move:
            case TakeStake(player, coins, _):
                self._take_stake(player, coins)
            case ReturnStake(player):
                self._end_stake(TransferKind.REFUND, self._find_stake(player))
            case Settle(shares):
                self._settle(shares)

    def issue(self, player: str, coins: int) -> None:
        """Give new coins to a player who has an account."""
        self._enter(TransferKind.ISSUE, player, coins)

    def correct(self, corrections: Mapping[str, int]) -> None:
        """Move coins between players by a ruling. Raises InsufficientCoins or LedgerMismatch."""
        if sum(corrections.values()) or not all(corrections.values()):
            raise LedgerMismatch("the corrections of a ruling sum to 0, and none of them is 0")
        for player, coins in sorted(corrections.items()):
            account = self.accounts.get(player)
            if account is None:
                raise LedgerMismatch("a correction is for a player without an account")
            if account.available + coins < 0:
                raise InsufficientCoins(player, account.available, -coins)
            kind = TransferKind.CORRECTION_IN if coins > 0 else TransferKind.CORRECTION_OUT
            self._enter(kind, player, abs(coins))

    def _take_stake(self, player: str, coins: int) -> None:
        if not 0 < coins <= COINS_MAX:
            raise LedgerMismatch(f"a stake has 1 to {COINS_MAX} coins: {coins}")
        if any(stake.player == player for stake in self.stakes):
            raise LedgerMismatch("the player already has a stake at this match")
        account = self.accounts.get(player)
        if account is None:
            raise NoAccount(player, 0, coins)
        if account.available < coins:
            raise InsufficientCoins(player, account.available, coins)
        self._enter(TransferKind.STAKE, player, coins)

    def _settle(self, shares: Mapping[str, int]) -> None:
        stakes = {stake.player: stake.coins for stake in self.stakes}
        bank = sum(stakes.values())
        if sum(shares.values()) != bank or min(shares.values(), default=0) < 0:
            raise LedgerMismatch(f"the shares do not sum to the bank of {bank} coins")
        if shares.keys() != stakes.keys():
            raise LedgerMismatch("the shares are not those of the players with a stake")
        paid = {player: coins for player, coins in shares.items() if coins}
        kind = TransferKind.REFUND if paid == stakes else TransferKind.POST
        for stake in list(self.stakes):
            self._end_stake(kind, stake)
        if kind is TransferKind.POST:
            for player, coins in paid.items():
                self._enter(TransferKind.PAYOUT, player, coins)

    def _end_stake(self, kind: TransferKind, stake: Stake) -> None:
        self.stakes.remove(stake)
        self._enter(kind, stake.player, stake.coins, stake)

    def _find_stake(self, player: str) -> Stake:
        for stake in self.stakes:
            if stake.player == player:
                return stake
        raise LedgerMismatch("the player has no stake at this match")

    def _enter(
        self, kind: TransferKind, player: str, coins: int, stake: Stake | None = None
    ) -> None:
        account, effect = self.accounts[player], EFFECTS[kind]
        account.available += effect.available * coins
        account.escrow += effect.escrow * coins
        account.transfers += 1
        entry = Entry(kind, player, account.transfers, coins, account.available, stake)
        self.entries.append(entry)


def players_of(moves: Sequence[CoinMove]) -> frozenset[str]:
    """Return the players whose accounts the moves touch."""
    players: set[str] = set()
    for move in moves:
        if isinstance(move, Settle):
            players.update(move.shares)
        else:
            players.add(move.player)
    return frozenset(players)
