"""News of disputes and grants, of the whole service."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from durak.v1 import dispute_service_pb2 as disputes
from durak.v1.wallet_service_pb2 import GrantCoinsRequest, TransferKind
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from tests.service.disputes.court import (
    LOSER,
    OPEN,
    UPHELD,
    WAITING,
    WINNER,
    Court,
    court,
    service,
    swap,
)
from tests.service.feeds.reading import Device, Reader, reading
from tests.service.playing import until

__all__ = ["court", "service"]


def reader_of(court: Court, player_id: str, position: str = "") -> Reader:
    service = court.service
    return Reader(Device(service.channel, service.metadata(player_id, "player")), position)


async def test_both_players_learn_of_a_dispute_its_ruling_and_its_coins(court: Court) -> None:
    async with (
        reading(reader_of(court, WINNER)) as winner,
        reading(reader_of(court, LOSER)) as loser,
        reading(reader_of(court, "somebody")) as other,
    ):
        dispute = await court.open(payout=disputes.PayoutComplaint())
        ruled = await court.rule(dispute, ruling=disputes.RULING_UPHELD, corrections=swap(30))
        await court.decide(ruled)
        await until(lambda: all(len(it.of_kind("dispute")) == 3 for it in (winner, loser)))
        await until(lambda: all(it.of_kind("coins_moved") for it in (winner, loser)))
    for feed, kind in (
        (winner, TransferKind.TRANSFER_KIND_CORRECTION_OUT),
        (loser, TransferKind.TRANSFER_KIND_CORRECTION_IN),
    ):
        seen = feed.of_kind("dispute")
        assert [one.status for one in seen] == [OPEN, WAITING, UPHELD]
        assert [one.version for one in seen] == [1, 2, 3]
        assert {(one.dispute_id, one.match_id) for one in seen} == {
            (dispute.dispute_id, court.match_id)
        }
        [moved] = feed.of_kind("coins_moved")
        assert (moved.kind, moved.coins, moved.dispute_id) == (kind, 30, dispute.dispute_id)
        assert b"I had that card" not in b"".join(one.SerializeToString() for one in feed.news)
    assert other.news == []


async def test_a_grant_reaches_the_open_feed(court: Court) -> None:
    operator = court.service.caller(WalletServiceStub, "otto", "operator")
    async with reading(reader_of(court, "carl")) as feed:
        grants = [
            GrantCoinsRequest(request_id=str(uuid4()), player_id="carl", coins=5, reason="a prize")
            for _ in range(3)
        ]
        await asyncio.gather(*map(operator.GrantCoins, grants))
        await until(lambda: len(feed.of_kind("coins_moved")) == 4)
    kinds = [one.kind for one in feed.of_kind("coins_moved")]
    assert kinds == [TransferKind.TRANSFER_KIND_OPENING, *[TransferKind.TRANSFER_KIND_GRANT] * 3]
    assert [one.number for one in feed.of_kind("coins_moved")] == [1, 2, 3, 4]
