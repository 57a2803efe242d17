"""T03: a match that was changed after it was signed: every way of verifying it says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from domain.audit.transcript import Outcome, verify
from durak.v1 import audit_service_pb2 as api
from durak.v1.audit_service_pb2_grpc import AuditServiceStub
from durak.v1.events_pb2 import Record
from eventstore import EventStore, StoredRecord, first_hash, next_hash
from eventstore.whole_matches import WholeMatch
from service.audit.cases import read_cases
from service.checkpoints import signing_keys
from service.checkpoints.checkpointer import Checkpointer
from service.checkpoints.seals import Seals
from service.config import Config
from service.judging.judge import judge
from service.judging.messages import report_message
from tests.conftest import Database, execute
from tests.service.audit.test_audit_service import in_tree
from tests.service.serving import Caller, Service, serving
from tests.service.stored_matches import store_random
from tests.terminal import Terminal

TABLES = ("events", "streams", "tree_leaves", "tree_nodes", "checkpoints")
UNLOCK = [f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in TABLES]
SIGNED_LEAF = "UPDATE tree_leaves SET head_hash = s.head_hash FROM streams s WHERE s.stream_id = "
LEAF_TOO = SIGNED_LEAF + "tree_leaves.stream_id"
NO_CHECKPOINT = "DELETE FROM checkpoints"
OTHER_NOTE = "UPDATE checkpoints SET note = replace(note, '— durak', '— other')"


@pytest.fixture
async def service(database: Database, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(database, tmp_path) as served:
        yield served


@pytest.fixture
def auditor(service: Service) -> Caller:
    return service.caller(AuditServiceStub, "olga", "auditor")


@pytest.fixture
def terminal(database: Database, tmp_path: Path) -> Terminal:
    return Terminal(database, tmp_path)


async def rename_a_player(database: Database, match_id: UUID) -> None:
    """Change a display name, chain all records again, and move the head hash, as the owner can."""
    await execute(database.owner_dsn, *UNLOCK)
    owner = await asyncpg.connect(database.owner_dsn)
    rows = await owner.fetch(
        "SELECT version, record FROM events WHERE stream_id = $1 ORDER BY version", match_id
    )
    link, is_renamed = first_hash(match_id), False
    for version, data in rows:
        record = Record.FromString(data)
        if record.event.seat_taken.display_name and not is_renamed:
            record.event.seat_taken.display_name = "Another"
            is_renamed = True
        changed = record.SerializeToString()
        link = next_hash(link, changed)
        change = "UPDATE events SET record = $3, hash = $4 WHERE stream_id = $1 AND version = $2"
        await owner.execute(change, match_id, version, changed, link)
    assert is_renamed
    await owner.execute("UPDATE streams SET head_hash = $2 WHERE stream_id = $1", match_id, link)
    await owner.close()


def kinds(report: api.AuditReport) -> set[int]:
    return {one.kind for one in report.findings if one.severity == api.FINDING_SEVERITY_FAULT}


async def report_of(auditor: Caller, match_id: UUID) -> api.AuditReport:
    request = api.VerifyMatchRequest(match_id=str(match_id))
    report: api.AuditReport = (await auditor.VerifyMatch(request)).report
    return report


async def test_the_service_says_that_the_log_is_not_the_signed_one(
    service: Service, auditor: Caller, database: Database
) -> None:
    ids = [await store_random(service.store, seed, stake_coins=0) for seed in range(3)]
    await in_tree(service.store, 3)
    assert (await report_of(auditor, ids[1])).ok
    await rename_a_player(database, ids[1])

    report = await report_of(auditor, ids[1])
    assert not report.ok
    assert kinds(report) == {api.FINDING_KIND_INCLUSION}
    assert any(one.found.startswith("another log: version ") for one in report.findings)
    answers = [one async for one in auditor.VerifyPayouts(api.VerifyPayoutsRequest())]
    [faulty] = [one.faulty for one in answers if one.HasField("faulty")]
    assert faulty == report
    exported = await auditor.ExportMatch(api.ExportMatchRequest(match_id=str(ids[1])))
    for key in (str(service.note_key.verifier), None):
        assert verify(exported.transcript, key).outcome is Outcome.REFUTED
    assert (await report_of(auditor, ids[0])).ok


@pytest.mark.parametrize("hiding", [LEAF_TOO, NO_CHECKPOINT, OTHER_NOTE])
async def test_a_changed_leaf_or_checkpoint_is_found_too(
    store: EventStore, database: Database, tmp_path: Path, hiding: str
) -> None:
    config = Config(data_dir=tmp_path)
    signing_keys.make(config.note_key_file, "durak.example/log")
    match_id = await store_random(store, 1, stake_coins=0)
    await Checkpointer(store, config).work()
    await execute(database.owner_dsn, *UNLOCK)
    if hiding is LEAF_TOO:
        await rename_a_player(database, match_id)
    await execute(database.owner_dsn, hiding)
    seals = Seals(store.checkpoints, config.note_key_file)
    [case] = await read_cases(store, seals, [match_id])
    report = report_message(*judge(*case)[:2])
    assert kinds(report) == {api.FINDING_KIND_CHECKPOINT}


def test_a_failure_of_the_audit_is_a_fault_of_that_match_alone() -> None:
    match_id = uuid4()
    impossible = WholeMatch(match_id, [StoredRecord(1, None, b"")], [])  # type: ignore[arg-type]
    report = report_message(*judge(impossible)[:2])
    assert not report.ok
    [finding] = report.findings
    assert (finding.kind, finding.clause) == (api.FINDING_KIND_UNREADABLE, "audit")


def test_the_command_line_says_it_too(terminal: Terminal) -> None:
    assert terminal.durak("key", "new", "durak.example/log").returncode == 0

    async def sign() -> list[UUID]:
        async with await EventStore.open(terminal.database.app_dsn) as store:
            ids = [await store_random(store, seed, stake_coins=0) for seed in range(3)]
            await Checkpointer(store, Config(data_dir=terminal.folder)).work()
            return ids

    kept, changed, deleted = asyncio.run(sign())
    assert terminal.durak("audit", "--all").returncode == 0
    asyncio.run(rename_a_player(terminal.database, changed))
    gone = f"DELETE FROM %s WHERE stream_id = '{deleted}'"
    asyncio.run(execute(terminal.database.owner_dsn, gone % "events", gone % "streams"))
    fault = "fault inclusion (design: checkpoints)"

    done = terminal.durak("audit", "--all")
    assert done.returncode == 1
    assert f"{changed}: {fault}" in done.stdout
    assert f"{deleted}: {fault}" in done.stdout  # no record is left, but its leaf
    assert str(kept) not in done.stdout
    for command in ([str(changed)], ["payouts"]):
        done = terminal.durak("audit", *command)
        assert done.returncode == 1
        assert fault in done.stdout
    done = terminal.durak("audit", "proof", str(changed))
    assert done.returncode == 1
    assert "the stored records are not the signed ones" in done.stderr
    page = terminal.durak("audit", "report", str(changed)).stdout
    assert "inclusion" in page
    assert terminal.durak("audit", "proof", str(kept)).returncode == 0
