"""Who reaches what over the wire, for every call of the contract: a new one cannot be forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass
from grpc import aio

from durak.v1 import audit_service_pb2, dispute_service_pb2, match_service_pb2
from durak.v1.errors_pb2 import ErrorReason
from tests.conftest import Database
from tests.service.playing import reason_of
from tests.service.serving import Service, serving

ROLE_REQUIRED = ErrorReason.ERROR_REASON_ROLE_REQUIRED
AUDIT = audit_service_pb2.DESCRIPTOR.services_by_name["AuditService"]
DISPUTE = dispute_service_pb2.DESCRIPTOR.services_by_name["DisputeService"]
MATCH = match_service_pb2.DESCRIPTOR.services_by_name["MatchService"]
NOT_AUDITORS = [(), ("player",), ("operator",), ("player", "operator")]
AUDITORS = [("auditor",), ("player", "auditor"), ("operator", "auditor")]
OPEN_TO_ALL_ROLES = {"GetMatch", "WatchMatch", "ListMatches"}
"""What spectators see too: auditors see no more by these calls than they do."""
REVIEWING = {"ReviewMatch"}
"""Of matches that are over alone."""


@pytest.fixture
async def service(database: Database, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(database, tmp_path) as served:
        yield served


async def reason(service: Service, method: MethodDescriptor, *roles: str) -> int | None:
    """Why a call with an empty request is refused to somebody with these roles, if it is."""
    kind = ("stream" if method.client_streaming else "unary") + (
        "_stream" if method.server_streaming else "_unary"
    )
    call = getattr(service.channel, kind)(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=GetMessageClass(method.input_type).SerializeToString,
        response_deserializer=GetMessageClass(method.output_type).FromString,
    )
    empty = GetMessageClass(method.input_type)()
    request: Any = iter([empty]) if method.client_streaming else empty
    running = call(request, metadata=service.metadata("olga", *roles), timeout=30)
    try:
        if method.server_streaming:
            async for _ in running:
                break
            running.cancel()
        else:
            await running
    except aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.INTERNAL and not error.trailing_metadata():
            # The client's own: the refusal came while it was sending. What it was, it does not say.
            return await reason(service, method, *roles)
        return reason_of(error)
    return None


@pytest.mark.parametrize("roles", NOT_AUDITORS)
async def test_no_audit_call_is_reached_without_the_role(
    service: Service, roles: tuple[str, ...]
) -> None:
    for method in AUDIT.methods:
        assert await reason(service, method, *roles) == ROLE_REQUIRED, method.name


@pytest.mark.parametrize("roles", AUDITORS)
async def test_auditors_reach_all_of_them_and_no_call_that_plays(
    service: Service, roles: tuple[str, ...]
) -> None:
    for method in AUDIT.methods:
        assert await reason(service, method, *roles) != ROLE_REQUIRED, method.name
    for method in MATCH.methods:
        is_refused = await reason(service, method, *roles) == ROLE_REQUIRED
        assert is_refused == (method.name not in OPEN_TO_ALL_ROLES | REVIEWING), method.name


async def test_of_disputes_each_has_their_part(service: Service) -> None:
    parts = {
        "OpenDispute": {"player"},
        "GetDispute": {"player", "operator", "auditor"},
        "ListDisputes": {"player", "operator", "auditor"},
        "RuleOnDispute": {"auditor"},
        "DecideCorrection": {"operator"},
    }
    assert {method.name for method in DISPUTE.methods} == set(parts)
    for method in DISPUTE.methods:
        for role in ("player", "operator", "auditor"):
            is_refused = await reason(service, method, role) == ROLE_REQUIRED
            assert is_refused == (role not in parts[method.name]), (method.name, role)


async def test_nobody_reaches_any_of_them_without_a_token(service: Service) -> None:
    for method in (*AUDIT.methods, *DISPUTE.methods):
        call = service.channel.unary_unary(
            f"/{method.containing_service.full_name}/{method.name}",
            request_serializer=GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        with pytest.raises(aio.AioRpcError) as refused:
            await call(GetMessageClass(method.input_type)(), timeout=30)
        assert reason_of(refused.value) == ErrorReason.ERROR_REASON_TOKEN_MISSING, method.name
