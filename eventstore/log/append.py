"""The append statement: it moves the heads of many streams and inserts their records.

The update of a stream's row is the version guard. Everything else is written only for streams whose
guard succeeded, so a conflict of one stream does not affect the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventstore.errors import AppendOutcomeUnknown, ChainMismatch, StoreError, VersionConflict
from eventstore.log.chain import next_hash
from eventstore.log.news import WRITE_NEWS, News, NewsKind, news_columns
from eventstore.model import UNCHANGED, Append, Head
from eventstore.postgres.retry import unavailable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from uuid import UUID

    from eventstore.postgres.connect import PooledConnection

# Most of the cost is sending and materialising rows, so each append sends as few as possible. An
# append to an existing stream sends one row with its last record, whose hash is the new head. The
# update passes that record on to the insert. Records before the last, and all records of new
# streams, are sent in separate arrays and filtered by stream: `(… IN …) IS TRUE` is one hash
# lookup, which the planner cannot turn into a join. An array whose elements are all equal is sent
# empty, and the statement reads nulls in its place.
_APPEND = """
WITH moved AS (
    UPDATE streams s
    SET version = i.expected + coalesce(i.count, 1), head_hash = i.head_hash,
        due_at = CASE WHEN i.changes_due_at THEN i.due_at ELSE s.due_at END
    FROM unnest(
        $1::uuid[], $2::integer[], $3::integer[], $4::bytea[], $5::bytea[], $6::bytea[],
        $7::timestamptz[], $8::boolean[]
    ) AS i (stream_id, expected, count, previous_hash, head_hash, record, due_at, changes_due_at)
    WHERE s.stream_id = i.stream_id AND s.version = i.expected AND s.head_hash = i.previous_hash
    RETURNING s.stream_id, s.version, i.record, s.head_hash
), created AS (
    INSERT INTO streams (stream_id, version, head_hash, due_at)
    SELECT * FROM unnest($9::uuid[], $10::integer[], $11::bytea[], $12::timestamptz[])
    ON CONFLICT (stream_id) DO NOTHING
    RETURNING stream_id
), accepted AS (
    SELECT stream_id FROM moved UNION ALL SELECT stream_id FROM created
), inserted_last AS (
    INSERT INTO events (stream_id, version, record, hash) SELECT * FROM moved
), inserted_others AS (
    INSERT INTO events (stream_id, version, record, hash)
    SELECT * FROM unnest($13::uuid[], $14::integer[], $15::bytea[], $16::bytea[])
        AS e (stream_id, version, record, hash)
    WHERE (stream_id IN (SELECT stream_id FROM accepted)) IS TRUE
)"""

_WRITE_LOBBY = """, listed AS (
    SELECT * FROM unnest(
        $17::uuid[], $18::smallint[], $19::timestamptz[], $20::integer[], $21::bytea[],
        $22::timestamptz[], $23::text[], $24::boolean[]
    ) AS l (match_id, status, opened_at, version, summary, ended_at, opened_by, played_free)
    WHERE (match_id IN (SELECT stream_id FROM accepted)) IS TRUE
), seated AS (
    SELECT * FROM unnest($25::uuid[], $26::text[], $27::timestamptz[], $28::timestamptz[])
        AS s (match_id, player, opened_at, prevented_at)
    WHERE (match_id IN (SELECT stream_id FROM accepted)) IS TRUE
), lobby AS (
    INSERT INTO matches (match_id, status, opened_at, version, summary, ended_at, opened_by,
        played_free)
    SELECT * FROM listed
    ON CONFLICT (match_id) DO UPDATE
    SET status = excluded.status, version = excluded.version, summary = excluded.summary,
        ended_at = excluded.ended_at, played_free = excluded.played_free
), vacated AS (
    DELETE FROM match_players p USING listed l
    WHERE p.match_id = l.match_id
        AND NOT EXISTS (SELECT FROM seated s WHERE s.match_id = p.match_id AND s.player = p.player)
), taken AS (
    INSERT INTO match_players (match_id, player, opened_at, prevented_at, is_over)
    SELECT s.*, l.ended_at IS NOT NULL FROM seated s JOIN listed l USING (match_id)
    ON CONFLICT (match_id, player) DO UPDATE
    SET prevented_at = excluded.prevented_at, is_over = excluded.is_over
    WHERE excluded.is_over
), concerned AS (
    SELECT * FROM unnest($29::smallint[], $30::uuid[], $31::integer[], $32::text[])
        WITH ORDINALITY AS c (kind, source_id, version, player, at)
    WHERE (source_id IN (SELECT stream_id FROM accepted)) IS TRUE
)"""

_READ_REJECTED = """
SELECT stream_id FROM unnest($1::uuid[] || $9::uuid[]) AS sent (stream_id)
WHERE (SELECT count(*) FROM accepted) < cardinality($1::uuid[]) + cardinality($9::uuid[])
    AND (stream_id IN (SELECT stream_id FROM accepted)) IS NOT TRUE
