"""T05-T07: a record has one form. The same content in other bytes is a finding, also re-chained."""

from collections.abc import Callable

import pytest

from domain.audit import Finding, Kind, Severity, Stored, audit
from domain.audit.transcript import Outcome, verify
from durak.v1.events_pb2 import Record
from tests.domain.audit.audit_matches import random_match, stored
from tests.domain.audit.audit_transcripts import PUBLIC_KEY, transcript_of, with_records

PLAYED = random_match(3, seats=2, stake_coins=0, turn_timer_seconds=0)
DATAS = [record.SerializeToString() for record in PLAYED.records]


def varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes((low | 128,)) + varint(rest) if rest else bytes((low,))


def fields_of(data: bytes) -> list[bytes]:
    """The fields of a record, each with its tag."""
    found, at = [], 0
    while at < len(data):
        start, tag = at, data[at]
        at += 1
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        at += size if tag & 7 == 2 else 0
        found.append(data[start:at])
    return found


def in_another_order(data: bytes) -> bytes:
    first, second, *rest = fields_of(data)
    return b"".join((second, first, *rest))


def with_long_varint(data: bytes) -> bytes:
    """The version, field 2, with one more byte than it needs."""
    at = data.index(b"\x10", 18)
    assert data[at + 1] < 128
    return data[: at + 1] + bytes((data[at + 1] | 128, 0)) + data[at + 2 :]


def with_long_length(data: bytes) -> bytes:
    assert data[:2] == b"\x0a\x10"  # the match id, of 16 bytes
    return b"\x0a\x90\x00" + data[2:]


def with_default(data: bytes) -> bytes:
    """The trace id is left out, and then written although it is empty."""
    record = Record.FromString(data)
    record.ClearField("trace_id")
    *head, event = fields_of(record.SerializeToString())
    return b"".join((*head, b"\x3a\x00", event))


def with_a_field_twice(data: bytes) -> bytes:
    first = fields_of(data)[0]
    return first + data


def with_an_event_in_two_parts(data: bytes) -> bytes:
    """A reader merges the two messages."""
    *head, event = fields_of(data)
    assert event[0] >> 3 == 8
    return b"".join((*head, b"\x42\x00", event))


REWRITINGS: dict[str, Callable[[bytes], bytes]] = {
    "fields in another order": in_another_order,
    "a long varint": with_long_varint,
    "a long length": with_long_length,
    "a default value": with_default,
    "a field twice": with_a_field_twice,
    "an event in two parts": with_an_event_in_two_parts,
}


def chain_with(data: bytes, at: int) -> list[Stored]:
    return stored(PLAYED.match_id, [*DATAS[:at], data, *DATAS[at + 1 :]])


def findings(chain: list[Stored]) -> list[Finding]:
    found = audit(chain, match_id=PLAYED.match_id).findings
    return [finding for finding in found if finding.severity is Severity.FAULT]


def test_the_sample_is_canonical() -> None:
    assert findings(PLAYED.stored) == []


@pytest.mark.parametrize("rewrite", REWRITINGS.values(), ids=REWRITINGS.keys())
def test_T05_other_bytes_of_the_same_record_are_not_canonical(
    rewrite: Callable[[bytes], bytes],
) -> None:
    for at in (0, 1, len(DATAS) // 2, len(DATAS) - 1):
        other = rewrite(DATAS[at])
        was, now = Record.FromString(DATAS[at]), Record.FromString(other)
        if rewrite is with_default:
            was.ClearField("trace_id")
        assert now == was
        assert other != DATAS[at]
        [found] = findings(chain_with(other, at))
        assert (found.kind, found.version) == (Kind.NOT_CANONICAL, at + 1)
        transcript = transcript_of(PLAYED)
        transcript.ClearField("inclusion")
        transcript.ClearField("checkpoint")
        data = with_records(transcript, chain_with(other, at)).SerializeToString()
        assert verify(data, PUBLIC_KEY).outcome is Outcome.REFUTED


@pytest.mark.parametrize("unknown", [b"\xfa\x3f\x01x", b"\xf8\x3f\x01"])
def test_unknown_fields_of_a_record_are_named(unknown: bytes) -> None:
    *head, event = fields_of(DATAS[2])
    assert varint(1023 << 3 | 2) == unknown[:2] or unknown[2:] == b"\x01"
    inner = event[len(event) - Record.FromString(DATAS[2]).event.ByteSize() :]
    nested = b"\x42" + varint(len(inner) + len(unknown)) + inner + unknown
    for data in (DATAS[2] + unknown, b"".join((*head, nested))):
        [found] = findings(chain_with(data, 2))
        assert (found.kind, found.version) == (Kind.UNKNOWN_CONTENT, 3)


def test_T06_a_broken_proof_is_refuted_without_a_key_too() -> None:
    transcript = transcript_of(PLAYED)
    assert verify(transcript.SerializeToString(), None).outcome is Outcome.CONSISTENT
    hashes = list(transcript.inclusion.hashes)
    for number, one in enumerate(hashes):
        for at in range(len(one)):
            transcript.inclusion.hashes[number] = one[:at] + bytes((one[at] ^ 1,)) + one[at + 1 :]
            checked = verify(transcript.SerializeToString(), None)
            assert checked.outcome is Outcome.REFUTED
            faults = [it for it in checked.findings if it.severity is Severity.FAULT]
            assert [it.kind for it in faults] == [Kind.INCLUSION]
        transcript.inclusion.hashes[number] = one
    for leaf_index in (0, 4, 6, 10, 11, -1, 2**62):
        transcript.inclusion.leaf_index = leaf_index
        assert verify(transcript.SerializeToString(), None).outcome is Outcome.REFUTED


@pytest.mark.parametrize("text", ["no-uuid", "x", "0" * 32, "A" * 36, "é"])
@pytest.mark.parametrize("field", ["rematch_of", "series_id"])
def test_T07_ids_that_are_no_uuids_are_found(text: str, field: str) -> None:
    record = Record.FromString(DATAS[0])
    opened = record.event.table_opened
    setattr(opened if field == "rematch_of" else opened.settings, field, text)
    found = findings(chain_with(record.SerializeToString(), 0))
    assert (Kind.OPENING, text) in {(it.kind, it.found) for it in found}
