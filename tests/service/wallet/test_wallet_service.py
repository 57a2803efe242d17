"""WalletService: balances and transfers of players, and grants by operators."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from google.rpc import error_details_pb2
from grpc import aio

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2, wallet_service_pb2
from durak.v1 import wallet_service_pb2 as api
from durak.v1.administration_pb2 import AdministrativeRecord
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from eventstore.administration import FIRST_ADMINISTRATION_HASH
from service.stored_records import read_chain
from tests.service.frame import answer_of
from tests.service.matches.test_coin_moves import staked
from tests.service.playing import DEADLINE_S, KEY, Playing, Replica, new_id, playing, refused

__all__ = ["playing"]

KINDS = api.TransferKind


class Wallet:
    """A caller of the service with some roles."""

    def __init__(self, channel: aio.Channel, name: str, *roles: str) -> None:
        token = KEY.mint(
            name, roles=roles or ("player",), issuer="durak", audience="durak", lifetime_seconds=600
        )
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._stub = WalletServiceStub(channel)

    async def call(self, method: str, request: Any) -> Any:
        call = getattr(self._stub, method)
        return await call(request, metadata=self._metadata, timeout=DEADLINE_S)

    async def balance(self) -> tuple[int, int]:
        balance = (await self.call("GetBalance", api.GetBalanceRequest())).balance
        return balance.available_coins, balance.escrow_coins

    async def transfers(self, **fields: Any) -> api.ListTransfersResponse:
        answer = await self.call("ListTransfers", api.ListTransfersRequest(**fields))
        assert isinstance(answer, api.ListTransfersResponse)
        return answer

    async def grant(self, **fields: Any) -> tuple[int, int]:
        usual = {"request_id": new_id(), "player_id": "ann", "coins": 70, "reason": "a prize"}
        fields = {**usual, **fields}
        balance = (await self.call("GrantCoins", api.GrantCoinsRequest(**fields))).balance
        return balance.available_coins, balance.escrow_coins


async def wallet(playing: Playing, replica: Replica, name: str, *roles: str) -> Wallet:
    channel = aio.insecure_channel(replica.address)
    playing.stack.push_async_callback(channel.close)
    return Wallet(channel, name, *roles)


async def test_every_player_starts_with_the_opening_balance(playing: Playing) -> None:
    replica = await playing.replica(opening_balance_coins=250)
    ann, bob = [await wallet(playing, replica, name) for name in ("ann", "bob")]
    assert await asyncio.gather(*(ann.balance() for _ in range(5))) == [(250, 0)] * 5
    (opening,) = (await bob.transfers()).transfers
    assert (opening.number, opening.kind, opening.coins) == (1, KINDS.TRANSFER_KIND_OPENING, 250)
    assert (opening.available_after_coins, opening.match_id, opening.version) == (250, "", 0)
    assert (await replica.store.ledger.check()).issued == 500


async def test_R12_1_the_opening_balance_can_be_0(playing: Playing) -> None:
    replica = await playing.replica(opening_balance_coins=0)
    ann = await wallet(playing, replica, "ann")
    assert await ann.balance() == (0, 0)
    assert list((await ann.transfers()).transfers) == []


async def test_the_transfers_of_a_player_show_every_movement_of_coins(playing: Playing) -> None:
    replica = await playing.replica()
    players = [await playing.player(replica, name) for name in ("ann", "bob")]
    ann = await wallet(playing, replica, "ann")
    match_id = (await players[0].open(staked())).match_id
    leave = match_service_pb2.LeaveMatchRequest(match_id=match_id, request_id=new_id())
    await players[0].sit(match_id)
    await players[0].call("LeaveMatch", leave)
    await players[0].sit(match_id)
    assert await ann.balance() == (900, 100)
    await players[1].sit(match_id)
    leave.request_id = new_id()
    await players[1].call("LeaveMatch", leave)

    shown = [
        (one.number, KINDS.Name(one.kind)[14:], one.coins, one.available_after_coins, one.version)
        for one in (await ann.transfers()).transfers
    ]
    # Versions: opened, taken, vacated, taken, taken and dealt, left and finished.
    assert shown == [
        (6, "PAYOUT", 200, 1100, 8),
        (5, "POST", 100, 900, 8),
        (4, "STAKE", 100, 900, 4),
        (3, "REFUND", 100, 1000, 3),
        (2, "STAKE", 100, 900, 2),
        (1, "OPENING", 1000, 1000, 0),
    ]
    of_match = [one.match_id for one in (await ann.transfers()).transfers]
    assert of_match == [match_id] * 5 + [""]
    assert await ann.balance() == (1100, 0)


async def test_transfers_come_in_pages(playing: Playing) -> None:
    replica = await playing.replica()
    operator = await wallet(playing, replica, "root", "operator")
    for coins in range(1, 7):
        await operator.grant(coins=coins)
    ann, bob = [await wallet(playing, replica, name) for name in ("ann", "bob")]
    numbers, token = [], ""
    while True:
        page = await ann.transfers(page_size=3, page_token=token)
        numbers.append([one.number for one in page.transfers])
        token = page.next_page_token
        if not token:
            break
    assert numbers == [[7, 6, 5], [4, 3, 2], [1]]
    first = await ann.transfers(page_size=1)
    for who, stale in ((bob, first.next_page_token), (ann, "AAAA"), (ann, "?")):
        async with refused(reasons.ERROR_REASON_PAGE_TOKEN_INVALID):
            await who.transfers(page_token=stale)
    async with refused(reasons.ERROR_REASON_MALFORMED_FIELD):
        await ann.transfers(page_size=-1)


async def test_a_grant_takes_effect_once_and_is_added_to_the_opening_balance(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    root, rita = [await wallet(playing, replica, name, "operator") for name in ("root", "rita")]
    request_id = new_id()
    assert (
        await asyncio.gather(*(root.grant(request_id=request_id) for _ in range(4)))
        == [(1070, 0)] * 4
    )
    for changed in ({"coins": 71}, {"player_id": "bob"}, {"reason": "another prize"}):
        async with refused(reasons.ERROR_REASON_REQUEST_ID_REUSED):
            await root.grant(request_id=request_id, **changed)
    assert await rita.grant(request_id=request_id) == (
        1140,
        0,
    )  # request ids belong to their operator
    ann = await wallet(playing, replica, "ann")
    kinds = [KINDS.Name(one.kind)[14:] for one in (await ann.transfers()).transfers]
    assert kinds == ["GRANT", "GRANT", "OPENING"]
    # Bob has his opening balance without the refused grant.
    check = await replica.store.ledger.check()
    assert (check.holds, check.issued) == (True, 1140 + 1000)


@pytest.mark.parametrize(
    ("fault", "path"),
    [
        ({"request_id": "7"}, "request_id"),
        ({"request_id": ""}, "request_id"),
        ({"player_id": ""}, "player_id"),
        ({"player_id": "a b"}, "player_id"),
        ({"player_id": "a" * 256}, "player_id"),
        ({"coins": 0}, "coins"),
        ({"coins": 501}, "coins"),
        ({"coins": 2**63 - 1}, "coins"),
        ({"reason": ""}, "reason"),
        ({"reason": " \n"}, "reason"),
        ({"reason": "x" * 2001}, "reason"),
    ],
)
async def test_a_malformed_grant_is_refused(
    playing: Playing, fault: dict[str, Any], path: str
) -> None:
    replica = await playing.replica(grant_coins_max=500)
    root = await wallet(playing, replica, "root", "operator")
    with pytest.raises(aio.AioRpcError) as caught:
        await root.grant(**fault)
    answer = answer_of(caught.value)
    assert answer.reason == "MALFORMED_FIELD"
    (bad,) = (one for one in answer.details if isinstance(one, error_details_pb2.BadRequest))
    assert [one.field for one in bad.field_violations] == [path]
    assert (await replica.store.ledger.check()).issued == 0
    await root.grant(coins=500)


async def test_R12_1_only_operators_issue_coins_and_only_players_own_them(
    playing: Playing,
) -> None:
    replica = await playing.replica()
    for roles in (("player",), ("auditor",), ("player", "auditor")):
        caller = await wallet(playing, replica, "eve", *roles)
        async with refused(reasons.ERROR_REASON_ROLE_REQUIRED):
            await caller.grant(player_id="eve")
    for roles in (("operator",), ("auditor",)):
        caller = await wallet(playing, replica, "root", *roles)
        async with refused(reasons.ERROR_REASON_ROLE_REQUIRED):
            await caller.balance()
        async with refused(reasons.ERROR_REASON_ROLE_REQUIRED):
            await caller.transfers()
    assert (await replica.store.ledger.check()).issued == 0


def test_R12_1_only_the_grant_names_another_player() -> None:
    """No call can give coins to another player or take them out of the game."""
    (service,) = wallet_service_pb2.DESCRIPTOR.services_by_name.values()
    fields = {
        method.name: {field.name for field in method.input_type.fields}
        for method in service.methods
    }
    assert fields == {
        "GetBalance": set(),
        "ListTransfers": {"page_size", "page_token"},
        "GrantCoins": {"request_id", "player_id", "coins", "reason"},
        "ProposeGrant": {"request_id", "player_id", "coins", "reason"},
        "ApproveGrant": {"request_id", "grant_id", "reason"},
    }


async def acts(replica: Replica) -> list[AdministrativeRecord]:
    """Return the administrative log, after a check of its chain."""
    stored = await replica.store.administration.read()
    return read_chain(stored, FIRST_ADMINISTRATION_HASH, AdministrativeRecord.FromString)


async def test_R12_9_a_grant_goes_on_record_with_who_when_and_why(playing: Playing) -> None:
    replica = await playing.replica()
    root = await wallet(playing, replica, "root", "operator")
    request_id = new_id()
    for _ in range(2):
        await root.grant(request_id=request_id, player_id="bob", coins=30, reason="found a bug")
    (act,) = await acts(replica)
    assert (act.version, act.actor_id, act.reason) == (1, "root", "found a bug")
    assert UUID(bytes=act.request_id) == UUID(request_id)
    assert act.event_time.seconds > 0
    granted = act.event.coins_granted
    assert (granted.player_id, granted.coins) == ("bob", 30)
    (transfer,) = await replica.store.ledger.list_transfers_of(UUID(granted.grant_id))
    assert (transfer.player, transfer.coins, transfer.actor) == ("bob", 30, "root")


async def test_R12_9_nobody_grants_coins_to_themselves(playing: Playing) -> None:
    replica = await playing.replica()
    root = await wallet(playing, replica, "root", "operator", "player")
    async with refused(reasons.ERROR_REASON_OWN_GRANT):
        await root.grant(player_id="root")
    assert await root.balance() == (1000, 0)
    assert await acts(replica) == []


async def test_R12_9_an_operator_grants_only_so_many_coins_in_24_hours(playing: Playing) -> None:
    replica = await playing.replica(grant_coins_per_day_max=100)
    root, rita = [await wallet(playing, replica, name, "operator") for name in ("root", "rita")]
    await root.grant(coins=60)
    with pytest.raises(aio.AioRpcError) as caught:
        await root.grant(player_id="bob", coins=41)
    answer = answer_of(caught.value)
    assert answer.reason == "GRANT_LIMIT_REACHED"
    (info,) = (one for one in answer.details if isinstance(one, error_details_pb2.ErrorInfo))
    assert (info.metadata["limit_coins"], info.metadata["left_coins"]) == ("100", "40")
    await root.grant(player_id="bob", coins=40)
    await rita.grant(coins=100)  # the limit is for each operator
    assert sum(act.event.coins_granted.coins for act in await acts(replica)) == 200


async def test_R12_9_two_replicas_cannot_exceed_the_limit_together(playing: Playing) -> None:
    replicas = [await playing.replica(grant_coins_per_day_max=100) for _ in range(2)]
    roots = [await wallet(playing, replica, "root", "operator") for replica in replicas]
    grants = (root.grant(player_id=f"p{n}", coins=40) for n in range(3) for root in roots)
    answers = await asyncio.gather(*grants, return_exceptions=True)
    reached = [one for one in answers if isinstance(one, aio.AioRpcError)]
    assert {answer_of(one).reason for one in reached} == {"GRANT_LIMIT_REACHED"}
    assert len(reached) == 4
    assert [act.event.coins_granted.coins for act in await acts(replicas[0])] == [40, 40]
    check = await replicas[0].store.ledger.check()
    assert (check.holds, check.issued) == (True, 80 + 3 * 1000)
