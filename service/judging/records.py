"""Stored records read one by one: an audit goes on past those that cannot be read."""

from collections.abc import Iterable

from domain.match.fold import CorruptLogError
from durak.v1.events_pb2 import Record
from eventstore import StoredRecord
from service.stored_records import read_record


def readable_record(stored: StoredRecord) -> Record | None:
    """Return a stored record as a message, or None if the bytes are not a record."""
    try:
        return read_record(stored.version, stored.record)
    except CorruptLogError:
        return None


def readable_records(stored: Iterable[StoredRecord]) -> list[Record]:
    """Return the records that can be read, in order. The audit reports the others."""
    return [record for one in stored if (record := readable_record(one)) is not None]
