"""Flags: repeated losses of one pair, matches left, and wins against new accounts (R13.3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from durak.v1 import audit_service_pb2 as api
from durak.v1 import errors_pb2 as reasons
from durak.v1.audit_service_pb2_grpc import AuditServiceStub
from eventstore import EventStore, LobbyRow
from eventstore.read_models.standings import PlayerNumbers, SeatStanding, StandingsUpdate
from tests.conftest import Database
from tests.eventstore.support import Writer
from tests.service.playing import refused
from tests.service.serving import Caller, Service, serving

NOON = datetime(2126, 5, 1, 12, tzinfo=UTC)  # the service itself counts no match before its end
THRESHOLDS = {
    "flag_pair_losses_min": 3,
    "flag_matches_left_min": 2,
    "flag_lost_positions_left_min": 2,
    "flag_new_account_wins_min": 2,
    "flag_new_account_matches_max": 1,
}


class Results:
    """Results in the standings of a store, one a minute."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._played: dict[str, int] = {}
        self._minute = 0

    async def beat(self, winner: str, loser: str) -> UUID:
        """Store a win of one player against another. The id of a bot is empty."""
        return await self._end((winner, True, False, False), (loser, False, True, False))

    async def leave(self, player: str, *, losing: bool = False) -> UUID:
        """Store a match that a player left, perhaps in a lost position."""
        return await self._end((player, False, False, True), losing=losing)

    async def _end(self, *seats: tuple[str, bool, bool, bool], losing: bool = False) -> UUID:
        writer = Writer(self._store)
        self._minute += 1
        at = NOON + timedelta(minutes=self._minute)
        row = LobbyRow(4, at, b"", ended_at=at)
        await self._store.append(writer.command(b"the end")._replace(lobby=row))

        async def work(update: StandingsUpdate) -> None:
            (ended,) = await update.take_uncounted(at, 9)
            standings = []
            for seat, (player, won, lost, left) in enumerate(seats):
                self._played[player] = self._played.get(player, 0) + (not left)
                numbers = PlayerNumbers(1000, self._played[player], 0, 0, 0, 0)
                standings.append(
                    SeatStanding(
                        ended.match_id, seat, at, None, player or None, won, lost,
                        numbers if player else None, left, losing,
                    )
                )  # fmt: skip
            await update.add([ended], standings)

        await self._store.standings.update(work, wait=True)
        return writer.stream_id


@pytest.fixture
async def service(database: Database, tmp_path: Path) -> AsyncIterator[Service]:
    settings: dict[str, Any] = {**THRESHOLDS, "standings_interval_seconds": 3600}
    async with serving(database, tmp_path, **settings) as served:
        yield served


@pytest.fixture
def auditor(service: Service) -> Caller:
    return service.caller(AuditServiceStub, "olga", "auditor")


@pytest.fixture
def results(service: Service) -> Results:
    return Results(service.store)


async def flags(auditor: Caller, kind: api.FlagKind.ValueType, **fields: Any) -> list[api.Flag]:
    answer = await auditor.ListFlags(api.ListFlagsRequest(kind=kind, **fields))
    return list(answer.flags)


async def test_repeated_losses_of_a_pair_are_flagged_with_the_matches(
    auditor: Caller, results: Results
) -> None:
    ids = [await results.beat("ann", "bob") for _ in range(3)]
    for _ in range(2):
        await results.beat("ann", "cid")  # below the threshold
    for _ in range(4):  # friends who both win
        await results.beat("dan", "eve")
        await results.beat("eve", "dan")
    for _ in range(5):
        await results.beat("", "bob")  # a bot
    (flag,) = await flags(auditor, api.FLAG_KIND_PAIR_LOSSES)
    assert (flag.player_id, flag.other_player_id) == ("bob", "ann")
    assert (flag.cases, flag.matches) == (3, 3)
    assert list(flag.match_ids) == [str(match_id) for match_id in reversed(ids)]
    assert flag.first_time.ToDatetime(UTC) == NOON + timedelta(minutes=1)
    assert flag.last_time.ToDatetime(UTC) == NOON + timedelta(minutes=3)


async def test_a_pair_is_flagged_up_to_the_share_of_losses(
    auditor: Caller, results: Results
) -> None:
    for _ in range(4):
        await results.beat("ann", "bob")
    await results.beat("bob", "ann")  # 4 of 5: 0.8
    (flag,) = await flags(auditor, api.FLAG_KIND_PAIR_LOSSES)
    assert (flag.cases, flag.matches) == (4, 5)
    await results.beat("bob", "ann")
    assert await flags(auditor, api.FLAG_KIND_PAIR_LOSSES) == []


