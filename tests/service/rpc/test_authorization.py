"""Every method is in the table of roles, and auditors do not play."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

import durak.v1
from service.rpc.authorization import ACCESS, access_to, authorise
from service.rpc.call import Caller
from service.rpc.errors import Refused

PLAYING = (
    "OpenTable",
    "TakeSeat",
    "SeatBot",
    "LeaveMatch",
    "RemovePlayer",
    "RevealSeed",
    "CancelTable",
    "Play",
    "Rematch",
    "PlaySession",
)
READING = ("GetMatch", "WatchMatch", "ListMatches")


def files() -> Iterator[Any]:
    for module in pkgutil.iter_modules(durak.v1.__path__, "durak.v1."):
        if module.name.endswith("_pb2"):
            yield importlib.import_module(module.name).DESCRIPTOR
    yield health_pb2.DESCRIPTOR
    yield reflection_pb2.DESCRIPTOR


def methods() -> set[str]:
    return {
        f"/{service.full_name}/{method.name}"
        for file in files()
        for service in file.services_by_name.values()
        for method in service.methods
    }


def caller(*roles: str) -> Caller:
    return Caller("ann", "Ann", frozenset(roles), float("inf"))


def may(method: str, *roles: str) -> bool:
    try:
        authorise(caller(*roles), access_to(f"/durak.v1.MatchService/{method}"))
    except Refused:
        return False
    return True


def test_every_method_of_every_service_is_in_the_table() -> None:
    # The health service does not implement List, so it is UNIMPLEMENTED with any table.
    assert methods() - set(ACCESS) <= {"/grpc.health.v1.Health/List"}
    assert set(ACCESS) <= methods()


def test_only_these_services_need_no_token() -> None:
    public = {method for method, access in ACCESS.items() if access.public}
    assert {method.rpartition("/")[0] for method in public} == {
        "/durak.v1.PracticeService",
        "/durak.v1.RulesService",
        "/grpc.health.v1.Health",
        "/grpc.reflection.v1alpha.ServerReflection",
    }


@pytest.mark.parametrize("method", PLAYING)
def test_players_play_and_auditors_do_not(method: str) -> None:
    assert may(method, "player")
    assert may(method, "player", "operator")
    for roles in ((), ("operator",), ("auditor",), ("player", "auditor")):
        assert not may(method, *roles)


@pytest.mark.parametrize("method", READING)
def test_all_roles_can_read(method: str) -> None:
    for role in ("player", "operator", "auditor"):
        assert may(method, role)
    assert not may(method)


def test_reviews_are_for_players_and_auditors() -> None:
    assert may("ReviewMatch", "player")
    assert may("ReviewMatch", "auditor")
    assert not may("ReviewMatch", "operator")


def test_a_method_that_is_not_in_the_table_is_denied_to_all_roles() -> None:
    assert not may("Cheat", "player", "operator", "auditor")
    assert not may("Cheat", "player")


def test_the_refusal_lists_the_roles_that_may_call() -> None:
    with pytest.raises(Refused) as refused:
        authorise(caller(), access_to("/durak.v1.MatchService/GetMatch"))
    assert refused.value.refusal.metadata == {"roles": "auditor,operator,player"}
