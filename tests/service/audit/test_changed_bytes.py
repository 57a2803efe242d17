"""No byte of a dispute or of the administrative log can be changed once it is signed.

Each change is chained again, as the owner of the database can do. `DURAK_TEST_EVERY_BYTE=1` tries
every byte and bit instead of some.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from random import Random
from uuid import UUID

import pytest

from domain.administration import subject_of
from domain.audit.seal import Sealed
from domain.match.fold import CorruptLogError
from durak.v1 import administration_pb2 as acts
from durak.v1 import dispute_service_pb2 as disputes
from eventstore import StoredRecord, next_hash
from eventstore.administration import FIRST_ADMINISTRATION_HASH, Act
from eventstore.disputes import first_dispute_hash
from service.administration.log import kind_of
from service.audit.administration_check import AdministrationCheck
from service.disputes.streams import parse_dispute

EVERY = bool(os.environ.get("DURAK_TEST_EVERY_BYTE"))
ID = UUID("5c0e7c4e-0c0a-4d52-9d3f-0c6b8f5f3a11")
OTHER = str(UUID(int=7, version=4))
SECOND = 1_790_000_000


def changed(records: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The records with one byte of one of them changed."""
    chance = Random(5)
    for number, record in enumerate(records):
        for at in range(0, len(record), 1 if EVERY else 3):
            masks = range(1, 256) if EVERY else (1 << chance.randrange(8), 0xFF)
            for mask in masks:
                other = bytearray(record)
                other[at] ^= mask
                yield [*records[:number], bytes(other), *records[number + 1 :]]


def chain(first: bytes, records: Sequence[bytes]) -> list[bytes]:
    return list(accumulate(records, next_hash, initial=first))[1:]


def dispute_records() -> list[bytes]:
    events = (
        disputes.DisputeEvent(
            opened=disputes.DisputeOpened(match_id=OTHER, version=9, reason="it does not beat")
        ),
        disputes.DisputeEvent(
            ruled=disputes.DisputeRuled(
                ruling=disputes.RULING_UPHELD,
                reason="it does not",
                corrections=[
                    disputes.Correction(player_id="ann", coins=-5),
                    disputes.Correction(player_id="bob", coins=5),
                ],
            )
        ),
        disputes.DisputeEvent(
            correction_decided=disputes.CorrectionDecided(
                decision=disputes.CORRECTION_DECISION_APPROVED, reason="so be it"
            )
        ),
    )
    records = [
        disputes.DisputeRecord(
            dispute_id=ID.bytes, version=version, actor_id="olga", request_id=bytes(16), event=event
        )
        for version, event in enumerate(events, 1)
    ]
    for record in records:
        record.event_time.FromSeconds(SECOND + record.version)
    return [record.SerializeToString(deterministic=True) for record in records]


@pytest.mark.timeout(3600)
def test_every_changed_byte_of_a_signed_dispute_is_found() -> None:
    first, good = first_dispute_hash(ID), dispute_records()
    seals = [Sealed(version, link) for version, link in enumerate(chain(first, good), 1)]

    def is_intact(records: Sequence[bytes]) -> bool:
        links = chain(first, records)
        stored = [
            StoredRecord(version, record, link)
            for version, (record, link) in enumerate(zip(records, links, strict=True), 1)
        ]
        try:
            return parse_dispute(ID, stored).is_intact(ID, seals)
        except CorruptLogError:
            return False

    assert is_intact(good)
    assert not any(map(is_intact, changed(good)))
    assert not is_intact(good[:2]), "the end is missing"


def administrative_records() -> list[bytes]:
    events = (
        acts.AdministrativeEvent(
            coins_granted=acts.CoinsGranted(grant_id=OTHER, player_id="ann", coins=10)
        ),
        acts.AdministrativeEvent(
            match_opened=acts.MatchOpened(match_id=OTHER, access_seconds=60, dispute_id=OTHER)
        ),
        acts.AdministrativeEvent(
            correction_approved=acts.CorrectionApproved(dispute_id=OTHER, match_id=OTHER, coins=5)
        ),
        acts.AdministrativeEvent(
            signing_keys_changed=acts.SigningKeysChanged(verifier_keys=["log+1+AAAA"])
        ),
        acts.AdministrativeEvent(
            tokens_revoked=acts.TokensRevoked(player_id="ann", token_id="stolen")
        ),
    )
    records = [
        acts.AdministrativeRecord(
            version=version, actor_id="otto", request_id=bytes(16), reason="a prize", event=event
        )
        for version, event in enumerate(events, 1)
    ]
    for record in records:
        record.event_time.FromSeconds(SECOND + record.version)
    return [record.SerializeToString(deterministic=True) for record in records]


@pytest.mark.timeout(3600)
def test_every_changed_byte_of_the_signed_administrative_log_is_found() -> None:
    good = administrative_records()
    head = chain(FIRST_ADMINISTRATION_HASH, good)[-1]
    parsed = [acts.AdministrativeRecord.FromString(record) for record in good]

    def is_intact(records: Sequence[bytes]) -> bool:
        check = AdministrationCheck([Sealed(len(good), head)])
        links = chain(FIRST_ADMINISTRATION_HASH, records)
        for record, data, link in zip(parsed, records, links, strict=False):
            act = Act(
                record.version,
                data,
                link,
                kind_of(record.event),
                record.actor_id,
                subject_of(record.event),
                UUID(bytes=record.request_id),
                datetime.fromtimestamp(record.event_time.seconds, UTC),
            )
            check.add(act)
        return not check.wrong_versions()

    assert is_intact(good)
    assert not any(map(is_intact, changed(good)))
    assert not is_intact(good[:-1]), "the end is missing"
