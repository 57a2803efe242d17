"""Judging a stored match never raises, whatever its records and transfers hold."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from uuid import UUID

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings, strategies

from durak.v1 import dispute_service_pb2 as api
from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import Record
from eventstore import StoredRecord
from eventstore.ledger.transfers import Transfer, TransferKind
from eventstore.whole_matches import WholeMatch
from service.disputes.evidence import evidence
from service.judging.judge import Case, judge
from service.judging.messages import folded_state, record_message, report_message
from service.rpc.errors import Refused
from tests.domain.audit.any_messages import fill
from tests.domain.audit.audit_matches import PlayedMatch, random_match, stored

MATCHES = [random_match(seed) for seed in range(12)]
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def any_records(played: PlayedMatch, random: Random) -> list[StoredRecord]:
    """The start of a match with a few records replaced: bytes, or fields filled at random."""
    datas = [record.SerializeToString() for record in played.records[: random.randint(1, 60)]]
    for at in random.sample(range(len(datas)), min(len(datas), random.randrange(4))):
        record = Record.FromString(datas[at])
        part = random.choice((record, record.event, record.event_time))
        fill(part, random)
        record.match_id = random.choice((played.match_id, record.match_id))
        record.version = random.choice((at + 1, record.version))
        datas[at] = random.choice((record.SerializeToString(), random.randbytes(20)))
    chain = [StoredRecord(*one) for one in stored(played.match_id, datas)]
    if random.random() < 0.3:
        chain[-1] = chain[-1]._replace(hash=bytes(32))
    return chain


def any_transfers(match_id: UUID, random: Random) -> list[Transfer]:
    return [
        Transfer(
            source_id=match_id,
            version=random.randrange(70),
            ordinal=ordinal,
            kind=random.choice(list(TransferKind)),
            player=random.choice(("player-0", "player-1")),
            number=1,
            coins=random.choice((1, 100, 2**53)),
            available_after=0,
            actor="",
            recorded_at=NOW,
        )
        for ordinal in range(random.randrange(4))
    ]


@settings(max_examples=200, deadline=None)
@given(strategies.integers(0, 2**32))
def test_audit_and_evidence_of_any_log(seed: int) -> None:
    random = Random(seed)
    played = random.choice(MATCHES)
    match_id = UUID(bytes=played.match_id)
    records = any_records(played, random)
    match = WholeMatch(match_id, records, any_transfers(match_id, random))
    audited = judge(match)
    report = report_message(audited.match_id, audited.report)
    assert report.match_id == str(match_id)
    assert [record_message(one).stored for one in records] == [one.record for one in records]
    complaints = [
        api.DisputeOpened(payout=api.PayoutComplaint()),
        api.DisputeOpened(version=random.randint(1, len(records) + 2)),
    ]
    for complaint in complaints:
        assert evidence(Case(match), complaint).report == report


def test_a_state_with_an_impossible_time_is_a_corrupt_log() -> None:
    played = MATCHES[0]
    match_id = UUID(bytes=played.match_id)
    for time in (Timestamp(seconds=-1), Timestamp(seconds=2**60), Timestamp(nanos=-1)):
        record = Record.FromString(played.records[0].SerializeToString())
        record.event_time.CopyFrom(time)
        chain = stored(played.match_id, [record.SerializeToString()])
        with pytest.raises(Refused) as refused:
            folded_state(match_id, [StoredRecord(*one) for one in chain])
        assert refused.value.refusal.reason == reasons.ERROR_REASON_LOG_CORRUPT
