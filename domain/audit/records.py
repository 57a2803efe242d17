"""From stored bytes to entries that can be judged: the hash chain, the framing, the order.

Each record is judged by itself: after a break the chain goes on from the hash that stands in the
log, so one change gives one finding, and its version.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from domain.audit.findings import Kind, Notebook
from durak.v1.events_pb2 import (
    ACTOR_KIND_BOT,
    ACTOR_KIND_CLOCK,
    ACTOR_KIND_PLAYER,
    Record,
)

Stored = tuple[int, bytes, bytes]
"""Version, record and hash, as they stand in the store."""

CHAIN_CLAUSE = "design: hash chain"
RECORD_CLAUSE = "contract: Record"
_CHAIN_LABEL = b"durak.v1.match"
_NANOS = 1_000_000_000


class Command(NamedTuple):
    """Who caused an event, with which request, and when: the same for all events of a command."""

    actor_kind: int
    actor_id: str
    request_id: bytes
    time_us: int


class Entry(NamedTuple):
    """One readable record."""

    version: int
    kind: str
    body: Any
    """The message of the event: what stands in the oneof field named `kind`."""
    command: Command


class Log(NamedTuple):
    """A log, read as far as it can be."""

    match_id: bytes
    entries: list[Entry]
    """In the order of their versions, none twice."""
    head_version: int
    head_hash: bytes
    """Recomputed over all records from the first on, whatever hashes stand beside them."""


def read(stored: Iterable[Stored], match_id: bytes | None, notes: Notebook) -> Log:
    """Check chain and framing of a match's records, given in the order in which they stand.

    ``match_id`` is what the store calls the match (16 bytes); None takes the first record's word.
    """
    records = list(stored)
    if match_id is None:
        match_id = _claimed_id(records)
    if len(match_id) != 16:
        notes.fault(Kind.MATCH_ID, RECORD_CLAUSE, "16 bytes", f"{len(match_id)}")
    link = head = hashlib.sha256(_CHAIN_LABEL + match_id).digest()
    entries: dict[int, Entry] = {}
    last_time = 0
    unbroken = True
    for position, (version, data, there) in enumerate(records, start=1):
        notes.version = version
        link = hashlib.sha256(link + data).digest()
        head = link if unbroken else hashlib.sha256(head + data).digest()
        if link != there:
            notes.fault(Kind.CHAIN, CHAIN_CLAUSE, link.hex(), there.hex())
            link = there
            unbroken = False
        if version != position:
            notes.fault(Kind.VERSION, RECORD_CLAUSE, position, version)
        record = _decode(data, notes)
        if record is None:
            continue
        entry, time = _frame(record, version, match_id, notes)
        if time < last_time:
            notes.fault(Kind.TIME, RECORD_CLAUSE, f"{last_time} ns or later", f"{time} ns")
        last_time = max(time, last_time)
        if entry is not None:
            entries.setdefault(record.version, entry)
    ordered = [entries[version] for version in sorted(entries)]
    return Log(match_id, ordered, len(records), head)


def _claimed_id(records: list[Stored]) -> bytes:
    try:
        return Record.FromString(records[0][1]).match_id if records else b""
    except DecodeError:
        return b""


def _decode(data: bytes, notes: Notebook) -> Record | None:
    try:
        record = Record.FromString(data)
    except DecodeError:
        notes.fault(Kind.UNREADABLE, RECORD_CLAUSE, "a Record", f"{len(data)} bytes that are none")
        return None
    record.DiscardUnknownFields()
    if record.ByteSize() != len(data):
        notes.fault(
            Kind.UNKNOWN_CONTENT,
            RECORD_CLAUSE,
            f"{record.ByteSize()} bytes of known fields",
            f"{len(data)} bytes",
        )
    return record


def _frame(
    record: Record, version: int, match_id: bytes, notes: Notebook
) -> tuple[Entry | None, int]:
    """The entry of a record, and its time in nanoseconds since the epoch."""
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
    _check_actor(command, record.trace_id, notes)
    event = record.event
    kind = event.WhichOneof("kind")
    if kind is None:
        notes.fault(Kind.UNREADABLE, "contract: Event", "an event of a known kind", "none")
        return None, time
    return Entry(record.version, kind, getattr(event, kind), command), time


def _check_actor(command: Command, trace_id: bytes, notes: Notebook) -> None:
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
