"""Whatever it is given, the audit answers; what it cannot read is a finding."""

from random import Random

from hypothesis import given, settings, strategies

from domain.audit import Kind, LedgerEntry, audit
from domain.audit.findings import FINDINGS_MAX
from domain.audit.transcript import Outcome, verify
from durak.v1.events_pb2 import Record
from durak.v1.transcript_pb2 import Transcript
from tests.domain.audit.audit_matches import random_match, stored
from tests.domain.audit.audit_transcripts import PUBLIC_KEY, field_changes

numbers = strategies.integers(-(2**40), 2**40)
logs = strategies.lists(
    strategies.tuples(numbers, strategies.binary(max_size=80), strategies.binary(max_size=40)),
    max_size=6,
)
ledgers = strategies.lists(
    strategies.builds(
        LedgerEntry,
        strategies.binary(max_size=17),
        numbers,
        strategies.binary(max_size=17),
        numbers,
        strategies.text(max_size=3),
        numbers,
        numbers,
    ),
    max_size=5,
)


@given(logs, strategies.none() | strategies.binary(max_size=20), strategies.none() | ledgers)
def test_anything_at_all(
    log: list[tuple[int, bytes, bytes]], match_id: bytes | None, ledger: list[LedgerEntry] | None
) -> None:
    report = audit(log, match_id=match_id, ledger=ledger)
    assert not report.ok  # no such log is a match, the empty one included


@given(strategies.binary(max_size=200))
def test_any_file(data: bytes) -> None:
    assert verify(data, PUBLIC_KEY).outcome is Outcome.REFUTED


@given(strategies.text(max_size=60), strategies.text(max_size=60))
def test_any_key_and_checkpoint(key: str, note: str) -> None:
    transcript = Transcript(format_version=1, checkpoint=note)
    assert verify(transcript.SerializeToString(), key).outcome is Outcome.REFUTED


@settings(max_examples=60, deadline=None)
@given(strategies.integers(0, 2**32))
def test_matches_with_many_changes_chained_anew(seed: int) -> None:
    random = Random(seed)
    played = random_match(seed % 50)
    records = []
    for record in played.records:
        chance = random.random()
        if chance < 0.05:
            continue
        if chance < 0.15:
            _, other = random.choice(list(field_changes(record)))
            assert isinstance(other, Record)
            records.append(other)
        else:
            records.append(record)
        if chance > 0.95:
            records.append(random.choice(played.records))
    chain = stored(played.match_id, [record.SerializeToString() for record in records])
    report = audit(chain, match_id=played.match_id, ledger=played.ledger)
    assert len(report.findings) <= 3 * (FINDINGS_MAX + 1)
    assert Kind.CHAIN not in {finding.kind for finding in report.findings}
    assert all(str(finding) for finding in report.findings)
