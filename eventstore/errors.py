"""What can go wrong in the store, as types. Every error says whether something was stored."""

# ruff: noqa: N818 - the names say what happened (a conflict, an overload), as those of asyncpg do

from __future__ import annotations

from uuid import UUID


class StoreError(Exception):
    """Any failure of the store."""


class VersionConflict(StoreError):
    """The stream is not at the expected version; nothing was stored: read what is new and decide.

    `actual` is the stream's version when the conflict was looked into (0: there is no such stream);
    another writer may have moved it since.
    """

    def __init__(self, stream_id: UUID, expected: int, actual: int) -> None:
        super().__init__(f"stream {stream_id} is at version {actual}, not {expected}")
        self.stream_id = stream_id
        self.expected = expected
        self.actual = actual


class ChainMismatch(StoreError):
    """The stream is at the expected version but its head hash is another; nothing was stored.

    The caller's copy of the stream is not what stands in the log.
    """

    def __init__(self, stream_id: UUID, version: int) -> None:
        super().__init__(
            f"the caller's copy of stream {stream_id} differs from the stored one up to {version}"
        )
        self.stream_id = stream_id
        self.version = version


class StoreOverloaded(StoreError):
    """Too many appends are waiting; nothing was stored. Try again later."""


class StoreUnavailable(StoreError):
    """The database cannot be reached or does not take writes; nothing was stored.

    Try again later.
    """


class AppendOutcomeUnknown(StoreError):
    """The connection was lost during the append, and whether it was committed is not known.

    Read the stream: either the records are all there or none of them. Appending the same records
    again is safe: the version guard lets them in at most once.
    """

    def __init__(self, stream_id: UUID, expected: int) -> None:
        super().__init__(
            f"the append to stream {stream_id} after version {expected} may or may not be stored"
        )
        self.stream_id = stream_id
        self.expected = expected


class InsufficientCoins(StoreError):
    """A player has fewer coins than the stake (R12.2); neither events nor coins were stored."""

    def __init__(self, player: str, available: int, needed: int) -> None:
        super().__init__(f"{available} coins are available, and {needed} are needed")
        self.player = player
        self.available = available
        self.needed = needed


class TooManyDisputes(StoreError):
    """A player has as many undecided disputes about the match as they may; nothing was stored."""


class LedgerMismatch(StoreError):
    """Coins were asked to move in a way that the ledger rules out; nothing was stored.

    The shares do not sum to the bank, a stake is not there or is there already, an id was used for
    something else: a fault of the caller.
    """


class StoreMisconfigured(StoreError):
    """The database cannot hold the log: too old, not migrated, or commits are not synced."""


class MigrationError(StoreError):
    """The database's migrations and the program's do not fit together; nothing was changed."""
