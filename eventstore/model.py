"""The plain values that go into the store and come out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, NamedTuple
from uuid import UUID


class _Unchanged(Enum):
    UNCHANGED = "unchanged"


UNCHANGED: Final = _Unchanged.UNCHANGED
"""For `Append.due_at`: leave it as it is.

The cheapest choice: a new value also changes an index.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """A limit on everything that the store holds, sends or waits for."""

    lanes: int = 1
    """Connections that carry group commits; a stream always goes by the same one.

    One fills its batches best, and is fastest where the process is short of time rather than the
    database. More help where the way to the database is long.
    """
    batch_appends: int = 256
    """Appends in one statement."""
    batch_bytes: int = 4 << 20
    """Record bytes in one statement (a single append may exceed it)."""
    waiting_appends: int = 10_000
    """Appends waiting in all lanes; above that StoreOverloaded."""
    append_records: int = 256
    """Records in one append."""
    record_bytes: int = 64 << 10
    """Size of one record."""
    summary_bytes: int = 16 << 10
    """Size of a lobby row's summary."""
    patience_s: float = 10.0
    """How long the database may be away before waiting calls fail.

    One that is known to be away is tried once per call.
    """
    statement_timeout_s: float = 15.0
    """How long one statement may take."""
    read_connections: int = 4
    coin_connections: int = 4
    page_rows: int = 2_000
    """Rows fetched at a time by reads that go over many streams, and by the tail."""
    tail_interval_s: float = 0.05
    """Pause between two looks at the tail when there is nothing new."""


@dataclass(frozen=True, slots=True)
class LobbyRow:
    """What lists of matches show of one match.

    `status` is the caller's own numbering; `players` are the names seated now; `ended_at` is the
    time of the last event, once there will be no more. `opened_by` comes with a match's first row,
    and stays; later rows need not repeat it.
    """

    status: int
    opened_at: datetime
    summary: bytes
    players: tuple[str, ...] = ()
    ended_at: datetime | None = None
    opened_by: str | None = None


class Append(NamedTuple):
    """Records to add to a stream right after `expected_version` (0: a new stream).

    `previous_hash` is the hash of that version (`first_hash` for a new stream).
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
    """One record as it stands in the log."""

    version: int
    record: bytes
    hash: bytes


class Due(NamedTuple):
    """A stream that somebody must look at, the version at which that was asked for, and when."""

    stream_id: UUID
    version: int
    due_at: datetime


class ListedMatch(NamedTuple):
    """One row of a list of matches; `version` is that of the event that last changed the row."""

    match_id: UUID
    status: int
    opened_at: datetime
    version: int
    summary: bytes


class PageKey(NamedTuple):
    """Where a list goes on: after the row with these values (newest first)."""

    opened_at: datetime
    match_id: UUID


class TailBatch(NamedTuple):
    """Streams that were appended to, each with its newest version, and where to go on.

    `position` is the id of the last transaction in the batch; batches end between transactions.
    """

    changes: dict[UUID, int]
    position: int
