"""Operators revoke tokens: calls and streams on every replica end with TOKEN_INVALID."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import jwt
import pytest
from grpc import aio

from durak.v1 import administration_service_pb2 as api
from durak.v1 import wallet_service_pb2 as wallet
from durak.v1.administration_service_pb2_grpc import AdministrationServiceStub
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.match_service_pb2 import WatchMatchRequest
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from eventstore import EventStore
from service.rpc.call import Caller as TokenCaller
from service.rpc.revocations import Revocations
from service.rpc.token_keys import DEVELOPMENT_KEY_FILE, DEVELOPMENT_KEY_ID
from service.server import running
from tests.conftest import Database
from tests.service.audit.open_matches import staked_and_played
from tests.service.playing import reason_of, refused
from tests.service.serving import Caller, Service, serving
from tests.service.stored_matches import store_match

INVALID = ErrorReason.ERROR_REASON_TOKEN_INVALID


@pytest.fixture
async def replicas(database: Database, tmp_path: Path) -> AsyncIterator[list[Service]]:
    """Two replicas that know the same tokens."""
    async with (
        serving(database, tmp_path / "one", revocations_interval_seconds=0.05) as first,
        another(first, tmp_path / "two") as second,
    ):
        yield [first, second]


@asynccontextmanager
async def another(first: Service, folder: Path) -> AsyncIterator[Service]:
    shutil.copytree(first.config.data_dir, folder)
    config = first.config.model_copy(update={"data_dir": folder})
    async with (
        running(config) as server,
        aio.insecure_channel(server.address) as channel,
    ):
        port = int(server.address.rpartition(":")[2])
        yield Service(config, first.store, channel, first.key, first.note_key, port)


async def revoke(service: Service, player_id: str, token_id: str = "") -> None:
    operator = service.caller(AdministrationServiceStub, "root", "operator")
    request = api.RevokeTokensRequest(
        request_id=str(uuid4()), player_id=player_id, token_id=token_id, reason="a stolen phone"
    )
    for _ in range(2):
        await operator.RevokeTokens(request)


def with_claims(service: Service, **claims: object) -> tuple[tuple[str, str], ...]:
    """Return the metadata of a token with these claims beside the usual ones."""
    ((_, header),) = service.metadata("ann", "player")
    usual = jwt.decode(header.split()[1], options={"verify_signature": False})
    wanted = {name: value for name, value in {**usual, **claims}.items() if value is not None}
    token = jwt.encode(
        wanted, service.key.private_key, "EdDSA", headers={"kid": DEVELOPMENT_KEY_ID}
    )
    return (("authorization", f"Bearer {token}"),)


async def is_accepted(caller: Caller) -> bool:
    answers = await asyncio.gather(
        caller.GetBalance(wallet.GetBalanceRequest()), return_exceptions=True
    )
    refusals = [reason_of(one) for one in answers if isinstance(one, aio.AioRpcError)]
    assert refusals in ([], [INVALID])
    return not refusals


async def until_refused(caller: Caller) -> None:
    async with asyncio.timeout(30):
        while await is_accepted(caller):  # noqa: ASYNC110 - each replica asks the database
            await asyncio.sleep(0.02)


async def test_all_tokens_of_a_player_end_on_every_replica(replicas: list[Service]) -> None:
    anns = [one.caller(WalletServiceStub, "ann", "player") for one in replicas]
    bobs = [one.caller(WalletServiceStub, "bob", "player") for one in replicas]
    for caller in (*anns, *bobs):
        assert await is_accepted(caller)
    await revoke(replicas[0], "ann")
    for caller in anns:
        await until_refused(caller)
    for caller in bobs:
        assert await is_accepted(caller)
    later = with_claims(replicas[0], iat=4_000_000_000, exp=4_000_000_600)
    with pytest.raises(aio.AioRpcError):  # a token from the future is not valid at all
        await anns[0].stub.GetBalance(wallet.GetBalanceRequest(), metadata=later)
    no_time = with_claims(replicas[0], iat=None)
    assert not await is_accepted(Caller(anns[0].stub, no_time))


async def test_one_token_ends_alone(replicas: list[Service]) -> None:
    stub = WalletServiceStub(replicas[1].channel)
    lost, kept = [Caller(stub, with_claims(replicas[1], jti=name)) for name in ("lost", "kept")]
    assert await is_accepted(lost)
    assert await is_accepted(kept)
    await revoke(replicas[0], "bob", "lost")  # the same jti of somebody else
    await revoke(replicas[0], "ann", "lost")
    await until_refused(lost)
    assert await is_accepted(kept)


async def test_open_watches_end(replicas: list[Service]) -> None:
    match_id = await store_match(replicas[0].store, staked_and_played(seats=2), commands=6)
    watch = (
        replicas[1]
        .caller(MatchServiceStub, "ann", "player")
        .WatchMatch(WatchMatchRequest(match_id=str(match_id)))
    )
    await anext(aiter(watch))
    await revoke(replicas[0], "ann")
    with pytest.raises(aio.AioRpcError) as caught:
        async for _ in watch:
            pass
    assert reason_of(caught.value) == INVALID


async def test_a_restarted_replica_knows_them_from_its_first_call(
    database: Database, tmp_path: Path
) -> None:
    async with serving(database, tmp_path / "one") as first:
        stale = first.metadata("ann", "player")
        await revoke(first, "ann")
        async with another(first, tmp_path / "two") as second:
            assert (tmp_path / "two" / DEVELOPMENT_KEY_FILE).exists()
            assert not await is_accepted(Caller(WalletServiceStub(second.channel), stale))


async def test_only_operators_revoke_and_give_a_reason(replicas: list[Service]) -> None:
    request = api.RevokeTokensRequest(request_id=str(uuid4()), player_id="ann", reason="x")
    for role in ("player", "auditor"):
        caller = replicas[0].caller(AdministrationServiceStub, "eve", role)
        async with refused(ErrorReason.ERROR_REASON_ROLE_REQUIRED):
            await caller.RevokeTokens(request)
    root = replicas[0].caller(AdministrationServiceStub, "root", "operator")
    for fields in ({"reason": ""}, {"player_id": ""}, {"token_id": "x" * 256}):
        wrong = api.RevokeTokensRequest(
            **{"request_id": str(uuid4()), "player_id": "ann", "reason": "x", **fields}
        )
        async with refused(ErrorReason.ERROR_REASON_MALFORMED_FIELD):
            await root.RevokeTokens(wrong)
    store: EventStore = replicas[0].store
    assert len(await store.administration.read()) == 1  # only the first signing keys


def token(subject: str, issued_at: float, token_id: str = "") -> TokenCaller:
    return TokenCaller(subject, subject, frozenset(), 2e9, issued_at=issued_at, token_id=token_id)


def test_a_revocation_covers_the_tokens_issued_before_it() -> None:
    revocations = Revocations()
    revocations.revoke_issued_until("ann", 100.5)
    revocations.revoke_issued_until("ann", 90.0)  # read again, or out of order
    assert revocations.cover(token("ann", 100.0))
    assert revocations.cover(token("ann", 0.0))
    assert not revocations.cover(token("ann", 101.0))
    assert not revocations.cover(token("bob", 1.0))
