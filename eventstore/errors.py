"""What can go wrong in the store, as types. Every error says whether something was stored."""

from __future__ import annotations

from uuid import UUID


class StoreError(Exception):
    """Any failure of the store."""


class VersionConflict(StoreError):
    """The stream is not at the expected version; nothing was stored. Read what is new, decide again.

    `actual` is the stream's version when the conflict was looked into (0: there is no such stream); another writer may have moved
    it since.
    """

    def __init__(self, stream_id: UUID, expected: int, actual: int) -> None:
        super().__init__(f"stream {stream_id} is at version {actual}, not {expected}")
        self.stream_id = stream_id
        self.expected = expected
        self.actual = actual


class ChainMismatch(StoreError):
    """The stream is at the expected version, but its head hash is another: the caller's copy is not this stream. Nothing was stored."""

    def __init__(self, stream_id: UUID, version: int) -> None:
        super().__init__(f"the caller's copy of stream {stream_id} differs from the stored one at or before version {version}")
        self.stream_id = stream_id
        self.version = version


class StoreOverloaded(StoreError):
    """Too many appends are waiting; nothing was stored. Try again later."""


class StoreUnavailable(StoreError):
    """The database cannot be reached or does not take writes; nothing was stored. Try again later."""


class AppendOutcomeUnknown(StoreError):
    """The connection was lost while the append was under way and the store could not find out in time whether it was committed.

    Read the stream: either the records are all there or none of them. Appending the same records again is safe: the version guard
    lets them in at most once.
    """

    def __init__(self, stream_id: UUID, expected: int) -> None:
        super().__init__(f"whether the append to stream {stream_id} after version {expected} was stored is not known")
        self.stream_id = stream_id
        self.expected = expected


class StoreMisconfigured(StoreError):
    """The database is not fit to hold the log: wrong version, not migrated, or it does not sync commits to disk."""


class MigrationError(StoreError):
    """The migrations in the database and those in the program do not fit together; nothing was changed."""
