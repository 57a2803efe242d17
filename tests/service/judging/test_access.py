"""An auditor's access to a match is decided by its first records."""

from __future__ import annotations

from uuid import uuid4

import pytest

from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import Record
from eventstore import EventStore
from service.judging.access import check_openable, read_opening
from service.rpc.errors import Refused
from tests.domain.audit.audit_matches import PlayedMatch, random_match
from tests.service.stored_matches import store_match


def long_match() -> PlayedMatch:
    matches = (random_match(seed) for seed in range(100))
    return next(played for played in matches if len(played.records) > 100)


async def test_a_dealt_match_is_not_read_to_its_end(store: EventStore) -> None:
    played = long_match()
    match_id = await store_match(store, played)
    opening = [Record.FromString(one.record) for one in await read_opening(store, match_id)]
    assert opening == played.records[: len(opening)]
    assert any(record.event.HasField("dealt") for record in opening)
    assert len(opening) <= 64
    await check_openable(store, match_id, "olga")


async def test_a_player_of_any_seat_is_refused(store: EventStore) -> None:
    played = long_match()
    match_id = await store_match(store, played)
    players = {record.event.seat_taken.player_id for record in played.records} - {""}
    assert players
    for player_id in players:
        with pytest.raises(Refused) as refused:
            await check_openable(store, match_id, player_id)
        assert refused.value.refusal.reason == reasons.ERROR_REASON_OWN_MATCH


async def test_a_match_without_a_deal_is_refused(store: EventStore) -> None:
    match_id = await store_match(store, long_match(), commands=1)
    with pytest.raises(Refused) as refused:
        await check_openable(store, match_id, "olga")
    assert refused.value.refusal.reason == reasons.ERROR_REASON_MATCH_NOT_DEALT


async def test_a_match_that_does_not_exist_is_refused(store: EventStore) -> None:
    assert await read_opening(store, uuid4()) == []
    with pytest.raises(Refused) as refused:
        await check_openable(store, uuid4(), "olga")
    assert refused.value.refusal.reason == reasons.ERROR_REASON_MATCH_NOT_FOUND
