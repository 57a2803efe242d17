"""Running matches are open to auditors only on record."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from durak.v1 import audit_service_pb2 as api
from durak.v1.administration_pb2 import AdministrativeRecord
from durak.v1.audit_service_pb2_grpc import AuditServiceStub
from durak.v1.errors_pb2 import ErrorReason
from eventstore.administration import FIRST_ADMINISTRATION_HASH
from service.stored_records import read_chain
from service.times import system_now_us
from tests.conftest import Database
from tests.domain.audit.audit_matches import random_match
from tests.eventstore.support import StoredDispute, until
from tests.service.audit.open_matches import open_match, staked_and_played
from tests.service.playing import refused
from tests.service.serving import Caller, Service, serving
from tests.service.stored_matches import store_match

METHODS: dict[str, Any] = {
    "ReadEvents": api.ReadEventsRequest,
    "GetStateAt": api.GetStateAtRequest,
    "VerifyMatch": api.VerifyMatchRequest,
    "ExportMatch": api.ExportMatchRequest,
}
"""Every call that shows an open match."""
OPEN = sorted(METHODS)


@pytest.fixture
async def service(database: Database, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(database, tmp_path) as served:
        yield served


@pytest.fixture
def auditor(service: Service) -> Caller:
    return service.caller(AuditServiceStub, "olga", "auditor")


async def opened(service: Service) -> list[tuple[str, str, str]]:
    """Return who opened which match and why, as it is on record."""
    stored = await service.store.administration.read()
    records = read_chain(stored, FIRST_ADMINISTRATION_HASH, AdministrativeRecord.FromString)
    return [
        (one.actor_id, one.event.match_opened.match_id, one.reason)
        for one in records
        if one.event.HasField("match_opened")
    ]


async def test_a_running_match_is_closed_until_a_reason_is_on_record(
    service: Service, auditor: Caller
) -> None:
    """T11: the second subject of a player is an auditor like others, and leaves a trace."""
    match_id = str(await store_match(service.store, staked_and_played(seats=2), commands=6))
    for method in OPEN:
        async with refused(ErrorReason.ERROR_REASON_ACCESS_NOT_RECORDED):
            await getattr(auditor, method)(METHODS[method](match_id=match_id))
    assert await opened(service) == []
    for fields in ({"reason": ""}, {"reason": " "}, {"reason": "x" * 2001}, {"request_id": ""}):
        async with refused(ErrorReason.ERROR_REASON_MALFORMED_FIELD):
            await open_match(auditor, match_id, **fields)
    assert await opened(service) == []

    request_id = str(uuid4())
    answer = await open_match(auditor, match_id, request_id=request_id)
    assert await open_match(auditor, match_id, request_id=request_id) == answer
    async with refused(ErrorReason.ERROR_REASON_REQUEST_ID_REUSED):
        await open_match(auditor, match_id, request_id=request_id, reason="another")
    for method in OPEN:
        await getattr(auditor, method)(METHODS[method](match_id=match_id))
    assert await opened(service) == [("olga", match_id, "a player asked")]
    other = service.caller(AuditServiceStub, "oleg", "auditor")  # the access is olga's alone
    async with refused(ErrorReason.ERROR_REASON_ACCESS_NOT_RECORDED):
        await other.GetStateAt(api.GetStateAtRequest(match_id=match_id))


async def test_an_open_dispute_opens_a_running_match_on_record(
    service: Service, auditor: Caller
) -> None:
    match_id = await store_match(service.store, staked_and_played(seats=2), commands=6)
    dispute = StoredDispute(service.store, match_id)
    await dispute.add(b"opened")
    for _ in range(2):
        await auditor.GetStateAt(api.GetStateAtRequest(match_id=str(match_id)))
    reason = f"dispute {dispute.dispute_id} is open"
    assert await opened(service) == [("olga", str(match_id), reason)]


async def test_an_access_to_a_running_match_ends(database: Database, tmp_path: Path) -> None:
    async with serving(database, tmp_path, match_access_seconds=1) as service:
        auditor = service.caller(AuditServiceStub, "olga", "auditor")
        match_id = str(await store_match(service.store, staked_and_played(seats=2), commands=6))
        end = (await open_match(auditor, match_id)).end_time.ToMicroseconds()
        request = api.GetStateAtRequest(match_id=match_id)
        await until(lambda: has_passed(end))
        async with refused(ErrorReason.ERROR_REASON_ACCESS_NOT_RECORDED):
            await auditor.GetStateAt(request)
        await open_match(auditor, match_id)
        await auditor.GetStateAt(request)


async def has_passed(time_us: int) -> bool:
    return system_now_us() > time_us


async def test_an_ended_match_needs_no_reason(service: Service, auditor: Caller) -> None:
    match_id = await store_match(service.store, staked_and_played())
    await auditor.GetStateAt(api.GetStateAtRequest(match_id=str(match_id)))
    assert await opened(service) == []


async def test_an_own_match_and_one_before_its_deal_cannot_be_opened(service: Service) -> None:
    played = staked_and_played(seats=2)
    waiting = str(await store_match(service.store, random_match(300, seats=3), commands=1))
    running = str(await store_match(service.store, played, commands=6))
    name = next(one.event.seat_taken.player_id for one in played.records[1:])
    for match_id, reason in (
        (waiting, ErrorReason.ERROR_REASON_MATCH_NOT_DEALT),
        (running, ErrorReason.ERROR_REASON_OWN_MATCH),
        (str(uuid4()), ErrorReason.ERROR_REASON_MATCH_NOT_FOUND),
    ):
        async with refused(reason):
            await open_match(service.caller(AuditServiceStub, name, "auditor"), match_id)
    assert await opened(service) == []
