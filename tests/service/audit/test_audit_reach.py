"""Which roles may call which methods, for every call of the contract."""

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
"""Calls for spectators. Auditors see no more by them."""
OPEN_TO_OPERATORS = {"ListAdministrativeEvents"}
"""Calls of AuditService that show no match."""
REVIEWING = {"ReviewMatch"}
"""Calls about ended matches only."""


@pytest.fixture
async def service(database: Database, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(database, tmp_path) as served:
        yield served


async def reason(service: Service, method: MethodDescriptor, *roles: str) -> int | None:
    """Return why a call with an empty request is refused to a caller with these roles."""
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
            # An error of the client: the refusal came while it was sending, without its reason.
            return await reason(service, method, *roles)
        return reason_of(error)
    return None


@pytest.mark.parametrize("roles", NOT_AUDITORS)
async def test_audit_calls_need_the_role_of_an_auditor(
    service: Service, roles: tuple[str, ...]
) -> None:
    for method in AUDIT.methods:
        is_refused = await reason(service, method, *roles) == ROLE_REQUIRED
        overseen = "operator" in roles and method.name in OPEN_TO_OPERATORS
        assert is_refused != overseen, method.name


@pytest.mark.parametrize("roles", AUDITORS)
async def test_auditors_may_make_every_audit_call_and_none_that_plays(
    service: Service, roles: tuple[str, ...]
) -> None:
    for method in AUDIT.methods:
        assert await reason(service, method, *roles) != ROLE_REQUIRED, method.name
    for method in MATCH.methods:
        is_refused = await reason(service, method, *roles) == ROLE_REQUIRED
        assert is_refused == (method.name not in OPEN_TO_ALL_ROLES | REVIEWING), method.name


async def test_each_call_about_disputes_has_its_roles(service: Service) -> None:
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


async def test_every_call_needs_a_token(service: Service) -> None:
    for method in (*AUDIT.methods, *DISPUTE.methods):
        call = service.channel.unary_unary(
            f"/{method.containing_service.full_name}/{method.name}",
            request_serializer=GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        with pytest.raises(aio.AioRpcError) as refused:
            await call(GetMessageClass(method.input_type)(), timeout=30)
        assert reason_of(refused.value) == ErrorReason.ERROR_REASON_TOKEN_MISSING, method.name
