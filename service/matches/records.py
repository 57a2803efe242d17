"""Records: made from the events of a command, and grouped by command."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from domain.match.fold import Match
from domain.match.view import set_time
from durak.v1.events_pb2 import Event, Record
from service.matches.envelope import Envelope


def records_of(
    match: Match, envelope: Envelope, events: Sequence[Event], now_us: int
) -> list[Record]:
    """Return the records of a command's events, to follow the match that it was decided on.

    `now_us` is in microseconds since the epoch, and not earlier than the last record.
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


def by_command(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Yield the records in groups, one for each command."""
    for _, group in groupby(records, key=_command_of):
        yield list(group)


def _command_of(record: Record) -> tuple[int, str, bytes, int, int]:
    # Commands of bots and the clock have no request id. Two of them have the same time only if the
    # system's clock stopped or went back. Then watches miss the view in between, but no event.
    time = record.event_time
    return record.actor_kind, record.actor_id, record.request_id, time.seconds, time.nanos
