"""Appends that move coins: records and transfers in one transaction, many matches at a time.

The accounts are locked first, in the order of their players' names, then the version guard of the
streams decides. An append whose coins cannot move is left out before anything is written, so that
it does not affect the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eventstore.errors import StoreError, VersionConflict
from eventstore.ledger.books import Account, Books, CoinMove, Stake, players_of
from eventstore.ledger.opening import Opening, check_opening_coins, read_openings
from eventstore.ledger.postings import Posting, lock_accounts, read_stakes_of, write_postings
from eventstore.log.append import PendingAppend, explain_rejections, send_appends
from eventstore.log.group_commit import Batcher
from eventstore.model import Append, Head

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection


class PendingCoins(PendingAppend):
    """An append in progress that moves coins of `players`."""

    __slots__ = ("moves", "players")

    def __init__(
        self, append: Append, future: asyncio.Future[Head], moves: Sequence[CoinMove]
    ) -> None:
        super().__init__(append, future)
        self.moves = moves
        self.players = players_of(moves)


class CoinBatcher(Batcher[PendingCoins]):
    """Group commit of appends that move coins. Each player is in a batch at most once.

    So no append of a batch depends on another one, which the version guard may reject.
    """

    def _may_join(self, pending: PendingCoins, batch: Mapping[int, PendingCoins]) -> bool:
        return pending.key not in batch and all(
            pending.players.isdisjoint(other.players) for other in batch.values()
        )

    async def _send(
        self, connection: Connection, batch: Sequence[PendingCoins], *, resent: bool
    ) -> None:
        if resent:  # without locks: they make a commit that waits for a standby again
            batch = await _without_stored(connection, batch)
        if batch:
            async with connection.transaction():
                outcomes = await _transact(connection, batch, resent=resent)
            for pending in batch:
                pending.outcome = outcomes[pending.key]


async def _without_stored(
    connection: Connection, batch: Sequence[PendingCoins]
) -> Sequence[PendingCoins]:
    """Set the outcomes of the appends that an earlier try has stored, and return the others."""
    outcomes = await explain_rejections(connection, batch, resent=True)
    for pending in batch:
        if isinstance(head := outcomes[pending.key], Head):
            pending.outcome = head
    return [pending for pending in batch if pending.outcome is None]


async def _transact(
    connection: Connection, batch: Sequence[PendingCoins], *, resent: bool
) -> dict[int, Head | StoreError]:
    """Store the appends of a batch that can be stored, and return the outcomes by key."""
    stakes = await read_stakes_of(connection, [pending.append.stream_id for pending in batch])
    accounts = await lock_accounts(
        connection, sorted(player for pending in batch for player in pending.players)
    )
    openings = await read_openings(connection, [move for one in batch for move in one.moves])
    books: dict[int, Books] = {}
    refused: dict[int, StoreError] = {}
    for pending in batch:
        try:
            books[pending.key] = _book(
                pending, accounts, stakes.get(pending.append.stream_id, []), openings
            )
        except StoreError as error:
            refused[pending.key] = error
    sent = [pending for pending in batch if pending.key in books]
    rejected = await send_appends(connection, sent) if sent else set()
    stored = [pending for pending in sent if pending.key not in rejected]
    if stored:
        await write_postings(
            connection,
            [
                Posting(books[pending.key], pending.append.stream_id, pending.head.version)
                for pending in stored
            ],
        )
    outcomes: dict[int, Head | StoreError] = {pending.key: pending.head for pending in stored}
    failed = [pending for pending in batch if pending.key not in outcomes]
    if failed:
        outcomes |= await explain_rejections(connection, failed, resent=resent)
    for pending in failed:
        outcome = outcomes[pending.key]
        # A refusal holds only on the newest state. Otherwise the conflict is the outcome.
        if pending.key in refused and _is_current(outcome):
            outcomes[pending.key] = refused[pending.key]
    return outcomes


def _book(
    pending: PendingCoins,
    accounts: Mapping[str, Account],
    stakes: list[Stake],
    openings: Mapping[str, Opening],
) -> Books:
    """Return the books of one append. Raises StoreError if its coins cannot move."""
    touched = {player: accounts[player] for player in pending.players if player in accounts}
    books = Books(touched, stakes)
    for move in pending.moves:
        books.move(move)
    check_opening_coins(books, pending.moves, openings)
    return books


def _is_current(outcome: Head | StoreError) -> bool:
    return isinstance(outcome, VersionConflict) and outcome.actual == outcome.expected
