"""The corrections of all disputes about a match stay within its bank, and are on record."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from grpc import aio

from durak.v1 import dispute_service_pb2 as api
from durak.v1.administration_pb2 import AdministrativeRecord
from service.render.dispute import dispute_lines
from service.render.texts import translator
from tests.service.disputes.court import (
    LOSER,
    REASON,
    UPHELD,
    Court,
    court,
    service,
    swap,
)
from tests.service.playing import reason_of, refused
from tests.service.serving import Caller

__all__ = ["court", "service"]


async def payout_ruled(court: Court, who: Caller, coins: int) -> api.Dispute:
    """Return a dispute about the payout, ruled with a correction of this size."""
    dispute = await court.open(who, payout=api.PayoutComplaint())
    return await court.rule(dispute, ruling=api.RULING_UPHELD, corrections=swap(coins))


async def test_the_second_dispute_about_a_payout_sees_the_first(court: Court) -> None:
    """T12: the evidence shows earlier corrections, and all together stay within the bank."""
    first = await payout_ruled(court, court.loser, 150)
    approved = await court.decide(first)
    second = await court.open(court.winner, payout=api.PayoutComplaint())
    found = await court.get(court.auditor, second)
    assert list(found.evidence.corrected) == [approved]
    shown = "\n".join(dispute_lines(found, translator("en")))
    assert f"Corrected before\n  {first.dispute_id}: coins {LOSER} +150" in shown
    assert not (await court.get(court.auditor, first)).evidence.corrected

    over = {"ruling": api.RULING_UPHELD, "corrections": swap(51)}  # the bank has 200 coins
    async with refused(REASON.ERROR_REASON_CORRECTION_OVER_BANK):
        await court.rule(second, **over)
    ruled = await court.rule(second, ruling=api.RULING_UPHELD, corrections=swap(50))
    assert (await court.decide(ruled)).status == UPHELD


async def test_two_rulings_made_before_either_is_approved_stay_within_the_bank(
    court: Court,
) -> None:
    """T12: the cap holds when two operators approve at the same time."""
    rulings = [await payout_ruled(court, who, 101) for who in (court.loser, court.winner)]
    operators = [court.caller(name, "operator") for name in ("otto", "oskar")]
    done = await asyncio.gather(
        *(court.decide(*pair) for pair in zip(rulings, operators, strict=True)),
        return_exceptions=True,
    )
    refusals = [one for one in done if isinstance(one, aio.AioRpcError)]
    assert [reason_of(one) for one in refusals] == [REASON.ERROR_REASON_CORRECTION_OVER_BANK]
    stored = await court.service.store.administration.read()
    assert len(stored) == 2  # the first signing keys, and one approval
    assert (await court.service.store.ledger.check()).holds


async def test_an_approval_is_on_record_with_its_reason(court: Court) -> None:
    ruled = await payout_ruled(court, court.loser, 30)
    request_id = str(uuid4())
    for _ in range(2):
        await court.decide(ruled, request_id=request_id, reason="the log shows it")
    _, stored = await court.service.store.administration.read()  # after the first signing keys
    act = AdministrativeRecord.FromString(stored.record)
    assert (act.actor_id, act.reason) == ("otto", "the log shows it")
    approved = act.event.correction_approved
    assert (approved.dispute_id, approved.coins) == (ruled.dispute_id, 30)
    assert approved.match_id == court.match_id
