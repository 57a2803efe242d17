"""R12.9: a grant over the limit of one operator needs a second one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from grpc import aio

from durak.v1 import audit_service_pb2 as audit
from durak.v1 import wallet_service_pb2 as api
from durak.v1.audit_service_pb2_grpc import AuditServiceStub
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from service.administration.log import parse
from service.times import system_now_us
from tests.conftest import Database
from tests.service.playing import reason_of, refused
from tests.service.serving import Caller, Service, serving


@pytest.fixture
async def service(database: Database, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(database, tmp_path, grant_coins_max=100) as served:
        yield served


@pytest.fixture
def root(service: Service) -> Caller:
    return service.caller(WalletServiceStub, "root", "operator")


@pytest.fixture
def rita(service: Service) -> Caller:
    return service.caller(WalletServiceStub, "rita", "operator")


async def propose(operator: Caller, **fields: Any) -> api.ProposeGrantResponse:
    usual = {"request_id": str(uuid4()), "player_id": "ann", "coins": 5_000, "reason": "a cup"}
    answer: api.ProposeGrantResponse = await operator.ProposeGrant(
        api.ProposeGrantRequest(**{**usual, **fields})
    )
    return answer


async def approve(operator: Caller, grant_id: str, **fields: Any) -> api.ApproveGrantResponse:
    usual = {"request_id": str(uuid4()), "grant_id": grant_id, "reason": "the cup was announced"}
    answer: api.ApproveGrantResponse = await operator.ApproveGrant(
        api.ApproveGrantRequest(**{**usual, **fields})
    )
    return answer


async def test_the_coins_come_with_the_approval_of_another_operator(
    service: Service, root: Caller, rita: Caller
) -> None:
    request_id = str(uuid4())
    proposed = await propose(root, request_id=request_id)
    assert await propose(root, request_id=request_id) == proposed
    assert (await service.store.ledger.read_balance("ann")).available == 1000  # the opening balance

    approval = str(uuid4())
    approved = await approve(rita, proposed.grant_id, request_id=approval)
    assert (approved.player_id, approved.balance.available_coins) == ("ann", 6_000)
    assert await approve(rita, proposed.grant_id, request_id=approval) == approved

    _, first, second = map(parse, await service.store.administration.read())
    assert (first.actor_id, first.reason, first.event.grant_proposed.coins) == (
        "root", "a cup", 5_000,
    )  # fmt: skip
    grant = second.event.grant_approved
    assert (second.actor_id, second.reason) == ("rita", "the cup was announced")
    assert (grant.player_id, grant.coins, grant.proposer_id) == ("ann", 5_000, "root")
    (transfer,) = await service.store.ledger.list_transfers_of(UUID(proposed.grant_id))
    assert (transfer.player, transfer.coins, transfer.actor) == ("ann", 5_000, "rita")


async def test_neither_the_proposer_nor_the_player_approves(
    service: Service, root: Caller, rita: Caller
) -> None:
    async with refused(ErrorReason.ERROR_REASON_OWN_GRANT):
        await propose(root, player_id="root")
    for_rita = await propose(root, player_id="rita")
    for operator in (root, rita):
        async with refused(ErrorReason.ERROR_REASON_OWN_GRANT):
            await approve(operator, for_rita.grant_id)
    assert (await service.store.ledger.read_balance("rita")).available == 1000


async def test_one_proposal_is_approved_once_even_by_two_at_the_same_time(
    service: Service, root: Caller
) -> None:
    proposed = await propose(root)
    operators = [service.caller(WalletServiceStub, f"op{n}", "operator") for n in range(4)]
    answers = await asyncio.gather(
        *(approve(operator, proposed.grant_id) for operator in operators), return_exceptions=True
    )
    refusals = [reason_of(one) for one in answers if isinstance(one, aio.AioRpcError)]
    assert refusals == [ErrorReason.ERROR_REASON_GRANT_CLOSED] * 3
    assert (await service.store.ledger.read_balance("ann")).available == 6_000
    async with refused(ErrorReason.ERROR_REASON_GRANT_CLOSED):
        await approve(operators[0], proposed.grant_id)


async def test_a_proposal_that_nobody_approved_in_time_is_closed(
    database: Database, tmp_path: Path
) -> None:
    async with serving(database, tmp_path, proposed_grant_seconds=1) as service:
        operators = [service.caller(WalletServiceStub, name, "operator") for name in ("a", "b")]
        proposed = await propose(operators[0])
        async with asyncio.timeout(30):
            while system_now_us() < proposed.expire_time.ToMicroseconds():  # noqa: ASYNC110 - a clock
                await asyncio.sleep(0.05)
        async with refused(ErrorReason.ERROR_REASON_GRANT_CLOSED):
            await approve(operators[1], proposed.grant_id)
        assert (await service.store.ledger.read_balance("ann")).available == 1000


async def test_malformed_and_unknown_approvals_are_refused(root: Caller, rita: Caller) -> None:
    for fields in ({"coins": 0}, {"coins": -1}, {"coins": 10**12}, {"reason": " "}):
        async with refused(ErrorReason.ERROR_REASON_MALFORMED_FIELD):
            await propose(root, **fields)
    for grant_id, fields in (("x", {}), (str(uuid4()), {"reason": ""})):
        async with refused(ErrorReason.ERROR_REASON_MALFORMED_FIELD):
            await approve(rita, grant_id, **fields)
    proposed = await propose(root)
    request_id = str(uuid4())
    await approve(rita, proposed.grant_id, request_id=request_id)
    async with refused(ErrorReason.ERROR_REASON_REQUEST_ID_REUSED):
        await approve(rita, proposed.grant_id, request_id=request_id, reason="another")


async def test_an_audit_lists_the_coins_that_each_operator_issued(
    service: Service, root: Caller, rita: Caller
) -> None:
    grant = api.GrantCoinsRequest(
        request_id=str(uuid4()), player_id="bob", coins=70, reason="a bug"
    )
    await rita.GrantCoins(grant)
    await approve(rita, (await propose(root)).grant_id)
    await propose(rita, player_id="bob")  # never approved: no coins
    olga = service.caller(AuditServiceStub, "olga", "auditor")
    answers = [one async for one in olga.VerifyPayouts(audit.VerifyPayoutsRequest())]
    ledger = answers[-1].summary.ledger
    assert ledger.ok
    assert list(ledger.operator_grants) == [
        audit.OperatorGrants(
            operator_id="rita", grants=1, coins=70, approved_grants=1, approved_coins=5_000
        )
    ]
