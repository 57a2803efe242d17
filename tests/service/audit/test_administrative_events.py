"""The list of the acts of operators and auditors, over the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from durak.v1 import audit_service_pb2 as api
from durak.v1 import wallet_service_pb2 as wallet
from durak.v1.administration_pb2 import AdministrativeKind, StoredAdministrativeRecord
from durak.v1.audit_service_pb2_grpc import AuditServiceStub
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from eventstore import StoredRecord
from eventstore.administration import FIRST_ADMINISTRATION_HASH
from service.stored_records import read_chain
from tests.conftest import Database
from tests.service.playing import refused
from tests.service.serving import Caller, Service, serving


@pytest.fixture
async def service(database: Database, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(database, tmp_path) as served:
        yield served


async def grant(service: Service, operator: str, *coins: int) -> None:
    caller = service.caller(WalletServiceStub, operator, "operator")
    for count in coins:
        await caller.GrantCoins(
            wallet.GrantCoinsRequest(
                request_id=str(uuid4()), player_id="ann", coins=count, reason=f"{count} for a bug"
            )
        )


async def listed(caller: Caller, **fields: object) -> list[StoredAdministrativeRecord]:
    found: list[StoredAdministrativeRecord] = []
    request = api.ListAdministrativeEventsRequest(**fields)  # type: ignore[arg-type]
    while True:
        page = await caller.ListAdministrativeEvents(request)
        assert len(page.records) <= 2
        found += page.records
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return found


@pytest.mark.parametrize("role", ["auditor", "operator"])
async def test_auditors_and_operators_list_all_acts_page_by_page(
    service: Service, role: str
) -> None:
    await grant(service, "root", 1, 2, 3)
    await grant(service, "rita", 4)
    reader = service.caller(AuditServiceStub, "olga", role)
    found = await listed(reader, page_size=2)
    assert [
        (one.version, one.record.actor_id, one.record.event.coins_granted.coins, one.record.reason)
        for one in found
    ] == [
        (5, "rita", 4, "4 for a bug"),
        (4, "root", 3, "3 for a bug"),
        (3, "root", 2, "2 for a bug"),
        (2, "root", 1, "1 for a bug"),
        (1, "", 0, "the first keys of this log"),
    ]
    chain = [StoredRecord(one.version, one.stored, one.hash) for one in reversed(found)]
    assert len(read_chain(chain, FIRST_ADMINISTRATION_HASH, bytes)) == 5


async def test_acts_are_filtered_by_person_and_kind(service: Service) -> None:
    await grant(service, "root", 1, 2, 3)
    await grant(service, "rita", 4)
    olga = service.caller(AuditServiceStub, "olga", "auditor")
    granted = AdministrativeKind.ADMINISTRATIVE_KIND_COINS_GRANTED
    of_root = await listed(olga, page_size=2, actor_id="root", kind=granted)
    assert [one.version for one in of_root] == [4, 3, 2]
    assert await listed(olga, page_size=2, actor_id="nobody") == []


async def test_a_page_token_belongs_to_its_filters(service: Service) -> None:
    await grant(service, "root", 1, 2, 3)
    olga = service.caller(AuditServiceStub, "olga", "auditor")
    page = await olga.ListAdministrativeEvents(api.ListAdministrativeEventsRequest(page_size=1))
    for fields in ({"actor_id": "root"}, {"kind": 1}):
        request = api.ListAdministrativeEventsRequest(
            page_token=page.next_page_token,
            **fields,
        )
        async with refused(ErrorReason.ERROR_REASON_PAGE_TOKEN_INVALID):
            await olga.ListAdministrativeEvents(request)
    for malformed in ({"actor_id": "a b"}, {"kind": 99}, {"page_size": -1}):
        async with refused(ErrorReason.ERROR_REASON_MALFORMED_FIELD):
            await olga.ListAdministrativeEvents(api.ListAdministrativeEventsRequest(**malformed))
