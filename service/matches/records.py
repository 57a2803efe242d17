"""Stored records: made from what a command decided, and read back from the log."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final, TypeVar

from google.protobuf.message import DecodeError

from domain.match.fold import CorruptLogError, Match
from domain.match.view import set_time
from durak.v1.events_pb2 import Event, Record
from eventstore import StoredRecord, next_hash
from service.matches.envelope import Envelope

Parsed = TypeVar("Parsed")

_SECONDS_MAX: Final = 253_402_300_799
"""The last second of the year 9999, the end of `Timestamp`."""
_NANOS: Final = 1_000_000_000


def records_of(
    match: Match, envelope: Envelope, events: Sequence[Event], now_us: int
) -> list[Record]:
    """The records of one command's events, right after the state that it was decided on.

    `now_us` is in microseconds since the epoch, and not earlier than the record before.
    """
    common = Record()
    common.match_id = envelope.match_id
    set_time(common.event_time, now_us)
    common.actor_kind = envelope.actor.kind
    common.actor_id = envelope.actor.player_id
    common.request_id = envelope.request_id
    common.trace_id = envelope.trace_id
    records = []
    for version, event in enumerate(events, start=match.version + 1):
        record = Record()
        record.CopyFrom(common)
        record.version = version
        record.event.CopyFrom(event)
        records.append(record)
    return records


def read_records(stored: Sequence[StoredRecord], previous_hash: bytes) -> list[Record]:
    """Return the records of a match, to fold. Raises as `read_chain`, and for an invalid time."""
    records = read_chain(stored, previous_hash, Record.FromString)
    for record in records:
        time = record.event_time
        if not (0 <= time.seconds <= _SECONDS_MAX and 0 <= time.nanos < _NANOS):
            raise CorruptLogError(f"version {record.version} has an invalid time")
    return records


def read_chain(
    stored: Sequence[StoredRecord], previous_hash: bytes, parse: Callable[[bytes], Parsed]
) -> list[Parsed]:
    """Return the records of a stream, whose hash chain must continue from `previous_hash`.

    Raises CorruptLogError if the chain breaks, or if a record cannot be parsed.
    """
    records = []
    link = previous_hash
    for version, data, stored_hash in stored:
        link = next_hash(link, data)
        if link != stored_hash:
            raise CorruptLogError(f"the hash chain breaks at version {version}")
        try:
            records.append(parse(data))
        except DecodeError as error:
            raise CorruptLogError(f"version {version} is not a record") from error
    return records


def read_record(version: int, data: bytes) -> Record:
    """Parse a stored record. Raises CorruptLogError."""
    try:
        return Record.FromString(data)
    except DecodeError as error:
        raise CorruptLogError(f"version {version} is not a record") from error


def by_command(records: Sequence[Record]) -> Iterator[list[Record]]:
    """The records in groups, one for each command that made them."""
    for _, group in groupby(records, key=_command_of):
        yield list(group)


def _command_of(record: Record) -> tuple[int, str, bytes, int, int]:
    # Bots and the clock have no request id. Two of their commands have the same time only where the
    # system's clock stood still or went back, and then watchers miss a view in between, no event.
    time = record.event_time
    return record.actor_kind, record.actor_id, record.request_id, time.seconds, time.nanos
