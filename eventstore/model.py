"""Values that several parts of the store share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final, NamedTuple
from uuid import UUID


class _Unchanged(Enum):
    UNCHANGED = "unchanged"


UNCHANGED: Final = _Unchanged.UNCHANGED
"""As `Append.due_at`: keep the stored value.

This is the cheapest choice, because a new value also changes an index.
"""


@dataclass(frozen=True, slots=True)
class LobbyRow:
    """The row of one match in the lobby.

    The caller defines the numbers of `status` and the content of `summary`. `players` are the
    names of the seated players. `ended_at` is the time of the last event of an ended match.
    `played_free` says that the match had no stake and was played to the end. `opened_by` is kept
    from the first row of a match, so later rows need not repeat it.
    `prevented_by` are those of `players` who prevented the deal of an ended match. `concerns` are
    the players whom the match concerns from this append on, and `invites` those whom it invites:
    they get news of it.
    """

    status: int
    opened_at: datetime
    summary: bytes
    players: tuple[str, ...] = ()
    ended_at: datetime | None = None
    opened_by: str | None = None
    played_free: bool = False
    prevented_by: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    invites: tuple[str, ...] = ()


class Append(NamedTuple):
    """Records to add to a stream right after `expected_version` (0 for a new stream).

    `previous_hash` is the hash of that version (`first_hash` for a new stream). `due_at` is the
    next deadline of the stream, None for no deadline.
    """

    stream_id: UUID
    expected_version: int
    previous_hash: bytes
    records: Sequence[bytes]
    due_at: datetime | _Unchanged | None = UNCHANGED
    lobby: LobbyRow | None = None


class Head(NamedTuple):
    """The last version of a stream (from 1, without gaps) and its hash (32 bytes)."""

    version: int
    hash: bytes


class StoredRecord(NamedTuple):
    """One record of a stream, with its version and its hash in the chain."""

    version: int
    record: bytes
    hash: bytes


class DueStream(NamedTuple):
    """A stream whose deadline has passed, and its version when it was read."""

    stream_id: UUID
    version: int
    due_at: datetime


class PageKey(NamedTuple):
    """The last row of a page in a list that is ordered by opening time, newest first."""

    opened_at: datetime
    match_id: UUID


BEFORE_FIRST_PAGE: Final = PageKey(datetime(9999, 12, 31, tzinfo=UTC), UUID(int=2**128 - 1))
"""A key that sorts before every row of a list."""
