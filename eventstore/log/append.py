"""The statement that appends: moves the heads of many streams and puts their records in.

The version guard is the update of the stream's row. Whatever else the statement writes, it writes
only for streams whose row was moved, so that a conflict of one stream is no matter of another's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventstore.errors import (
    AppendOutcomeUnknown,
    ChainMismatch,
    StoreError,
    StoreUnavailable,
    VersionConflict,
)
from eventstore.log.chain import next_hash
from eventstore.model import UNCHANGED, Append, Head
from eventstore.postgres.connect import caused

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from eventstore.postgres.connect import Pooled

# Sending and materialising rows is most of the cost, so each append sends as few as it can. One
# that moves a stream sends a row with its last record, whose hash is the new head; the update hands
# that record on to the insert. Records before the last, and those of new streams, come in arrays of
# their own, and are let in by stream: `(… IN …) IS TRUE` is one hash lookup, which the planner
# cannot turn into a join. Arrays in which all elements would be the same are sent empty, read as
# nulls.
_STORE = """
WITH moved AS (
    UPDATE streams s
    SET version = i.expected + coalesce(i.count, 1), head_hash = i.head_hash,
        due_at = CASE WHEN i.sets_due THEN i.due_at ELSE s.due_at END
    FROM unnest(
        $1::uuid[], $2::integer[], $3::integer[], $4::bytea[], $5::bytea[], $6::bytea[],
        $7::timestamptz[], $8::boolean[]
    ) AS i (stream_id, expected, count, previous_hash, head_hash, record, due_at, sets_due)
    WHERE s.stream_id = i.stream_id AND s.version = i.expected AND s.head_hash = i.previous_hash
    RETURNING s.stream_id, s.version, i.record, s.head_hash
), created AS (
    INSERT INTO streams (stream_id, version, head_hash, due_at)
    SELECT * FROM unnest($9::uuid[], $10::integer[], $11::bytea[], $12::timestamptz[])
    ON CONFLICT (stream_id) DO NOTHING
    RETURNING stream_id
), won AS (
    SELECT stream_id FROM moved UNION ALL SELECT stream_id FROM created
), stored AS (
    INSERT INTO events (stream_id, version, record, hash) SELECT * FROM moved
), stored_besides AS (
    INSERT INTO events (stream_id, version, record, hash)
    SELECT * FROM unnest($13::uuid[], $14::integer[], $15::bytea[], $16::bytea[])
        AS e (stream_id, version, record, hash)
    WHERE (stream_id IN (SELECT stream_id FROM won)) IS TRUE
)"""

_LIST = """, listed AS (
    SELECT * FROM unnest(
        $17::uuid[], $18::smallint[], $19::timestamptz[], $20::integer[], $21::bytea[],
        $22::timestamptz[], $23::text[]
    ) AS l (match_id, status, opened_at, version, summary, ended_at, opened_by)
    WHERE (match_id IN (SELECT stream_id FROM won)) IS TRUE
), seated AS (
    SELECT * FROM unnest($24::uuid[], $25::text[], $26::timestamptz[])
        AS s (match_id, player, opened_at)
    WHERE (match_id IN (SELECT stream_id FROM won)) IS TRUE
), lobby AS (
    INSERT INTO matches (match_id, status, opened_at, version, summary, ended_at, opened_by)
    SELECT * FROM listed
    ON CONFLICT (match_id) DO UPDATE
    SET status = excluded.status, version = excluded.version, summary = excluded.summary,
        ended_at = excluded.ended_at
), vacated AS (
    DELETE FROM match_players p USING listed l
    WHERE p.match_id = l.match_id
        AND NOT EXISTS (SELECT FROM seated s WHERE s.match_id = p.match_id AND s.player = p.player)
), taken AS (
    INSERT INTO match_players (match_id, player, opened_at) SELECT * FROM seated
    ON CONFLICT DO NOTHING
)"""

_LOST = """
SELECT stream_id FROM unnest($1::uuid[] || $9::uuid[]) AS sent (stream_id)
WHERE (SELECT count(*) FROM won) < cardinality($1::uuid[]) + cardinality($9::uuid[])
    AND (stream_id IN (SELECT stream_id FROM won)) IS NOT TRUE
"""

_LOOK = """
SELECT w.stream_id, s.version, s.head_hash, e.hash AS hash_there
FROM unnest($1::uuid[], $2::integer[]) AS w (stream_id, version)
JOIN streams s USING (stream_id)
LEFT JOIN events e ON e.stream_id = w.stream_id AND e.version = w.version
"""


class Pending:
    """One append on its way: the hashes of its records, its outcome, its caller's future."""

    __slots__ = ("append", "future", "hashes", "head", "key", "outcome")

    def __init__(self, append: Append, future: asyncio.Future[Head] | None = None) -> None:
        self.append = append
        self.future = future
        self.outcome: Head | StoreError | None = None
        self.key: int = append.stream_id.int  # hashed and compared faster than the id that it is
        self.hashes: list[bytes] = []
        link = append.previous_hash
        for record in append.records:
            link = next_hash(link, record)
            self.hashes.append(link)
        self.head = Head(append.expected_version + len(self.hashes), link)

    def tell(self) -> None:
        """Give the outcome to the caller, if they still wait."""
        future, outcome = self.future, self.outcome
        if future is None or future.done() or outcome is None:
            return
        if isinstance(outcome, Head):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)


