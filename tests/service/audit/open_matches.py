"""Matches to audit, and auditors that open running ones."""

from __future__ import annotations

from uuid import uuid4

from durak.v1 import audit_service_pb2 as api
from tests.domain.audit.audit_matches import PlayedMatch, random_match
from tests.service.serving import Caller


def staked_and_played(**wanted: int) -> PlayedMatch:
    """Return a staked match that was dealt."""
    matches = (random_match(seed, stake_coins=100, **wanted) for seed in range(100))
    return next(played for played in matches if len(played.records) > 30)


async def open_match(auditor: Caller, match_id: str, **fields: str) -> api.OpenMatchResponse:
    usual = {"request_id": str(uuid4()), "match_id": match_id, "reason": "a player asked"}
    answer = await auditor.OpenMatch(api.OpenMatchRequest(**{**usual, **fields}))
    assert isinstance(answer, api.OpenMatchResponse)
    return answer
