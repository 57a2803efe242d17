"""DisputeService over the wire, from a complaint to a ruling."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from grpc import aio

from domain.audit import audit
from durak.v1 import dispute_service_pb2 as api
from durak.v1.audit_service_pb2 import FindingKind
from durak.v1.transcript_pb2 import LEDGER_ENTRY_KIND_PAYOUT
from durak.v1.wallet_service_pb2 import (
    TRANSFER_KIND_CORRECTION_IN,
    TRANSFER_KIND_CORRECTION_OUT,
    ListTransfersRequest,
)
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from eventstore import next_hash
from eventstore.checkpoints import LeafKind
from eventstore.disputes import first_dispute_hash
from service.audit.ledger_check import ledger_state
from service.judging.judge import judge
from service.render.audit import ledger_lines
from tests.conftest import Database, execute
from tests.domain.audit.audit_matches import random_match
from tests.service.disputes.court import (
    DECLINED,
    LOSER,
    OPEN,
    PLAYED,
    REASON,
    REJECTED,
    UPHELD,
    WAITING,
    WINNER,
    Court,
    court,
    players_of,
    seals_of,
    service,
    swap,
)
from tests.service.playing import reason_of, refused
from tests.service.serving import Caller, Service, serving
from tests.service.stored_matches import store_match

__all__ = ["court", "service"]


# --- from a complaint to a ruling -----------------------------------------------------------------


async def test_a_complaint_is_rejected(court: Court) -> None:
    dispute = await court.open(version=9)
    assert (dispute.status, dispute.opened_by, dispute.version) == (OPEN, LOSER, 1)
    assert dispute.complaint.version == 9
    ruled = await court.rule(dispute, expected_version=1)
    assert (ruled.status, ruled.ruled_by) == (REJECTED, "olga")
    assert ruled.ruled.reason == "it was legal"

    seen = await court.get(court.loser, dispute)
    assert seen.dispute == ruled
    assert not seen.HasField("evidence")
    assert [(one.version, one.actor_id, one.event.WhichOneof("kind")) for one in seen.records] == [
        (1, LOSER, "opened"),
        (2, "olga", "ruled"),
    ]


async def test_coins_are_corrected_by_an_auditor_and_an_operator(court: Court) -> None:
    before = await court.coins(LOSER), await court.coins(WINNER)
    dispute = await court.open(payout=api.PayoutComplaint())
    ruled = await court.rule(dispute, ruling=api.RULING_UPHELD, corrections=swap(70))
    assert ruled.status == WAITING
    assert (await court.coins(LOSER), await court.coins(WINNER)) == before

    declined = await court.decide(ruled, decision=DECLINED, reason="not so much")
    assert (declined.status, declined.HasField("ruled")) == (OPEN, False)
    ruled = await court.rule(dispute, ruling=api.RULING_UPHELD, corrections=swap(30))
    done = await court.decide(ruled)
    assert done.status == UPHELD
    after = await court.coins(LOSER), await court.coins(WINNER)
    assert after == (before[0] + 30, before[1] - 30)
    assert (await court.service.store.ledger.check()).holds

    records = (await court.get(court.operator, dispute)).records
    assert [one.actor_id for one in records] == [LOSER, "olga", "otto", "olga", "otto"]
    for player, kind in (
        (LOSER, TRANSFER_KIND_CORRECTION_IN),
        (WINNER, TRANSFER_KIND_CORRECTION_OUT),
    ):
        wallet = court.service.caller(WalletServiceStub, player, "player")
        newest = (await wallet.ListTransfers(ListTransfersRequest())).transfers[0]
        assert (newest.kind, newest.coins, newest.version) == (kind, 30, 5)
        assert (newest.dispute_id, newest.match_id) == (dispute.dispute_id, "")


async def test_a_correction_does_not_change_the_audit_of_the_match(court: Court) -> None:
    dispute = await court.open(payout=api.PayoutComplaint())
    await court.decide(await court.rule(dispute, ruling=api.RULING_UPHELD, corrections=swap(1)))
    [match] = await court.service.store.whole_matches.read([UUID(court.match_id)])
    report = judge(match).report
    assert report.ok, report.findings


async def test_a_correction_needs_enough_coins(court: Court, database: Database) -> None:
    dispute = await court.open(payout=api.PayoutComplaint())
    ruled = await court.rule(dispute, ruling=api.RULING_UPHELD, corrections=swap(200))
    poor = f"UPDATE accounts SET available_coins = 199 WHERE player = '{WINNER}'"
    await execute(database.owner_dsn, poor)
    async with refused(REASON.ERROR_REASON_CORRECTION_NOT_COVERED):
        await court.decide(ruled)
    assert (await court.get(court.operator, dispute)).dispute.status == WAITING
    assert (await court.decide(ruled, decision=DECLINED)).status == OPEN


@pytest.mark.parametrize(
    "changes",
    [
        ["UPDATE transfers SET coins = 31 WHERE kind IN (6, 7)"],
        ["DELETE FROM transfers WHERE kind IN (6, 7)"],
        ["UPDATE transfers SET source_id = gen_random_uuid() WHERE kind IN (6, 7)"],
        ["UPDATE dispute_events SET record = record || '\\x00'"],
    ],
)
async def test_the_ledger_check_compares_corrections_with_rulings(
    court: Court, database: Database, changes: list[str]
) -> None:
    dispute = await court.open(payout=api.PayoutComplaint())
    other = await court.open(version=9)
    await court.rule(other)
    ruled = await court.rule(dispute, ruling=api.RULING_UPHELD, corrections=swap(30))
    await court.decide(ruled)
    state = await ledger_state(court.service.store, seals_of(court.service))
    assert state.ok
    assert not state.wrong_matches
    assert not state.wrong_corrections

    tables = ("transfers", "dispute_events")
    disabled = [f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in tables]
    await execute(database.owner_dsn, *disabled, *changes)
    state = await ledger_state(court.service.store, seals_of(court.service))
    assert not state.ok
    assert dispute.dispute_id in state.wrong_corrections
    assert other.dispute_id not in state.wrong_corrections or "dispute_events" in changes[0]


# --- evidence -------------------------------------------------------------------------------------


async def test_an_auditor_gets_all_evidence_in_one_call(court: Court) -> None:
    version = next(record.version for record in PLAYED.records if record.event.HasField("defended"))
    dispute = await court.open(version=version)
    evidence = (await court.get(court.auditor, dispute)).evidence
    assert evidence.before.view.version == version - 1
    assert evidence.after.view.version == version
    hand = {seat.seat: set(seat.hand) for seat in evidence.before.seats}
    played = PLAYED.records[version - 1].event.defended
    assert played.card in hand[played.seat]
    assert evidence.records[0].record == PLAYED.records[version - 1]
    assert evidence.verdict.ok
    assert list(evidence.verdict.clauses) == ["R1.3", "R4.2"]
    assert evidence.report.ok
    assert evidence.report.match_id == court.match_id
    assert sum(entry.coins for entry in evidence.ledger) == 0
    assert len(evidence.ledger) == len(PLAYED.ledger)


async def test_the_evidence_names_the_clause_that_a_forged_record_breaks(
    court: Court, database: Database
) -> None:
    """A change in the database makes a defence use a card of another hand."""
    record = next(one for one in PLAYED.records if one.event.HasField("defended"))
    forged = type(record)()
    forged.CopyFrom(record)
    held = {record.event.defended.card, record.event.defended.attack_card}
    forged.event.defended.card = next(card for card in range(1, 53) if card not in held)  # type: ignore[assignment] # any other card
    await execute(
        database.owner_dsn,
        "ALTER TABLE events DISABLE TRIGGER USER",
        f"UPDATE events SET record = '\\x{forged.SerializeToString().hex()}' "
        f"WHERE stream_id = '{court.match_id}' AND version = {record.version}",
    )
    dispute = await court.open(version=record.version)
    evidence = (await court.get(court.auditor, dispute)).evidence
    assert not evidence.verdict.ok
    found = {finding.kind for finding in evidence.verdict.findings}
    assert FindingKind.FINDING_KIND_CHAIN in found
    assert found & {FindingKind.FINDING_KIND_CARD_NOT_HELD, FindingKind.FINDING_KIND_BEAT}
    assert evidence.before.view.version == record.version - 1
    assert not evidence.HasField("after")  # no table follows from it


async def test_the_evidence_of_a_payout_is_the_final_state_and_the_coins(
    court: Court, database: Database
) -> None:
    await execute(
        database.owner_dsn,
        "ALTER TABLE transfers DISABLE TRIGGER USER",
        f"UPDATE transfers SET coins = coins - 40 WHERE source_id = '{court.match_id}' "
        "AND kind = 5",
    )
    dispute = await court.open(court.winner, payout=api.PayoutComplaint())
    evidence = (await court.get(court.auditor, dispute)).evidence
    assert evidence.after.view.version == len(PLAYED.records)
    assert not evidence.verdict.ok
    assert "R12.3" in evidence.verdict.clauses
    kinds = {finding.kind for finding in evidence.verdict.findings}
    assert {FindingKind.FINDING_KIND_PAYOUT, FindingKind.FINDING_KIND_ESCROW} <= kinds
    [payout] = [
        entry
        for entry in evidence.ledger
        if entry.kind == LEDGER_ENTRY_KIND_PAYOUT and entry.player_id
    ]
    assert (payout.player_id, payout.coins) == (WINNER, 160)


async def test_an_illegal_play_at_a_tricky_table_is_marked(service: Service) -> None:
    played = next(
        played
        for played in (random_match(seed, tricky=1) for seed in range(300))
        if audit(played.stored).cheats and players_of(played)
    )
    court = Court(service, await store_match(service.store, played))
    cheat = audit(played.stored).cheats[0]
    dispute = await court.open(court.caller(players_of(played)[0], "player"), version=cheat.version)
    verdict = (await court.get(court.auditor, dispute)).evidence.verdict
    assert verdict.ok
    assert verdict.illegal_play
    assert list(verdict.clauses) == [cheat.clause, "R11.1"]


# --- access ---------------------------------------------------------------------------------------


async def test_each_call_needs_its_role(court: Court) -> None:
    dispute = await court.open()
    denied = REASON.ERROR_REASON_ROLE_REQUIRED
    for who in (court.auditor, court.operator, court.caller(LOSER, "player", "auditor")):
        async with refused(denied):
            await court.open(who)
    for who in (court.loser, court.operator):
        async with refused(denied):
            await who.RuleOnDispute(api.RuleOnDisputeRequest(dispute_id=dispute.dispute_id))
    for who in (court.loser, court.auditor):
        async with refused(denied):
            await court.decide(dispute, who)


async def test_a_player_sees_only_own_disputes_and_no_evidence(court: Court) -> None:
    dispute = await court.open()
    for who in (court.winner, court.caller("clara", "player")):
        async with refused(REASON.ERROR_REASON_DISPUTE_NOT_FOUND):
            await court.get(who, dispute)
    async with refused(REASON.ERROR_REASON_DISPUTE_NOT_FOUND):
        await court.get(court.auditor, api.Dispute(dispute_id=str(uuid4())))
    assert not (await court.get(court.operator, dispute)).HasField("evidence")


async def test_a_player_of_the_match_sees_no_evidence_and_decides_nothing(court: Court) -> None:
    dispute = await court.open()
    own = REASON.ERROR_REASON_OWN_MATCH
    auditor = court.caller(WINNER, "auditor")
    async with refused(own):
        await court.get(auditor, dispute)
    court.auditor, honest = auditor, court.auditor
    async with refused(own):
        await court.rule(dispute)
    court.auditor = honest
    ruled = await court.rule(dispute, ruling=api.RULING_UPHELD, corrections=swap(1))
    async with refused(own):
        await court.decide(ruled, court.caller(LOSER, "operator"))
    async with refused(REASON.ERROR_REASON_OWN_RULING):
        await court.decide(ruled, court.caller("olga", "operator"))


async def test_an_opening_is_refused_with_its_reason(court: Court) -> None:
    for fields, reason in (
        ({"version": 10_000}, REASON.ERROR_REASON_VERSION_BEYOND_HEAD),
        ({"match_id": str(uuid4())}, REASON.ERROR_REASON_MATCH_NOT_FOUND),
        ({"version": 0}, REASON.ERROR_REASON_MALFORMED_FIELD),
        ({"reason": " "}, REASON.ERROR_REASON_MALFORMED_FIELD),
        ({"reason": "x" * 2001}, REASON.ERROR_REASON_MALFORMED_FIELD),
        ({"match_id": "x"}, REASON.ERROR_REASON_MALFORMED_FIELD),
    ):
        async with refused(reason):
            await court.open(**fields)
    async with refused(REASON.ERROR_REASON_NOT_SEATED):
        await court.open(court.caller("clara", "player"))
    for _ in range(3):
        await court.open()
    async with refused(REASON.ERROR_REASON_TOO_MANY_DISPUTES):
        await court.open()
    await court.open(court.winner)


async def test_parallel_openings_respect_the_quota(court: Court) -> None:
    done = await asyncio.gather(*(court.open() for _ in range(20)), return_exceptions=True)
    opened = [one for one in done if isinstance(one, api.Dispute)]
    refusals = {reason_of(one) for one in done if isinstance(one, aio.AioRpcError)}
    assert len(opened) == 3
    assert refusals == {REASON.ERROR_REASON_TOO_MANY_DISPUTES}


async def test_a_dispute_after_the_window_is_refused(database: Database, tmp_path: Path) -> None:
    async with serving(database, tmp_path, dispute_window_seconds=1) as service:
        court = Court(service, await store_match(service.store, PLAYED))
        async with refused(REASON.ERROR_REASON_DISPUTE_TOO_LATE):
            await court.open()


# --- idempotency and conflicts --------------------------------------------------------------------


async def test_a_repeated_request_is_performed_once(court: Court) -> None:
    request_id = str(uuid4())
    dispute = await court.open(request_id=request_id)
    assert await court.open(request_id=request_id) == dispute
    ruling: dict[str, Any] = {
        "request_id": str(uuid4()),
        "ruling": api.RULING_UPHELD,
        "corrections": swap(5),
    }
    ruled = await court.rule(dispute, **ruling)
    assert await court.rule(dispute, **ruling) == ruled
    before = await court.coins(LOSER)
    decision: dict[str, Any] = {"request_id": str(uuid4())}
    done = await court.decide(ruled, **decision)
    assert await court.decide(ruled, **decision) == done
    assert await court.coins(LOSER) == before + 5

    reused = REASON.ERROR_REASON_REQUEST_ID_REUSED
    async with refused(reused):
        await court.open(request_id=request_id, reason="something else")
    async with refused(reused):
        await court.rule(dispute, **{**ruling, "corrections": swap(6)})
    async with refused(reused):
        await court.decide(ruled, reason="something else", **decision)
    assert await court.open(request_id=request_id) == dispute  # the state after the request


async def test_one_of_many_parallel_rulings_succeeds(court: Court) -> None:
    dispute = await court.open()
    done = await asyncio.gather(
        *(court.rule(dispute, reason=f"ruling {number}") for number in range(6)),
        return_exceptions=True,
    )
    ruled = [one for one in done if isinstance(one, api.Dispute)]
    assert len(ruled) == 1
    errors = [one for one in done if isinstance(one, aio.AioRpcError)]
    assert {reason_of(one) for one in errors} == {REASON.ERROR_REASON_DISPUTE_NOT_OPEN}
    assert len(errors) == 5
    assert (await court.get(court.loser, dispute)).dispute == ruled[0]


async def test_O19_the_details_of_a_refusal_are_short_however_many_faults_there_are(
    court: Court,
) -> None:
    dispute = await court.open(payout=api.PayoutComplaint())
    wrong = [api.Correction() for _ in range(1_000)]
    with pytest.raises(aio.AioRpcError) as caught:
        await court.rule(dispute, ruling=api.RULING_UPHELD, corrections=wrong)
    assert reason_of(caught.value) == REASON.ERROR_REASON_MALFORMED_FIELD
    trailers = caught.value.trailing_metadata() or ()
    assert sum(len(key) + len(value) for key, value in trailers) < 6_000
    assert (await court.get(court.auditor, dispute)).dispute.status == OPEN


async def test_a_ruling_on_another_version_is_stale(court: Court) -> None:
    dispute = await court.open()
    async with refused(REASON.ERROR_REASON_STALE_VERSION):
        await court.rule(dispute, expected_version=2)


async def test_a_changed_stream_is_reported_as_corrupt(court: Court, database: Database) -> None:
    dispute = await court.open()
    await execute(
        database.owner_dsn,
        "ALTER TABLE dispute_events DISABLE TRIGGER USER",
        "UPDATE dispute_events SET record = record || '\\x00'",
    )
    async with refused(REASON.ERROR_REASON_LOG_CORRUPT):
        await court.get(court.auditor, dispute)


async def test_a_complaint_that_was_rewritten_after_it_was_signed_is_named(
    court: Court, database: Database
) -> None:
    """The owner of the database changes the reason and chains the record again."""
    store, seals = court.service.store, seals_of(court.service)
    dispute = await court.open()
    dispute_id = UUID(dispute.dispute_id)
    async with asyncio.timeout(30):
        while not await seals.read(LeafKind.DISPUTE, [dispute_id]):  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.01)
    assert (await ledger_state(store, seals)).ok
    await court.open()  # another one, which stays as it is
    [stored] = await store.disputes.read(dispute_id)
    record = api.DisputeRecord.FromString(stored.record)
    record.event.opened.reason = "nothing happened"
    other = record.SerializeToString()
    link = next_hash(first_dispute_hash(dispute_id), other)
    await execute(
        database.owner_dsn,
        "ALTER TABLE dispute_events DISABLE TRIGGER USER",
        f"UPDATE dispute_events SET record = '\\x{other.hex()}', hash = '\\x{link.hex()}' "
        f"WHERE dispute_id = '{dispute_id}'",
    )
    assert (await store.disputes.read(dispute_id))[0].record == other
    state = await ledger_state(store, seals)
    assert not state.ok
    assert list(state.wrong_disputes) == [dispute.dispute_id]
    [line] = ledger_lines(state)
    assert dispute.dispute_id in line

    gone = f"DELETE FROM dispute_events WHERE dispute_id = '{dispute_id}'"
    await execute(database.owner_dsn, gone)
    state = await ledger_state(store, seals)
    assert list(state.wrong_disputes) == [dispute.dispute_id]  # only its leaf is left


# --- lists ----------------------------------------------------------------------------------------


async def listed(who: Caller, **filters: Any) -> list[str]:
    """Return the ids of a list, read in pages of two."""
    found: list[str] = []
    token = ""
    while True:
        request = api.ListDisputesRequest(page_size=2, page_token=token, **filters)
        page = await who.ListDisputes(request)
        found += [dispute.dispute_id for dispute in page.disputes]
        token = page.next_page_token
        if not token:
            return found


async def test_disputes_are_listed_by_every_filter(court: Court) -> None:
    mine = [await court.open() for _ in range(3)]
    theirs = [await court.open(court.winner) for _ in range(2)]
    await court.rule(mine[1])
    waiting = await court.rule(theirs[0], ruling=api.RULING_UPHELD, corrections=swap(1))
    ids = [dispute.dispute_id for dispute in (*mine, *theirs)]

    for who in (court.auditor, court.operator):
        assert await listed(who) == ids[::-1]
        assert await listed(who, match_id=court.match_id) == ids[::-1]
        assert await listed(who, match_id=str(uuid4())) == []
        assert await listed(who, opened_by=WINNER) == ids[:2:-1]
        assert await listed(who, status=REJECTED) == [ids[1]]
        assert await listed(who, status=WAITING) == [waiting.dispute_id]
        assert await listed(who, status=OPEN, opened_by=LOSER) == [ids[2], ids[0]]
    assert await listed(court.loser) == ids[2::-1]
    assert await listed(court.loser, opened_by=WINNER) == ids[2::-1]
    assert await listed(court.caller("clara", "player")) == []

    page = await court.auditor.ListDisputes(api.ListDisputesRequest(page_size=2))
    async with refused(REASON.ERROR_REASON_PAGE_TOKEN_INVALID):
        await court.auditor.ListDisputes(
            api.ListDisputesRequest(page_token=page.next_page_token, status=OPEN)
        )