async def store(connection: Pooled, batch: Sequence[Pending]) -> set[int]:
    """Send appends of different streams as one statement; the keys of those not let in."""
    new = [pending for pending in batch if pending.append.expected_version == 0]
    old = [pending for pending in batch if pending.append.expected_version > 0] if new else batch
    several = [pending for pending in old if len(pending.hashes) > 1]
    arguments = [*_heads(old, several), *_first_heads(new), *_records(new, several)]
    listed = [pending for pending in batch if pending.append.lobby is not None]
    if listed:
        rows = await connection.fetch(_STORE + _LIST + _LOST, *arguments, *_lobby_rows(listed))
    else:
        rows = await connection.fetch(_STORE + _LOST, *arguments)
    return {row[0].int for row in rows}


def _heads(batch: Sequence[Pending], several: Sequence[Pending]) -> tuple[Sequence[object], ...]:
    appends = [pending.append for pending in batch]
    due = any(append.due_at is not UNCHANGED for append in appends)
    return (
        [append.stream_id for append in appends],
        [append.expected_version for append in appends],
        [len(append.records) for append in appends] if several else [],
        [append.previous_hash for append in appends],
        [pending.head.hash for pending in batch],
        [append.records[-1] for append in appends],
        [_due_at(append) for append in appends] if due else [],
        [append.due_at is not UNCHANGED for append in appends] if due else [],
    )


def _first_heads(batch: Sequence[Pending]) -> tuple[Sequence[object], ...]:
    return (
        [pending.append.stream_id for pending in batch],
        [pending.head.version for pending in batch],
        [pending.head.hash for pending in batch],
        [_due_at(pending.append) for pending in batch],
    )


def _due_at(append: Append) -> datetime | None:
    return None if append.due_at is UNCHANGED else append.due_at


def _records(new: Sequence[Pending], several: Sequence[Pending]) -> tuple[Sequence[object], ...]:
    """All records of new streams, and those before the last of the others."""
    rows: list[tuple[UUID, int, bytes, bytes]] = []
    for batch, end in ((new, None), (several, -1)):
        for pending in batch:
            records = zip(pending.append.records[:end], pending.hashes[:end], strict=True)
            first = pending.append.expected_version + 1
            rows.extend(
                (pending.append.stream_id, version, record, record_hash)
                for version, (record, record_hash) in enumerate(records, start=first)
            )
    return tuple([row[column] for row in rows] for column in range(4))


def _lobby_rows(batch: Sequence[Pending]) -> tuple[Sequence[object], ...]:
    rows = [(each, row) for each in batch if (row := each.append.lobby) is not None]
    seats = [
        (each.append.stream_id, name, row.opened_at) for each, row in rows for name in row.players
    ]
    return (
        [each.append.stream_id for each, _ in rows],
        [row.status for _, row in rows],
        [row.opened_at for _, row in rows],
        [each.head.version for each, _ in rows],
        [row.summary for _, row in rows],
        [row.ended_at for _, row in rows],
        [row.opened_by for _, row in rows],
        *([seat[column] for seat in seats] for column in range(3)),
    )


async def explain(
    connection: Pooled, losers: Sequence[Pending], *, resent: bool
) -> dict[int, Head | StoreError]:
    """Why appends were not let in, or that they were, by an earlier sending with a lost answer."""
    rows = await connection.fetch(
        _LOOK,
        [pending.append.stream_id for pending in losers],
        [pending.head.version for pending in losers],
    )
    found = {row["stream_id"].int: row for row in rows}
    outcomes: dict[int, Head | StoreError] = {}
    for pending in losers:
        row, expected = found.get(pending.key), pending.append.expected_version
        if row is None:
            outcomes[pending.key] = VersionConflict(pending.append.stream_id, expected, 0)
        elif resent and row["hash_there"] == pending.head.hash:
            outcomes[pending.key] = pending.head
        elif row["version"] == expected and row["head_hash"] != pending.append.previous_hash:
            outcomes[pending.key] = ChainMismatch(pending.append.stream_id, expected)
        else:
            outcomes[pending.key] = VersionConflict(
                pending.append.stream_id, expected, row["version"]
            )
    return outcomes


def given_up(pending: Pending, cause: Exception, *, resent: bool) -> StoreError:
    """The error for an append whose sending failed for as long as patience lasts."""
    if resent:
        unknown = AppendOutcomeUnknown(pending.append.stream_id, pending.append.expected_version)
        return caused(unknown, cause)
    return caused(StoreUnavailable(f"the database does not answer: {type(cause).__name__}"), cause)
