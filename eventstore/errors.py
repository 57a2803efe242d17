"""The errors of the store. Each says whether anything was stored."""

# ruff: noqa: N818 - the names say what happened (a conflict, an overload), like those of asyncpg

from __future__ import annotations

from uuid import UUID


class StoreError(Exception):
    """The base class of all errors of the store."""


class VersionConflict(StoreError):
    """The stream is not at the expected version. Nothing was stored.

    Read the new records and decide again. `actual` is the version at the time of the check, 0 if
    the stream does not exist. Another writer may have changed it since.
    """

    def __init__(self, stream_id: UUID, expected: int, actual: int) -> None:
        super().__init__(f"stream {stream_id} is at version {actual}, not {expected}")
        self.stream_id = stream_id
        self.expected = expected
        self.actual = actual


class ChainMismatch(StoreError):
    """The stream is at the expected version, but its head hash differs. Nothing was stored.

    The caller's copy of the stream differs from the log.
    """

    def __init__(self, stream_id: UUID, version: int) -> None:
        super().__init__(
            f"the caller's copy of stream {stream_id} differs from the log at version {version}"
        )
        self.stream_id = stream_id
        self.version = version


class StoreOverloaded(StoreError):
    """Too many appends are waiting. Nothing was stored. Retry later."""


class StoreUnavailable(StoreError):
    """The database cannot be reached or refuses writes. Nothing was stored. Retry later."""


class AppendOutcomeUnknown(StoreError):
    """The connection was lost during the append. All of its records were stored, or none.

    Appending the same records again is safe: the version guard stores them at most once.
    """

    def __init__(self, stream_id: UUID, expected: int) -> None:
        super().__init__(
            f"the append to stream {stream_id} after version {expected} may or may not be stored"
        )
        self.stream_id = stream_id
        self.expected = expected


class InsufficientCoins(StoreError):
    """A player has fewer coins than the command needs (R12.2). Nothing was stored."""

    def __init__(self, player: str, available: int, needed: int) -> None:
        super().__init__(f"{available} coins are available, and {needed} are needed")
        self.player = player
        self.available = available
        self.needed = needed


class NoAccount(InsufficientCoins):
    """The player has no account yet. Nothing was stored. Open the account and repeat the append."""


class OpeningCoinsLocked(StoreError):
    """The stake needs coins of the opening balance too early (R12.9). Nothing was stored.

    `stakeable` are the coins without the opening balance. The player has played `played` of the
    `needed` free matches.
    """

    def __init__(self, player: str, stakeable: int, played: int, needed: int) -> None:
        super().__init__(f"{played} of {needed} free matches are played")
        self.player = player
        self.stakeable = stakeable
        self.played = played
        self.needed = needed


class TooManyDisputes(StoreError):
    """The player's quota of undecided disputes about the match is used up. Nothing was stored."""


class LedgerMismatch(StoreError):
    """The ledger forbids the requested move of coins. Nothing was stored.

    This is a fault of the caller. For example, the shares do not sum to the bank, a stake is
    missing or already taken, or an id was used for another grant.
    """


class StoreMisconfigured(StoreError):
    """The database cannot hold the log: it is too old, not migrated, or does not sync commits."""


class MigrationError(StoreError):
    """The migrations of the database and of the program contradict each other. Nothing was changed.

    Also raised when a migration fails.
    """


class EmbeddedPostgresError(Exception):
    """The embedded PostgreSQL server cannot be set up or started. The text names the remedy."""


def reason_of(error: Exception) -> str:
    """Return the first line of a message of the server, without its details and hints."""
    return str(error).partition("\n")[0]
