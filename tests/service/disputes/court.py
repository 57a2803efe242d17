"""A court for the tests of disputes: a service with a match that was played out for coins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from durak.v1 import dispute_service_pb2 as api
from durak.v1.dispute_service_pb2_grpc import DisputeServiceStub
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.events_pb2 import OUTCOME_PLAYED_OUT
from service.checkpoints.seals import Seals
from tests.conftest import Database
from tests.domain.audit.audit_matches import PlayedMatch, random_match
from tests.service.serving import Caller, Service, serving
from tests.service.stored_matches import store_match

REASON = ErrorReason
DECLINED = api.CORRECTION_DECISION_DECLINED
OPEN, WAITING = api.DISPUTE_STATUS_OPEN, api.DISPUTE_STATUS_CORRECTION_PENDING
UPHELD, REJECTED = api.DISPUTE_STATUS_UPHELD, api.DISPUTE_STATUS_REJECTED
NO_END = 31_536_000
"""A dispute window in seconds that is still open for the matches of the tests."""


def played_out(**wanted: int) -> PlayedMatch:
    """Return a staked match of two players with a winner."""
    for seed in range(200):
        played = random_match(seed, **{"stake_coins": 100, "seats": 2, **wanted})
        if played.records[-1].event.finished.outcome == OUTCOME_PLAYED_OUT:
            return played
    raise AssertionError


def players_of(played: PlayedMatch) -> list[str]:
    """Return the players who have a seat when the match ends."""
    return [seat.player_id for seat in played.match.table.seats if seat and not seat.is_bot]


PLAYED = played_out()
WINNER = next(entry.player_id for entry in PLAYED.ledger if entry.kind == 3 and entry.coins > 0)
LOSER = next(entry.player_id for entry in PLAYED.ledger if entry.player_id not in {"", WINNER})


def seals_of(service: Service) -> Seals:
    return Seals(service.store.checkpoints, service.config.note_key_file)


@pytest.fixture
async def service(database: Database, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(database, tmp_path, dispute_window_seconds=NO_END) as served:
        yield served


class Court:
    """The callers in disputes about one match."""

    def __init__(self, service: Service, match_id: UUID) -> None:
        self.service = service
        self.match_id = str(match_id)
        self.winner = self.caller(WINNER, "player")
        self.loser = self.caller(LOSER, "player")
        self.auditor = self.caller("olga", "auditor")
        self.operator = self.caller("otto", "operator")

    def caller(self, name: str, *roles: str) -> Caller:
        return self.service.caller(DisputeServiceStub, name, *roles)

    async def open(self, who: Caller | None = None, **fields: Any) -> api.Dispute:
        if "payout" not in fields:
            fields.setdefault("version", 9)
        request = api.OpenDisputeRequest(
            **{
                "request_id": str(uuid4()),
                "match_id": self.match_id,
                "reason": "I had that card",
                **fields,
            }
        )
        answer = await (who or self.loser).OpenDispute(request)
        return answer.dispute  # type: ignore[no-any-return]

    async def rule(self, dispute: api.Dispute, **fields: Any) -> api.Dispute:
        request = api.RuleOnDisputeRequest(
            **{
                "request_id": str(uuid4()),
                "dispute_id": dispute.dispute_id,
                "ruling": api.RULING_REJECTED,
                "reason": "it was legal",
                **fields,
            }
        )
        return (await self.auditor.RuleOnDispute(request)).dispute  # type: ignore[no-any-return]

    async def decide(self, dispute: api.Dispute, who: Caller | None = None, **fields: Any) -> Any:
        request = api.DecideCorrectionRequest(
            **{
                "request_id": str(uuid4()),
                "dispute_id": dispute.dispute_id,
                "decision": api.CORRECTION_DECISION_APPROVED,
                "reason": "checked",
                **fields,
            }
        )
        return (await (who or self.operator).DecideCorrection(request)).dispute

    async def get(self, who: Caller, dispute: api.Dispute) -> api.GetDisputeResponse:
        request = api.GetDisputeRequest(dispute_id=dispute.dispute_id)
        return await who.GetDispute(request)  # type: ignore[no-any-return]

    async def coins(self, player_id: str) -> int:
        return (await self.service.store.ledger.read_balance(player_id)).available


@pytest.fixture
async def court(service: Service) -> Court:
    return Court(service, await store_match(service.store, PLAYED))


def swap(coins: int) -> list[api.Correction]:
    return [
        api.Correction(player_id=LOSER, coins=coins),
        api.Correction(player_id=WINNER, coins=-coins),
    ]
