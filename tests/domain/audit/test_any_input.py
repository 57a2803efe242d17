"""The audit never raises: input that it cannot read, or that the rules exclude, is a finding."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from domain.audit import Kind, audit
from domain.audit.findings import FINDINGS_MAX
from domain.audit.transcript import Outcome, verify
from durak.v1.events_pb2 import Event, Record
from durak.v1.transcript_pb2 import LedgerEntry, Transcript
from tests.domain.audit.any_messages import fill
from tests.domain.audit.audit_matches import PlayedMatch, random_match, stored
from tests.domain.audit.audit_transcripts import PUBLIC_KEY, field_changes, transcript_of

seeds = strategies.integers(0, 2**32)
numbers = strategies.integers(-(2**40), 2**40)
logs = strategies.lists(
    strategies.tuples(numbers, strategies.binary(max_size=80), strategies.binary(max_size=40)),
    max_size=6,
)
MATCHES = [random_match(seed) for seed in range(50)]
EVENT_KINDS = [field.name for field in Event.DESCRIPTOR.oneofs_by_name["kind"].fields]


def any_ledger(random: Random) -> list[LedgerEntry]:
    ledger = [LedgerEntry() for _ in range(random.randrange(5))]
    for entry in ledger:
        fill(entry, random)
    return ledger


def copied(record: Record) -> Record:
    copy = Record()
    copy.CopyFrom(record)
    return copy


@given(logs, strategies.none() | strategies.binary(max_size=20), seeds)
def test_any_bytes_as_records_are_a_fault(
    log: list[tuple[int, bytes, bytes]], match_id: bytes | None, seed: int
) -> None:
    report = audit(log, match_id=match_id, ledger=any_ledger(Random(seed)))
    assert not report.ok  # an empty log is not a match either


@given(strategies.binary(max_size=200))
def test_any_bytes_as_a_transcript_are_refuted(data: bytes) -> None:
    assert verify(data, PUBLIC_KEY).outcome is Outcome.REFUTED


@given(strategies.text(max_size=60), strategies.text(max_size=60))
def test_any_text_as_key_or_checkpoint_is_refuted(key: str, note: str) -> None:
    transcript = Transcript(format_version=1, checkpoint=note)
    assert verify(transcript.SerializeToString(), key).outcome is Outcome.REFUTED


@settings(deadline=None)
@given(seeds)
def test_a_transcript_with_any_fields_is_refuted(seed: int) -> None:
    random = Random(seed)
    transcript = Transcript()
    fill(transcript, random)
    transcript.format_version = 1
    assert verify(transcript.SerializeToString(), PUBLIC_KEY).outcome is Outcome.REFUTED


@settings(deadline=None)
@given(seeds)
def test_a_good_match_with_any_proof_and_ledger_is_refuted(seed: int) -> None:
    random = Random(seed)
    transcript = transcript_of(random.choice(MATCHES))
    fill(transcript.inclusion, random)
    transcript.ledger.extend(any_ledger(random))
    assert verify(transcript.SerializeToString(), PUBLIC_KEY).outcome is Outcome.REFUTED


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_a_match_with_many_changed_fields_is_judged(seed: int) -> None:
    random = Random(seed)
    played = random.choice(MATCHES)
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
    check_audit(played, records)


@settings(max_examples=200, deadline=None)
@given(seeds)
def test_a_match_with_any_events_inserted_is_judged(seed: int) -> None:
    """Events filled at random: cards, seats and kinds out of any range."""
    random = Random(seed)
    played = random.choice(MATCHES)
    rate = random.choice((0.02, 0.2, 1.0))
    records = []
    for record in played.records[: random.randint(1, 60)]:
        records.append(record)
        if random.random() < rate:
            other = copied(record)
            kind = random.choice((record.event.WhichOneof("kind"), random.choice(EVENT_KINDS)))
            event = getattr(other.event, str(kind))
            fill(event, random)
            event.SetInParent()
            records[-1:] = random.choice(([other], [record, other], [other, record]))
    for version, record in enumerate(records, start=1):
        records[version - 1] = copied(record)
        records[version - 1].version = version
    check_audit(played, records)


@settings(max_examples=200, deadline=None)
@given(seeds)
def test_a_match_after_any_deal_is_judged(seed: int) -> None:
    """No seed proves the deal, so the audit follows the log, with a card that does not exist."""
    random = Random(seed)
    played = random.choice([match for match in MATCHES if match.match.hands])
    at = next(n for n, it in enumerate(played.records) if it.event.HasField("dealt"))
    records = [copied(record) for record in played.records]
    records[0].event.table_opened.server_seed = bytes(32)
    dealt = records[at].event.dealt
    cards: list[Any] = [card for hand in dealt.hands for card in hand.cards] + [*dealt.stock]
    cards[random.randrange(len(cards))] = random.choice((-1, 0, 1, 52, 53, 2**31 - 1))
    random.shuffle(cards)
    for hand in dealt.hands:
        hand.cards[:] = [cards.pop() for _ in hand.cards]
    dealt.stock[:] = cards
    dealt.trump_card = random.choice([*cards, dealt.trump_card])
    check_audit(played, records)


@pytest.mark.parametrize("kind", EVENT_KINDS)
def test_every_kind_of_event_is_judged(kind: str) -> None:
    played = MATCHES[0]
    opening, after = played.records[0], copied(played.records[1])
    getattr(after.event, kind).SetInParent()
    assert after.event.WhichOneof("kind") == kind
    check_audit(played, [opening, after])


def check_audit(played: PlayedMatch, records: list[Record]) -> None:
    chain = stored(played.match_id, [record.SerializeToString() for record in records])
    report = audit(chain, match_id=played.match_id, ledger=played.ledger)
    assert len(report.findings) <= 3 * (FINDINGS_MAX + 1)
    assert Kind.CHAIN not in {finding.kind for finding in report.findings}
    assert all(str(finding) for finding in report.findings)