async def test_accounts_that_only_lose_to_one_are_flagged(
    auditor: Caller, results: Results
) -> None:
    ids = [await results.beat("ann", "bob") for _ in range(3)]
    for _ in range(3):
        await results.beat("ann", "cid")
        await results.beat("dan", "cid")  # cid loses to others too
    for _ in range(4):
        await results.beat("", "bob")  # a bot
    for _ in range(9):
        await results.beat("bob", "ann")  # wins do not matter here, as they do for a pair
    found = await flags(auditor, api.FLAG_KIND_LOSSES_TO_ONE)
    assert [(one.player_id, one.other_player_id) for one in found] == [
        ("ann", "bob"),
        ("bob", "ann"),
    ]
    assert (found[1].cases, found[1].matches) == (3, 3)
    assert list(found[1].match_ids) == [str(match_id) for match_id in reversed(ids)]
    assert await flags(auditor, api.FLAG_KIND_LOSSES_TO_ONE, player_id="cid") == []
    await results.beat("eve", "bob")  # 3 of 4
    found = await flags(auditor, api.FLAG_KIND_LOSSES_TO_ONE, player_id="bob")
    assert [one.player_id for one in found] == ["ann"]


async def test_R13_3_players_who_repeatedly_leave_are_flagged(
    auditor: Caller, results: Results
) -> None:
    await results.leave("ann")
    await results.beat("ann", "bob")
    ids = [await results.leave("bob") for _ in range(2)]
    (flag,) = await flags(auditor, api.FLAG_KIND_MATCHES_LEFT)
    assert (flag.player_id, flag.other_player_id, flag.cases, flag.matches) == ("bob", "", 2, 3)
    assert list(flag.match_ids) == [str(match_id) for match_id in reversed(ids)]


async def test_players_who_repeatedly_leave_lost_positions_are_flagged(
    auditor: Caller, results: Results
) -> None:
    for _ in range(4):
        await results.leave("ann")
    await results.leave("ann", losing=True)
    ids = [await results.leave("bob", losing=True) for _ in range(2)]
    await results.leave("bob")
    (flag,) = await flags(auditor, api.FLAG_KIND_LOST_POSITIONS_LEFT)
    assert (flag.player_id, flag.cases, flag.matches) == ("bob", 2, 3)
    assert list(flag.match_ids) == [str(match_id) for match_id in reversed(ids)]


async def test_wins_against_new_accounts_are_flagged(auditor: Caller, results: Results) -> None:
    for name in ("a", "b", "c"):
        await results.beat("farmer", name)
    for _ in range(6):
        await results.beat("ann", "bob")  # bob is new once
    (flag,) = await flags(auditor, api.FLAG_KIND_NEW_ACCOUNT_WINS)
    assert (flag.player_id, flag.cases, flag.matches) == ("farmer", 3, 3)


async def test_the_period_and_the_player_restrict_the_list(
    auditor: Caller, results: Results
) -> None:
    for player in ("ann", "ann", "bob", "bob"):
        await results.leave(player)
    kind = api.FLAG_KIND_MATCHES_LEFT
    assert [flag.player_id for flag in await flags(auditor, kind, player_id="bob")] == ["bob"]
    assert await flags(auditor, kind, player_id="cid") == []
    early, late = api.ListFlagsRequest(kind=kind), api.ListFlagsRequest(kind=kind)
    early.end_time.FromDatetime(NOON + timedelta(minutes=3))
    late.start_time.FromDatetime(NOON + timedelta(minutes=3))
    for request, player in ((early, "ann"), (late, "bob")):
        answer = await auditor.ListFlags(request)
        assert [flag.player_id for flag in answer.flags] == [player]


async def test_flags_come_in_pages_and_evidence_is_limited(
    auditor: Caller, results: Results
) -> None:
    for player in ("ann", "bob", "cid"):
        for _ in range(25 if player == "bob" else 2):
            await results.leave(player)
    kind, token, seen = api.FLAG_KIND_MATCHES_LEFT, "", []
    for _ in range(3):
        request = api.ListFlagsRequest(kind=kind, page_size=1, page_token=token)
        answer = await auditor.ListFlags(request)
        seen += [(flag.player_id, flag.cases, len(flag.match_ids)) for flag in answer.flags]
        token = answer.next_page_token
    assert token == ""
    assert seen == [("ann", 2, 2), ("bob", 25, 20), ("cid", 2, 2)]


async def test_faulty_requests_are_refused(auditor: Caller, service: Service) -> None:
    kind = api.FLAG_KIND_MATCHES_LEFT
    for malformed in (
        api.ListFlagsRequest(),
        api.ListFlagsRequest(kind=99),  # type: ignore[arg-type]
        api.ListFlagsRequest(kind=kind, player_id="a b"),
        api.ListFlagsRequest(kind=kind, page_size=-1),
    ):
        async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
            await auditor.ListFlags(malformed)
    async with refused(reasons.ERROR_REASON_PAGE_TOKEN_INVALID):
        await auditor.ListFlags(api.ListFlagsRequest(kind=kind, page_token="AAAA"))
    for role in ("player", "operator"):
        async with refused(reasons.ERROR_REASON_ROLE_REQUIRED):
            caller = service.caller(AuditServiceStub, "ann", role)
            await caller.ListFlags(api.ListFlagsRequest(kind=kind))