"""

_READ_CURRENT = """
SELECT w.stream_id, s.version, s.head_hash, e.hash AS stored_hash
FROM unnest($1::uuid[], $2::integer[]) AS w (stream_id, version)
JOIN streams s USING (stream_id)
LEFT JOIN events e ON e.stream_id = w.stream_id AND e.version = w.version
"""


class PendingAppend:
    """One append in progress: the hashes of its records, its outcome, the future of its caller."""

    __slots__ = ("append", "future", "hashes", "head", "key", "outcome")

    def __init__(self, append: Append, future: asyncio.Future[Head] | None = None) -> None:
        self.append = append
        self.future = future
        self.outcome: Head | StoreError | None = None
        self.key: int = append.stream_id.int  # faster to hash and compare than the UUID
        self.hashes: list[bytes] = []
        previous = append.previous_hash
        for record in append.records:
            previous = next_hash(previous, record)
            self.hashes.append(previous)
        self.head = Head(append.expected_version + len(self.hashes), previous)

    def resolve(self) -> None:
        """Pass the outcome to the caller, unless the caller was cancelled."""
        future, outcome = self.future, self.outcome
        if future is None or future.done() or outcome is None:
            return
        if isinstance(outcome, Head):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)


async def send_appends(connection: PooledConnection, batch: Sequence[PendingAppend]) -> set[int]:
    """Send appends to different streams as one statement. Return the keys of the rejected ones."""
    new = [pending for pending in batch if pending.append.expected_version == 0]
    old = [pending for pending in batch if pending.append.expected_version > 0] if new else batch
    several = [pending for pending in old if len(pending.hashes) > 1]
    arguments = [
        *_head_columns(old, several),
        *_new_head_columns(new),
        *_record_columns(new, several),
    ]
    listed = [pending for pending in batch if pending.append.lobby is not None]
    if listed:
        query = _APPEND + _WRITE_LOBBY + WRITE_NEWS + _READ_REJECTED
        news = news_columns([row for pending in listed for row in _news(pending.append)])
        rows = await connection.fetch(query, *arguments, *_lobby_columns(listed), *news)
    else:
        rows = await connection.fetch(_APPEND + _READ_REJECTED, *arguments)
    return {row[0].int for row in rows}


def _head_columns(
    batch: Sequence[PendingAppend], several: Sequence[PendingAppend]
) -> tuple[Sequence[object], ...]:
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


def _new_head_columns(batch: Sequence[PendingAppend]) -> tuple[Sequence[object], ...]:
    return (
        [pending.append.stream_id for pending in batch],
        [pending.head.version for pending in batch],
        [pending.head.hash for pending in batch],
        [_due_at(pending.append) for pending in batch],
    )


def _due_at(append: Append) -> datetime | None:
    return None if append.due_at is UNCHANGED else append.due_at


def _record_columns(
    new: Sequence[PendingAppend], several: Sequence[PendingAppend]
) -> tuple[Sequence[object], ...]:
    """Return all records of new streams, and of the others the records before the last."""
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


def _lobby_columns(batch: Sequence[PendingAppend]) -> tuple[Sequence[object], ...]:
    rows = [(each, row) for each in batch if (row := each.append.lobby) is not None]
    seats = [
        (
            each.append.stream_id,
            name,
            row.opened_at,
            row.ended_at if name in row.prevented_by else None,
        )
        for each, row in rows
        for name in row.players
    ]
    return (
        [each.append.stream_id for each, _ in rows],
        [row.status for _, row in rows],
        [row.opened_at for _, row in rows],
        [each.head.version for each, _ in rows],
        [row.summary for _, row in rows],
        [row.ended_at for _, row in rows],
        [row.opened_by for _, row in rows],
        [row.played_free for _, row in rows],
        *([seat[column] for seat in seats] for column in range(4)),
    )


def _news(append: Append) -> Iterator[News]:
    """Yield the news of an append: it concerns players from its first record on."""
    first = append.expected_version + 1
    assert append.lobby is not None
    for player in append.lobby.concerns:
        yield News(NewsKind.MATCH, append.stream_id, first, player)
    for player in append.lobby.invites:
        yield News(NewsKind.INVITATION, append.stream_id, first, player)


async def explain_rejections(
    connection: PooledConnection, rejected: Sequence[PendingAppend], *, resent: bool
) -> dict[int, Head | StoreError]:
    """Return the outcomes of rejected appends, by key.

    With `resent` an append may have been stored by an earlier try whose answer was lost. Then its
    outcome is its head.
    """
    rows = await connection.fetch(
        _READ_CURRENT,
        [pending.append.stream_id for pending in rejected],
        [pending.head.version for pending in rejected],
    )
    found = {row["stream_id"].int: row for row in rows}
    outcomes: dict[int, Head | StoreError] = {}
    for pending in rejected:
        row, expected = found.get(pending.key), pending.append.expected_version
        if row is None:
            outcomes[pending.key] = VersionConflict(pending.append.stream_id, expected, 0)
        elif resent and row["stored_hash"] == pending.head.hash:
            outcomes[pending.key] = pending.head
        elif row["version"] == expected and row["head_hash"] != pending.append.previous_hash:
            outcomes[pending.key] = ChainMismatch(pending.append.stream_id, expected)
        else:
            outcomes[pending.key] = VersionConflict(
                pending.append.stream_id, expected, row["version"]
            )
    return outcomes


def timed_out(pending: PendingAppend, cause: Exception, *, resent: bool) -> StoreError:
    """Return the error for an append that did not succeed until the timeout of its retries."""
    error: StoreError
    if resent:
        error = AppendOutcomeUnknown(pending.append.stream_id, pending.append.expected_version)
    else:
        error = unavailable(cause)
    error.__cause__ = cause
    return error
