"""Whatever the owner of the database changes in the administrative log, an audit names it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from domain.transparency import checkpoint, merkle
from durak.v1 import audit_service_pb2 as api
from durak.v1 import wallet_service_pb2 as wallet
from durak.v1.administration_pb2 import AdministrativeRecord
from durak.v1.audit_service_pb2_grpc import AuditServiceStub
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from eventstore import next_hash
from eventstore.administration import ADMINISTRATION_ID, FIRST_ADMINISTRATION_HASH
from eventstore.checkpoints import LeafKind
from service.audit.ledger_check import ledger_state
from service.checkpoints.seals import Seals
from service.render.audit import ledger_lines
from tests.conftest import Database, execute
from tests.service.serving import Service, serving

TABLES = ("administrative_events", "transfers", "accounts")
UNLOCK = [f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in TABLES]


@pytest.fixture
async def service(database: Database, tmp_path: Path) -> AsyncIterator[Service]:
    """A service with three grants on record and in the signed tree."""
    async with serving(database, tmp_path) as served:
        root = served.caller(WalletServiceStub, "root", "operator")
        for coins in (10, 20, 30):
            await root.GrantCoins(
                wallet.GrantCoinsRequest(
                    request_id=str(uuid4()), player_id="ann", coins=coins, reason="a bug"
                )
            )
        await signed(served, 4)
        yield served


async def signed(service: Service, version: int) -> None:
    """Wait until a leaf has the record of this version."""
    seals = Seals(service.store.checkpoints, service.config.note_key_file)

    async def is_signed() -> bool:
        found = await seals.read(LeafKind.ADMINISTRATION, [ADMINISTRATION_ID])
        leaves = found.get(ADMINISTRATION_ID, ())
        return any(leaf.version == version and not leaf.flaw for leaf in leaves)

    async with asyncio.timeout(30):
        while not await is_signed():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.01)


async def audited(service: Service) -> api.LedgerState:
    seals = Seals(service.store.checkpoints, service.config.note_key_file)
    return await ledger_state(service.store, seals)


async def rewrite(database: Database, version: int, coins: int) -> None:
    """Change a grant and chain all later records again, as the owner of the database can."""
    owner = await asyncpg.connect(database.owner_dsn)
    rows = await owner.fetch("SELECT version, record FROM administrative_events ORDER BY version")
    link = FIRST_ADMINISTRATION_HASH
    for number, data in rows:
        record = AdministrativeRecord.FromString(data)
        if number == version:
            record.event.coins_granted.coins = coins
        changed = record.SerializeToString()
        link = next_hash(link, changed)
        change = "UPDATE administrative_events SET record = $2, hash = $3 WHERE version = $1"
        await owner.execute(change, number, changed, link)
    await owner.close()


async def test_an_honest_log_has_no_finding_and_is_proven(service: Service) -> None:
    state = await audited(service)
    assert state.ok, ledger_lines(state)
    assert [(one.operator_id, one.coins) for one in state.operator_grants] == [("root", 60)]
    olga = service.caller(AuditServiceStub, "olga", "auditor")
    proof = await olga.GetInclusionProof(api.GetInclusionProofRequest(administrative_log=True))
    head = checkpoint.verify_checkpoint(proof.checkpoint, service.note_key.verifier)
    leaf = merkle.stream_leaf(
        merkle.ADMINISTRATION_LEAF, ADMINISTRATION_ID.bytes, proof.last_version, proof.head_hash
    )
    assert merkle.verify_inclusion(
        merkle.leaf_hash(leaf), proof.inclusion.leaf_index, head.size,
        list(proof.inclusion.hashes), head.root,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "versions"),
    [
        ("UPDATE administrative_events SET record = record || '\\x00' WHERE version = 3", {3}),
        ("UPDATE administrative_events SET actor = 'rita' WHERE version = 2", {2}),
        ("UPDATE administrative_events SET kind = 2 WHERE version = 2", {2}),
        ("UPDATE administrative_events SET subject = 'bob' WHERE version = 3", {3}),
        ("UPDATE administrative_events SET recorded_at = now() WHERE version = 3", {3}),
        ("UPDATE administrative_events SET hash = sha256(hash) WHERE version = 2", {2, 3}),
        ("DELETE FROM administrative_events WHERE version = 2", {2, 3}),
        ("DELETE FROM administrative_events WHERE version = 4", {4}),
    ],
)
async def test_a_changed_record_is_named(
    service: Service, database: Database, change: str, versions: set[int]
) -> None:
    await execute(database.owner_dsn, *UNLOCK, change)
    state = await audited(service)
    assert not state.ok
    assert set(state.wrong_administrative_versions) >= versions
    named = f"record {min(versions)} of the administrative log"
    assert any(named in line for line in ledger_lines(state))


async def test_a_log_that_was_rewritten_and_chained_again_is_not_the_signed_one(
    service: Service, database: Database
) -> None:
    await execute(database.owner_dsn, *UNLOCK)
    await rewrite(database, version=3, coins=9)
    state = await audited(service)
    assert 4 in state.wrong_administrative_versions  # its leaf has another hash
    assert len(state.wrong_grants) == 1  # and the ledger has 20 coins


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE transfers SET actor = 'rita' WHERE actor = 'root' AND coins = 20",
        "UPDATE transfers SET source_id = gen_random_uuid() WHERE actor = 'root' AND coins = 20",
        "UPDATE transfers SET player = 'bob', number = 9 WHERE actor = 'root' AND coins = 20",
        "UPDATE transfers SET coins = 21 WHERE actor = 'root' AND coins = 20",
        "DELETE FROM transfers WHERE actor = 'root' AND coins = 20",
        "UPDATE transfers SET source_id = gen_random_uuid() WHERE actor = '' AND player = 'ann'",
    ],
)
async def test_coins_that_no_act_and_no_opening_issued_are_named(
    service: Service, database: Database, change: str
) -> None:
    """The last case is a made-up opening balance."""
    await execute(database.owner_dsn, *UNLOCK, change)
    state = await audited(service)
    assert not state.ok
    assert len(state.wrong_grants) in {1, 2}
    assert not state.wrong_administrative_versions
    assert any(line.startswith("fault (R12.9): grant") for line in ledger_lines(state))
