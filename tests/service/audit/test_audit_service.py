"""AuditService over the wire: reading, judging, exporting, and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import grpc
import pytest
from google.protobuf.message_factory import GetMessageClass
from grpc import aio

from domain.audit.transcript import Outcome, verify
from domain.cards import ALL_CARDS, cards_in, mask_of
from domain.match.fold import fold
from domain.transparency import checkpoint, merkle
from durak.v1 import audit_service_pb2 as api
from durak.v1 import match_service_pb2 as match_api
from durak.v1.audit_service_pb2_grpc import AuditServiceStub
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import DECK_36, THROW_IN_ALL, Settings
from eventstore import EventStore
from tests.conftest import Database, execute
from tests.domain.audit.audit_matches import random_match
from tests.eventstore.support import StoredDispute
from tests.service.audit.open_matches import open_match, staked_and_played
from tests.service.playing import refused
from tests.service.serving import Caller, Service, serving
from tests.service.stored_matches import store_match, store_random

METHODS: dict[str, Any] = {
    method.name: GetMessageClass(method.input_type)
    for method in api.DESCRIPTOR.services_by_name["AuditService"].methods
    if "match_id" in method.input_type.fields_by_name
}
"""Every call about one match, by the contract."""
SHOWING_NOTHING = {"GetInclusionProof", "OpenMatch"}
"""Calls that show no card and no seed."""
WITH_REASON = {"request_id": str(uuid4()), "reason": "a player asked"}
OPEN = sorted(set(METHODS) - SHOWING_NOTHING)


@pytest.fixture
async def service(database: Database, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(database, tmp_path) as served:
        yield served


@pytest.fixture
def auditor(service: Service) -> Caller:
    return service.caller(AuditServiceStub, "olga", "auditor")


async def in_tree(store: EventStore, count: int) -> None:
    """Wait until the checkpointer has signed the record of its keys and `count` other leaves."""
    async with asyncio.timeout(30):
        while await store.checkpoints.read_head(1 + count) is None:  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.01)


# --- access -------------------------------------------------------------------------------------


async def test_a_player_sees_no_own_match_open_as_an_auditor(
    service: Service,
) -> None:
    """Before the deal any auditor could still sit down; after it only the players are refused."""
    player, auditor = (
        service.caller(stub, "twofaced", role)
        for stub, role in ((MatchServiceStub, "player"), (AuditServiceStub, "auditor"))
    )
    settings = Settings(deck=DECK_36, seats=2, throw_in=THROW_IN_ALL)
    opened = await player.OpenTable(
        match_api.OpenTableRequest(request_id=str(uuid4()), settings=settings)
    )
    match_id = opened.view.match_id
    for method in OPEN:
        async with refused(ErrorReason.ERROR_REASON_MATCH_NOT_DEALT):
            await getattr(auditor, method)(METHODS[method](match_id=match_id))

    for who in (player, service.caller(MatchServiceStub, "anna", "player")):
        await who.TakeSeat(match_api.TakeSeatRequest(match_id=match_id, request_id=str(uuid4())))
    for method in OPEN:
        async with refused(ErrorReason.ERROR_REASON_OWN_MATCH):
            await getattr(auditor, method)(METHODS[method](match_id=match_id))
    other = service.caller(AuditServiceStub, "olga", "auditor")
    await open_match(other, match_id)
    for method in OPEN:
        await getattr(other, method)(METHODS[method](match_id=match_id))


async def test_ids_and_numbers_are_checked(auditor: Caller) -> None:
    malformed = ErrorReason.ERROR_REASON_MALFORMED_FIELD
    for method, request in METHODS.items():
        async with refused(malformed):
            await getattr(auditor, method)(request(match_id="7"))
        async with refused(ErrorReason.ERROR_REASON_MATCH_NOT_FOUND):
            usual = WITH_REASON if method == "OpenMatch" else {}
            await getattr(auditor, method)(request(match_id=str(uuid4()), **usual))
    async with refused(malformed):
        await auditor.ReadEvents(api.ReadEventsRequest(match_id=str(uuid4()), page_size=-1))
    async with refused(malformed):
        await auditor.GetStateAt(api.GetStateAtRequest(match_id=str(uuid4()), version=-1))
    async with refused(malformed):
        await auditor.GetCheckpoint(api.GetCheckpointRequest(tree_size=2**63 - 1))
    for seconds in (-1, 2**60):
        request = api.VerifyPayoutsRequest()
        request.start_time.seconds = seconds
        async with refused(malformed):
            await auditor.VerifyPayouts(request).read()


# --- reading ------------------------------------------------------------------------------------


async def test_records_come_page_by_page_as_stored(service: Service, auditor: Caller) -> None:
    played = staked_and_played()
    match_id = await store_match(service.store, played)
    stored = await service.store.read(match_id)
    found: list[api.StoredRecord] = []
    while len(found) < len(stored):
        page = await auditor.ReadEvents(
            api.ReadEventsRequest(match_id=str(match_id), after_version=len(found), page_size=20)
        )
        assert page.head_version == len(stored)
        assert 0 < len(page.records) <= 20
        found += page.records
    assert [(one.version, one.stored, one.hash) for one in found] == stored
    assert [one.record for one in found] == played.records

    request = api.ReadEventsRequest(match_id=str(match_id), after_version=3, page_size=20)
    by_token: list[api.StoredRecord] = []
    while True:
        page = await auditor.ReadEvents(request)
        by_token += page.records
        request.page_token = page.next_page_token
        if not page.next_page_token:
            break
    assert by_token == found[3:]


async def test_the_state_at_any_version_has_every_card_once(
    service: Service, auditor: Caller
) -> None:
    played = staked_and_played(deck=36)
    match_id = str(await store_match(service.store, played))
    dealt = next(r.version for r in played.records if r.event.HasField("dealt"))
    for version in {1, dealt - 1, dealt, dealt + 7, len(played.records)}:
        answer = await auditor.GetStateAt(api.GetStateAtRequest(match_id=match_id, version=version))
        state, match = answer.state, fold(played.records[:version])
        assert state.view.version == version
        assert not state.view.HasField("your_seat")
        assert [list(seat.hand) for seat in state.seats] == [
            list(cards_in(hand)) for hand in match.hands
        ]
        if version >= dealt:
            table = [
                card
                for pair in state.view.table
                for card in (pair.attack_card, pair.defence.card)
                if card
            ]
            cards = [card for seat in state.seats for card in seat.hand]
            cards += [*state.stock, *state.discarded, *table]
            assert len(cards) == 36
            assert mask_of(cards).bit_count() == 36
            assert mask_of(cards) & ~ALL_CARDS == 0
        if state.stock:
            assert state.stock[-1] == state.view.trump_card

    newest = await auditor.GetStateAt(api.GetStateAtRequest(match_id=match_id))
    assert newest.state.view.version == len(played.records)
    async with refused(ErrorReason.ERROR_REASON_VERSION_BEYOND_HEAD):
        await auditor.GetStateAt(
            api.GetStateAtRequest(match_id=match_id, version=len(played.records) + 1)
        )


# --- judging ------------------------------------------------------------------------------------


async def test_an_honest_match_is_verified_with_its_coins(
    service: Service, auditor: Caller
) -> None:
    played = staked_and_played()
    match_id = await store_match(service.store, played)
    answer = await auditor.VerifyMatch(api.VerifyMatchRequest(match_id=str(match_id)))
    report = answer.report
    assert report.ok
    assert report.ended
    assert (report.match_id, report.head_version) == (str(match_id), len(played.records))
    finished = played.records[-1].event.finished
    assert report.outcome == finished.outcome
    assert list(report.share_coins) == [one.share_coins for one in finished.results]


async def test_a_damaged_match_is_judged_but_not_folded(
    service: Service, auditor: Caller, database: Database
) -> None:
    match_id = str(await store_match(service.store, staked_and_played()))
    await execute(
        database.owner_dsn,
        "ALTER TABLE events DISABLE TRIGGER USER",
        "UPDATE events SET record = '\\xff' WHERE version = 9",
    )
    report = (await auditor.VerifyMatch(api.VerifyMatchRequest(match_id=match_id))).report
    assert not report.ok
    kinds = {(one.kind, one.version) for one in report.findings}
    assert {(api.FINDING_KIND_CHAIN, 9), (api.FINDING_KIND_UNREADABLE, 9)} <= kinds
    [unreadable] = [one for one in report.findings if one.kind == api.FINDING_KIND_UNREADABLE]
    assert unreadable.severity == api.FINDING_SEVERITY_FAULT
    page = await auditor.ReadEvents(api.ReadEventsRequest(match_id=match_id))
    assert [one.version for one in page.records if not one.HasField("record")] == [9]
    await auditor.GetStateAt(api.GetStateAtRequest(match_id=match_id, version=8))
    with pytest.raises(aio.AioRpcError) as caught:
        await auditor.GetStateAt(api.GetStateAtRequest(match_id=match_id))
    assert caught.value.code() is grpc.StatusCode.DATA_LOSS


async def verified(
    auditor: Caller, request: api.VerifyPayoutsRequest | None = None
) -> tuple[list[api.VerifyProgress], list[api.AuditReport], api.PayoutsSummary]:
    messages = [one async for one in auditor.VerifyPayouts(request or api.VerifyPayoutsRequest())]
    kinds = [one.WhichOneof("kind") for one in messages]
    assert kinds[0] == "progress"
    assert kinds.index("summary") == len(kinds) - 1
    return (
        [one.progress for one in messages if one.HasField("progress")],
        [one.faulty for one in messages if one.HasField("faulty")],
        messages[-1].summary,
    )


async def test_payouts_of_many_matches_add_up(service: Service, auditor: Caller) -> None:
    matches = [random_match(seed, stake_coins=100 * (seed % 3)) for seed in range(55)]
    for played in matches:
        await store_match(service.store, played)
    progress, faulty, summary = await verified(auditor)
    assert not faulty
    assert [(one.matches_judged, one.matches_total) for one in progress] == [
        (0, 55),
        (50, 55),
        (55, 55),
    ]
    entries = [entry for played in matches for entry in played.ledger if entry.player_id]
    staked, refunded, paid = (
        sum(abs(entry.coins) for entry in entries if entry.kind == kind) for kind in (1, 2, 3)
    )
    assert (summary.matches_judged, summary.matches_with_faults) == (55, 0)
    assert (summary.staked_coins, summary.refunded_coins, summary.paid_coins) == (
        staked,
        refunded,
        paid,
    )
    assert staked == refunded + paid
    assert summary.ledger.ok
    assert summary.ledger.escrow_coins == 0
    assert summary.ledger.issued_coins == summary.ledger.available_coins

    none = api.VerifyPayoutsRequest()
    none.start_time.GetCurrentTime()
    none.start_time.seconds += 10 * 365 * 86_400
    _, _, summary = await verified(auditor, none)
    assert summary.matches_judged == 0


async def test_changed_payouts_are_found(
    service: Service, auditor: Caller, database: Database
) -> None:
    for seed in range(200, 205):
        await store_random(service.store, seed)
    played = staked_and_played(seats=2)
    assert not any(record.event.HasField("seat_vacated") for record in played.records)
    match_id = str(await store_match(service.store, played))
    await execute(
        database.owner_dsn,
        "ALTER TABLE transfers DISABLE TRIGGER USER",
        f"UPDATE transfers SET coins = coins - 1 WHERE source_id = '{match_id}' AND kind IN (3, 5)",
    )
    _, [faulty], summary = await verified(auditor)
    assert faulty.match_id == match_id
    assert api.FINDING_KIND_PAYOUT in {one.kind for one in faulty.findings}
    assert summary.matches_with_faults == 1
    assert not summary.ledger.ok
    assert summary.ledger.wrong_accounts

    own = service.caller(AuditServiceStub, played.ledger[0].player_id, "auditor")
    _, [faulty], _ = await verified(own)
    assert faulty == api.AuditReport(match_id=match_id)


async def test_a_faulty_match_before_the_deal_is_shown_by_its_id_alone(
    service: Service, auditor: Caller, database: Database
) -> None:
    """The auditor could still sit down at it."""
    played = next(
        played
        for played in (random_match(seed, seats=6, stake_coins=0) for seed in range(50))
        if played.records[2].event.HasField("seat_taken")
    )
    match_id = str(await store_match(service.store, played, commands=2))
    await execute(
        database.owner_dsn,
        "ALTER TABLE events DISABLE TRIGGER USER",
        "UPDATE events SET hash = sha256(hash) WHERE version = 1",
    )
    _, [faulty], summary = await verified(auditor)
    assert faulty == api.AuditReport(match_id=match_id)
    assert summary.matches_with_faults == 1


async def test_a_second_verification_of_payouts_is_refused(
    service: Service, auditor: Caller
) -> None:
    for seed in range(3):
        await store_random(service.store, seed)
    first = auditor.VerifyPayouts(api.VerifyPayoutsRequest())
    await first.read()
    async with refused(ErrorReason.ERROR_REASON_OVERLOADED):
        await auditor.VerifyPayouts(api.VerifyPayoutsRequest()).read()
    first.cancel()
    async with asyncio.timeout(30):
        while await is_refused(auditor):  # noqa: ASYNC110 - the end of a call has no event
            await asyncio.sleep(0.05)
    _, _, summary = await verified(auditor)
    assert summary.matches_judged == 3


async def is_refused(auditor: Caller) -> bool:
    """Return whether a verification of many matches is refused now."""
    try:
        await verified(auditor)
    except aio.AioRpcError as error:
        return error.code() is grpc.StatusCode.UNAVAILABLE
    return False


# --- the proof ----------------------------------------------------------------------------------


async def test_an_export_is_proven_by_the_file_and_the_key_alone(
    service: Service, auditor: Caller
) -> None:
    played = staked_and_played()
    match_id = await store_match(service.store, played)
    await store_random(service.store, 205)
    await in_tree(service.store, 2)
    answer = await auditor.ExportMatch(api.ExportMatchRequest(match_id=str(match_id)))
    found = verify(answer.transcript, str(service.note_key.verifier))
    assert found.outcome is Outcome.PROVEN, found.findings
    assert found.report is not None
    assert found.report.facts.match_id == played.match_id
    assert found.checkpoint is not None
    assert found.checkpoint.size == 3


async def test_a_running_match_is_exported_without_a_proof(
    service: Service, auditor: Caller
) -> None:
    played = staked_and_played(seats=2)
    match_id = await store_match(service.store, played, commands=6)
    await open_match(auditor, str(match_id))
    answer = await auditor.ExportMatch(api.ExportMatchRequest(match_id=str(match_id)))
    found = verify(answer.transcript, str(service.note_key.verifier))
    assert found.outcome is Outcome.CONSISTENT, found.findings
    async with refused(ErrorReason.ERROR_REASON_NOT_IN_CHECKPOINT):
        await auditor.GetInclusionProof(api.GetInclusionProofRequest(match_id=str(match_id)))


async def test_any_two_checkpoints_are_consistent(service: Service, auditor: Caller) -> None:
    ids: list[UUID] = []
    for seed in range(4):
        ids.append(await store_random(service.store, seed))
        await in_tree(service.store, seed + 1)
    key = service.note_key.verifier
    heads = {}
    for size in range(1, 6):
        answer = await auditor.GetCheckpoint(api.GetCheckpointRequest(tree_size=size))
        heads[size] = checkpoint.verify_checkpoint(answer.checkpoint, key)
        assert heads[size].size == size
        assert answer.HasField("sign_time")
    for old in heads.values():
        answer = await auditor.GetCheckpoint(api.GetCheckpointRequest(since_tree_size=old.size))
        new = checkpoint.verify_checkpoint(answer.checkpoint, key)
        assert new == heads[5]
        hashes = list(answer.consistency_hashes)
        assert merkle.verify_consistency(old.size, new.size, hashes, old.root, new.root)

    stored = await service.store.read(ids[1])
    for size in (3, 4, 5):
        proof = await auditor.GetInclusionProof(
            api.GetInclusionProofRequest(match_id=str(ids[1]), tree_size=size)
        )
        assert (proof.last_version, proof.head_hash) == (len(stored), stored[-1].hash)
        leaf = merkle.leaf_hash(
            merkle.stream_leaf(merkle.MATCH_LEAF, ids[1].bytes, len(stored), stored[-1].hash)
        )
        place, hashes = proof.inclusion, list(proof.inclusion.hashes)
        root = checkpoint.verify_checkpoint(proof.checkpoint, key).root
        assert place.tree_size == size
        assert merkle.verify_inclusion(leaf, place.leaf_index, size, hashes, root)

    async with refused(ErrorReason.ERROR_REASON_NOT_IN_CHECKPOINT):
        await auditor.GetInclusionProof(
            api.GetInclusionProofRequest(match_id=str(ids[1]), tree_size=1)
        )
    for request in (
        api.GetCheckpointRequest(tree_size=99),
        api.GetCheckpointRequest(since_tree_size=6),
    ):
        async with refused(ErrorReason.ERROR_REASON_CHECKPOINT_NOT_FOUND):
            await auditor.GetCheckpoint(request)


async def test_each_grown_head_of_a_dispute_is_a_leaf(service: Service, auditor: Caller) -> None:
    await store_random(service.store, 1)
    await in_tree(service.store, 1)
    dispute, key = StoredDispute(service.store), service.note_key.verifier
    links = []
    for count, record in ((2, b"opened"), (3, b"ruled")):
        await dispute.add(record)
        await in_tree(service.store, count)
        links.append(dispute.link)
    dispute_id = str(dispute.dispute_id)
    newest = api.GetInclusionProofRequest(dispute_id=dispute_id)
    older = api.GetInclusionProofRequest(dispute_id=dispute_id, tree_size=3)
    for version, request in ((1, older), (2, newest)):
        proof = await auditor.GetInclusionProof(request)
        assert (proof.last_version, proof.head_hash) == (version, links[version - 1])
        leaf = merkle.stream_leaf(
            merkle.DISPUTE_LEAF, dispute.dispute_id.bytes, version, links[version - 1]
        )
        head = checkpoint.verify_checkpoint(proof.checkpoint, key)
        place, hashes = proof.inclusion, list(proof.inclusion.hashes)
        at = place.leaf_index, head.size, hashes, head.root
        assert merkle.verify_inclusion(merkle.leaf_hash(leaf), *at)
    async with refused(ErrorReason.ERROR_REASON_NOT_IN_CHECKPOINT):
        request = api.GetInclusionProofRequest(dispute_id=dispute_id, tree_size=1)
        await auditor.GetInclusionProof(request)
    async with refused(ErrorReason.ERROR_REASON_DISPUTE_NOT_FOUND):
        request = api.GetInclusionProofRequest(dispute_id=str(uuid4()))
        await auditor.GetInclusionProof(request)
    async with refused(ErrorReason.ERROR_REASON_MALFORMED_FIELD):
        both = api.GetInclusionProofRequest(dispute_id=dispute_id, match_id=dispute_id)
        await auditor.GetInclusionProof(both)
