"""Stored records as messages, after a check of their hash chain."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from google.protobuf.message import DecodeError

from domain.match.fold import CorruptLogError
from durak.v1.events_pb2 import Record
from eventstore import StoredRecord, next_hash

Parsed = TypeVar("Parsed")

_SECONDS_MAX: Final = 253_402_300_799
"""The last second of the year 9999, the end of `Timestamp`."""
_NANOS: Final = 1_000_000_000


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
    """Return the message of a stored record. Raises CorruptLogError."""
    try:
        return Record.FromString(data)
    except DecodeError as error:
        raise CorruptLogError(f"version {version} is not a record") from error
