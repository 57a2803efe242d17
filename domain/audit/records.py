"""From stored bytes to entries that can be judged: hash chain, framing and order.

After a break the chain goes on from the stored hash, so that one change gives one finding, at its
version.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from google.protobuf.message import DecodeError

from domain.audit.findings import Kind, Notebook
from durak.v1.events_pb2 import (
    ACTOR_KIND_BOT,
    ACTOR_KIND_CLOCK,
    ACTOR_KIND_PLAYER,
    Record,
)

Stored = tuple[int, bytes, bytes]
"""Version, record and hash, as stored."""

CHAIN_CLAUSE: Final = "design: hash chain"
RECORD_CLAUSE: Final = "contract: Record"
_CHAIN_LABEL: Final = b"durak.v1.match"
_NANOS: Final = 1_000_000_000


class Command(NamedTuple):
    """Actor, request and time: the same for all events of a command."""

    actor_kind: int
    actor_id: str
    request_id: bytes
    time_us: int


class Entry(NamedTuple):
    """One readable record."""

    version: int
    kind: str
    """The name of the event's field in the oneof."""
    body: Any
    """The message of the event, of the type that ``kind`` names."""
    command: Command


class Log(NamedTuple):
    """The readable part of a log."""

    match_id: bytes
    entries: list[Entry]
    """In the order of their versions, each version once."""
    head_version: int
    head_hash: bytes
    """Recomputed over all records from the first on, whatever the stored hashes are."""


def read_records(stored: Iterable[Stored], match_id: bytes | None, notes: Notebook) -> Log:
    """Judge chain and framing of a match's records, given in stored order.

    ``match_id`` is the stream's id in the store (16 bytes); None takes that of the first record.
    """
    records = list(stored)
    if match_id is None:
        first = _decode(records[0][1]) if records else None
        match_id = b"" if first is None else first.match_id
    if len(match_id) != 16:
        notes.fault(Kind.MATCH_ID, RECORD_CLAUSE, "16 bytes", f"{len(match_id)}")
    link = head = hashlib.sha256(_CHAIN_LABEL + match_id).digest()
    entries: dict[int, Entry] = {}
    last_time = 0
    unbroken = True
    for position, (version, data, stored_hash) in enumerate(records, start=1):
        notes.version = version
        link = hashlib.sha256(link + data).digest()
        head = link if unbroken else hashlib.sha256(head + data).digest()
        if link != stored_hash:
            notes.fault(Kind.CHAIN, CHAIN_CLAUSE, link.hex(), stored_hash.hex())
            link = stored_hash
            unbroken = False
        if version != position:
            notes.fault(Kind.VERSION, RECORD_CLAUSE, position, version)
        record = _judge_content(data, notes)
        if record is None:
            continue
        entry, time = _judge_frame(record, version, match_id, notes)
        if time < last_time:
            notes.fault(Kind.TIME, RECORD_CLAUSE, f"{last_time} ns or later", f"{time} ns")
        last_time = max(time, last_time)
        if entry is not None:
            entries.setdefault(record.version, entry)
    ordered = [entries[version] for version in sorted(entries)]
    return Log(match_id, ordered, len(records), head)


def _decode(data: bytes) -> Record | None:
    try:
        return Record.FromString(data)
    except DecodeError:
        return None


def _judge_content(data: bytes, notes: Notebook) -> Record | None:
    """Judge that the bytes are the canonical form of a record. Returns None if they are no record.

    The canonical form has the fields in the order of their numbers, the shortest varints, no field
    twice and no default value of a field without presence. So each record has exactly one form.
    """
    record = _decode(data)
    if record is None:
        found = f"{len(data)} bytes of something else"
        notes.fault(Kind.UNREADABLE, RECORD_CLAUSE, "a Record", found)
        return None
    record.DiscardUnknownFields()
    canonical = record.SerializeToString(deterministic=True)
    if canonical == data:
        return record
    parsed = Record.FromString(data)
    if parsed.ByteSize() != len(canonical):
        known = f"{len(canonical)} bytes of known fields"
        notes.fault(Kind.UNKNOWN_CONTENT, RECORD_CLAUSE, known, f"{len(data)} bytes")
    else:
        expected = f"the {len(canonical)} bytes of the canonical form"
        found = f"{len(data)} bytes, others from {first_difference(canonical, data)} on"
        notes.fault(Kind.NOT_CANONICAL, RECORD_CLAUSE, expected, found)
    return record


def first_difference(one: bytes, other: bytes) -> int:
    """Return the first position, from 0, at which two byte strings differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _judge_frame(
    record: Record, version: int, match_id: bytes, notes: Notebook
) -> tuple[Entry | None, int]:
    """Judge a record's fields around the event.

    Returns the entry, None if the kind of event is not known, and the time in nanoseconds since
    the epoch.
    """
    if record.version != version:
        notes.fault(Kind.VERSION, RECORD_CLAUSE, version, record.version)
    if record.match_id != match_id:
        notes.fault(Kind.MATCH_ID, RECORD_CLAUSE, match_id.hex(), record.match_id.hex())
    stamp = record.event_time
    nanos = stamp.nanos
    time = stamp.seconds * _NANOS + nanos
    if not 0 <= nanos < _NANOS or time <= 0:
        notes.fault(Kind.TIME, RECORD_CLAUSE, "a time", f"{stamp.seconds} s {nanos} ns")
    command = Command(record.actor_kind, record.actor_id, record.request_id, time // 1000)
    _judge_command(command, record.trace_id, notes)
    event = record.event
    kind = event.WhichOneof("kind")
    if kind is None:
        notes.fault(Kind.UNREADABLE, "contract: Event", "an event of a known kind", "none")
        return None, time
    return Entry(record.version, kind, getattr(event, kind), command), time


def _judge_command(command: Command, trace_id: bytes, notes: Notebook) -> None:
    kind, actor_id, request_id, _ = command
    if kind == ACTOR_KIND_PLAYER:
        if not actor_id:
            notes.fault(Kind.ACTOR, RECORD_CLAUSE, "a player's id", "none")
        if len(request_id) != 16:
            notes.fault(Kind.REQUEST, RECORD_CLAUSE, "16 bytes", f"{len(request_id)} bytes")
    elif kind in (ACTOR_KIND_BOT, ACTOR_KIND_CLOCK):
        if actor_id:
            notes.fault(Kind.ACTOR, RECORD_CLAUSE, "no player's id", actor_id)
        if request_id:
            notes.fault(Kind.REQUEST, RECORD_CLAUSE, "no request", request_id.hex())
    else:
        notes.fault(Kind.ACTOR, RECORD_CLAUSE, "a player, a bot or the clock", f"kind {kind}")
    if len(trace_id) not in (0, 16):
        notes.fault(Kind.REQUEST, RECORD_CLAUSE, "a trace of 16 bytes", f"{len(trace_id)} bytes")
