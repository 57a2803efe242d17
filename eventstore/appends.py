"""The statement that appends: moves the heads of many streams and puts their records in.

The version guard is the update of the stream's row. Whatever else the statement writes, it writes
only for streams whose row was moved, so that a conflict of one stream is no matter of another's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventstore.chain import next_hash
from eventstore.errors import ChainMismatch, StoreError, VersionConflict
from eventstore.model import UNCHANGED, Append, Head

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence
    from uuid import UUID

    from eventstore.connect import Connection

# Rows go into `events` only for streams whose head was moved. `(… IN …) IS TRUE` keeps the planner
# from turning the test into a join: it becomes one hash lookup per record.
_STORE = """
WITH input AS (
    SELECT * FROM unnest(
        $1::uuid[], $2::integer[], $3::bytea[], $4::integer[], $5::bytea[],
        $6::timestamptz[], $7::boolean[]
    ) AS i (stream_id, expected, previous_hash, version, head_hash, due_at, keeps_due)
), created AS (
    INSERT INTO streams (stream_id, version, head_hash, due_at)
    SELECT stream_id, version, head_hash, due_at FROM input WHERE expected = 0
    ON CONFLICT (stream_id) DO NOTHING
    RETURNING stream_id
), moved AS (
    UPDATE streams s
    SET version = i.version, head_hash = i.head_hash,
        due_at = CASE WHEN i.keeps_due THEN s.due_at ELSE i.due_at END
    FROM input i
    WHERE s.stream_id = i.stream_id AND s.version = i.expected AND i.expected > 0
        AND s.head_hash = i.previous_hash
    RETURNING s.stream_id
), won AS (
    SELECT stream_id FROM created UNION ALL SELECT stream_id FROM moved
), stored AS (
    INSERT INTO events (stream_id, version, record, hash)
    SELECT e.* FROM unnest($8::uuid[], $9::integer[], $10::bytea[], $11::bytea[])
        AS e (stream_id, version, record, hash)
    WHERE (e.stream_id IN (SELECT stream_id FROM won)) IS TRUE
)"""

_LIST = """, listed AS (
    SELECT * FROM unnest(
        $12::uuid[], $13::smallint[], $14::timestamptz[], $15::integer[], $16::bytea[]
    ) AS l (match_id, status, opened_at, version, summary)
    WHERE (match_id IN (SELECT stream_id FROM won)) IS TRUE
), seated AS (
    SELECT * FROM unnest($17::uuid[], $18::text[], $19::timestamptz[])
        AS s (match_id, player, opened_at)
    WHERE (match_id IN (SELECT stream_id FROM won)) IS TRUE
), lobby AS (
    INSERT INTO matches (match_id, status, opened_at, version, summary) SELECT * FROM listed
    ON CONFLICT (match_id) DO UPDATE
    SET status = excluded.status, version = excluded.version, summary = excluded.summary
), vacated AS (
    DELETE FROM match_players p USING listed l
    WHERE p.match_id = l.match_id
        AND NOT EXISTS (SELECT FROM seated s WHERE s.match_id = p.match_id AND s.player = p.player)
), taken AS (
    INSERT INTO match_players (match_id, player, opened_at) SELECT * FROM seated
    ON CONFLICT DO NOTHING
)"""

_ANSWER = " SELECT stream_id FROM won"

_LOOK = """
SELECT w.stream_id, s.version, s.head_hash, e.hash AS hash_there
FROM unnest($1::uuid[], $2::integer[]) AS w (stream_id, version)
JOIN streams s USING (stream_id)
LEFT JOIN events e ON e.stream_id = w.stream_id AND e.version = w.version
"""


class Pending:
    """One append on its way, with the hashes of its records and the caller's future."""

    __slots__ = ("answered", "append", "future", "hashes", "head", "size_bytes", "stream_id")

    def __init__(self, append: Append, future: asyncio.Future[Head] | None = None) -> None:
        self.append = append
        self.future = future
        self.answered = False
        self.stream_id = append.stream_id
        self.hashes: list[bytes] = []
        self.size_bytes = 0
        link = append.previous_hash
        for record in append.records:
            link = next_hash(link, record)
            self.hashes.append(link)
            self.size_bytes += len(record)
        self.head = Head(append.expected_version + len(self.hashes), link)

    def succeed(self) -> None:
        """Tell the caller that the append is stored, if they still wait."""
        self.answered = True
        if self.future is not None and not self.future.done():
            self.future.set_result(self.head)

    def fail(self, error: Exception) -> None:
        """Tell the caller that it is not, or not known to be."""
        self.answered = True
        if self.future is not None and not self.future.done():
            self.future.set_exception(error)


async def store(connection: Connection, batch: Sequence[Pending]) -> set[UUID]:
    """Send appends of different streams as one statement; give the streams that were let in."""
    appends = [pending.append for pending in batch]
    stream_ids = [append.stream_id for append in appends]
    event_streams: list[UUID] = []
    event_versions: list[int] = []
    records: list[bytes] = []
    hashes: list[bytes] = []
    for pending in batch:
        count = len(pending.hashes)
        event_streams.extend([pending.stream_id] * count)
        event_versions.extend(range(pending.head.version - count + 1, pending.head.version + 1))
        records.extend(pending.append.records)
        hashes.extend(pending.hashes)
    arguments: list[Sequence[object]] = [
        stream_ids,
        [append.expected_version for append in appends],
        [append.previous_hash for append in appends],
        [pending.head.version for pending in batch],
        [pending.head.hash for pending in batch],
        [None if append.due_at is UNCHANGED else append.due_at for append in appends],
        [append.due_at is UNCHANGED for append in appends],
        event_streams,
        event_versions,
        records,
        hashes,
    ]
    listed = [(pending, lobby) for pending in batch if (lobby := pending.append.lobby) is not None]
    if not listed:
        rows = await connection.fetch(_STORE + _ANSWER, *arguments)
    else:
        seats = [
            (pending.stream_id, player, lobby.opened_at)
            for pending, lobby in listed
            for player in lobby.players
        ]
        rows = await connection.fetch(
            _STORE + _LIST + _ANSWER,
            *arguments,
            [pending.stream_id for pending, _ in listed],
            [lobby.status for _, lobby in listed],
            [lobby.opened_at for _, lobby in listed],
            [pending.head.version for pending, _ in listed],
            [lobby.summary for _, lobby in listed],
            *([seat[column] for seat in seats] for column in range(3)),
        )
    return {row[0] for row in rows}


async def explain(
    connection: Connection, losers: Sequence[Pending], *, resent: bool
) -> dict[UUID, StoreError | None]:
    """Why appends were not let in. None: they were, by an earlier sending whose answer was lost."""
    rows = await connection.fetch(
        _LOOK,
        [pending.stream_id for pending in losers],
        [pending.head.version for pending in losers],
    )
    found = {row["stream_id"]: row for row in rows}
    reasons: dict[UUID, StoreError | None] = {}
    for pending in losers:
        row, expected = found.get(pending.stream_id), pending.append.expected_version
        if row is None:
            reasons[pending.stream_id] = VersionConflict(pending.stream_id, expected, 0)
        elif resent and row["hash_there"] == pending.head.hash:
            reasons[pending.stream_id] = None
        elif row["version"] == expected and row["head_hash"] != pending.append.previous_hash:
            reasons[pending.stream_id] = ChainMismatch(pending.stream_id, expected)
        else:
            reasons[pending.stream_id] = VersionConflict(
                pending.stream_id, expected, row["version"]
            )
    return reasons
