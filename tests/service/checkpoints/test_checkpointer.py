"""The checkpointer adds ended matches as leaves, signs heads that only grow, and publishes them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from uuid import UUID, uuid4

import pytest

from domain.transparency import checkpoint, merkle
from domain.transparency.checkpoint import Checkpoint
from durak.v1.administration_pb2 import SigningKeysChanged
from eventstore import EventStore
from eventstore.administration import ADMINISTRATION_ID
from eventstore.checkpoints import LeafKind
from service.administration.log import Actor, AdministrationLog, parse
from service.checkpoints import proofs, signing_keys
from service.checkpoints.checkpointer import Checkpointer
from service.checkpoints.proofs import TreeBrokenError
from service.checkpoints.publishing import PUBLISHED
from service.checkpoints.signing_keys import NoteKey, NoteKeyError
from service.config import Config
from tests.conftest import Database, execute
from tests.domain.audit.audit_matches import random_match
from tests.service.stored_matches import store_match, store_random

NAME = "durak.example/log"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(
        data_dir=tmp_path / "data",
        checkpoint_folder=tmp_path / "published",
        checkpoint_batch_matches=3,
        checkpoint_interval_seconds=0.01,
    )


@pytest.fixture
def key(config: Config) -> NoteKey:
    return signing_keys.make(config.note_key_file, NAME)


def published(config: Config) -> str:
    assert config.checkpoint_folder is not None
    return (config.checkpoint_folder / PUBLISHED).read_text("utf-8")


async def head_of(store: EventStore, key: NoteKey) -> Checkpoint:
    latest = await store.checkpoints.read_latest_head()
    assert latest is not None
    return checkpoint.verify_checkpoint(latest.note, key.verifier)


async def leaves(store: EventStore, ids: list[UUID]) -> merkle.Tree:
    """Return the expected tree of the record of the keys and these matches, from the logs."""
    [keys] = await store.administration.read()
    first = merkle.stream_leaf(
        merkle.ADMINISTRATION_LEAF, ADMINISTRATION_ID.bytes, keys.version, keys.hash
    )
    found = {0: first}
    for match_id in ids:
        leaf = await store.checkpoints.read_leaf(LeafKind.MATCH, match_id, 1 + len(ids))
        assert leaf is not None
        stored = await store.read(match_id)
        found[leaf.leaf_index] = merkle.stream_leaf(
            merkle.MATCH_LEAF, match_id.bytes, len(stored), stored[-1].hash
        )
    assert sorted(found) == list(range(1 + len(ids)))
    return merkle.Tree(merkle.leaf_hash(found[index]) for index in range(1 + len(ids)))


async def test_ended_matches_are_in_the_signed_tree_and_others_not(
    store: EventStore, config: Config, key: NoteKey
) -> None:
    checkpointer = Checkpointer(store, config)
    await checkpointer.work()
    assert (await head_of(store, key)).size == 1  # the record of the keys

    ids = [await store_random(store, seed) for seed in range(8)]  # more than two batches
    running = await store_match(store, random_match(50), commands=2)
    await checkpointer.work()

    head = await head_of(store, key)
    tree_of_log = await leaves(store, ids)
    assert head == (NAME, 9, merkle.root(9, tree_of_log.node))
    assert await store.checkpoints.read_leaf(LeafKind.MATCH, running, 9) is None
    nodes = store.checkpoints.read_nodes
    for index in range(9):
        proof = await proofs.inclusion_proof(index, 9, nodes)
        assert merkle.verify_inclusion(tree_of_log.node(0, index), index, 9, proof, head.root)


async def test_any_two_heads_are_consistent(
    store: EventStore, config: Config, key: NoteKey
) -> None:
    checkpointer = Checkpointer(store, config)
    heads = []
    for seed in range(7):
        await checkpointer.work()
        heads.append(await head_of(store, key))
        await store_random(store, seed)
    assert [head.size for head in heads] == list(range(1, 8))
    for old in heads:
        for new in heads[old.size - 1 :]:
            proof = await proofs.consistency_proof(old.size, new.size, store.checkpoints.read_nodes)
            args = (old.size, new.size, proof, old.root, new.root)
            assert merkle.verify_consistency(*args)


@pytest.mark.usefixtures("key")
async def test_without_new_matches_no_head_is_signed(store: EventStore, config: Config) -> None:
    checkpointer = Checkpointer(store, config)
    await store_random(store, 1)
    await checkpointer.work()
    first = await store.checkpoints.read_latest_head()
    await checkpointer.work()
    assert await store.checkpoints.read_latest_head() == first


@pytest.mark.usefixtures("key")
async def test_the_newest_head_and_the_last_of_each_day_are_published(
    store: EventStore, config: Config
) -> None:
    await store_random(store, 1)
    await Checkpointer(store, config).work()
    latest = await store.checkpoints.read_latest_head()
    assert latest is not None
    assert published(config) == latest.note
    assert config.checkpoint_folder is not None
    names = sorted(path.name for path in config.checkpoint_folder.iterdir())
    assert names == [PUBLISHED, f"{PUBLISHED}-{latest.signed_at:%Y-%m-%d}"]


async def test_a_key_is_rotated_while_the_service_runs(
    store: EventStore, config: Config, key: NoteKey
) -> None:
    checkpointer = Checkpointer(store, config)
    await store_random(store, 1)
    await checkpointer.work()
    newer = signing_keys.rotate(config.note_key_file)
    await record_keys(store, newer, key)
    await checkpointer.work()
    assert await head_of(store, key) == await head_of(store, newer)
    assert [one.line() for one in signing_keys.retire(config.note_key_file)] == [key.line()]
    await record_keys(store, newer)
    await checkpointer.work()
    assert (await head_of(store, newer)).size == 4  # a match and three records of keys
    with pytest.raises(checkpoint.NoteError):
        await head_of(store, key)


async def record_keys(store: EventStore, *keys: NoteKey) -> None:
    actor = Actor("root", uuid4().bytes, bytes(16), "the yearly rotation")
    changed = SigningKeysChanged(verifier_keys=[str(one.verifier) for one in keys])
    await AdministrationLog(store, conflict_retries_max=9).change_signing_keys(actor, changed)


async def test_nothing_is_signed_with_keys_whose_change_is_not_on_record(
    store: EventStore, config: Config, key: NoteKey
) -> None:
    checkpointer = Checkpointer(store, config)
    await checkpointer.work()
    before = await store.checkpoints.read_latest_head()
    [first] = map(parse, await store.administration.read())
    assert (first.actor_id, first.reason) == ("", "the first keys of this log")
    assert list(first.event.signing_keys_changed.verifier_keys) == [str(key.verifier)]
    newer = signing_keys.rotate(config.note_key_file)
    await store_random(store, 1)
    for _ in range(2):
        with pytest.raises(NoteKeyError, match="durak key record"):
            await checkpointer.work()
    assert await store.checkpoints.read_latest_head() == before
    await record_keys(store, key, newer)  # another order
    with pytest.raises(NoteKeyError):
        await checkpointer.work()
    await record_keys(store, newer, key)
    await checkpointer.work()
    assert (await head_of(store, newer)).size == 3  # the first keys, the match, the newest keys


async def test_two_replicas_take_turns(
    store: EventStore, database: Database, config: Config, key: NoteKey
) -> None:
    async with await EventStore.open(database.app_dsn) as other_store:
        workers = [Checkpointer(one, config) for one in (store, other_store)]
        running = [asyncio.create_task(worker.run()) for worker in workers]
        ids = [await store_random(store, seed) for seed in range(12)]
        async with asyncio.timeout(30):
            while await store.checkpoints.read_size() < 13:  # noqa: ASYNC110 - the database sends no events
                await asyncio.sleep(0.01)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    await Checkpointer(store, config).work()
    head = await head_of(store, key)
    assert head.root == merkle.root(13, (await leaves(store, ids)).node)


@pytest.mark.parametrize(
    "rewriting",
    [
        "UPDATE tree_nodes SET hash = sha256(hash) WHERE level = 1",
        "DELETE FROM tree_nodes WHERE level = 1",
        "DELETE FROM tree_leaves WHERE leaf_index = 2",
    ],
)
@pytest.mark.usefixtures("key")
async def test_a_tree_that_was_rewritten_is_neither_signed_nor_published(
    store: EventStore, database: Database, config: Config, rewriting: str
) -> None:
    checkpointer = Checkpointer(store, config)
    for seed in range(2):
        await store_random(store, seed)
    await checkpointer.work()
    before = published(config)
    tables = [f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in ("tree_leaves", "tree_nodes")]
    await execute(database.owner_dsn, *tables, rewriting)
    await store_random(store, 3)
    with pytest.raises(TreeBrokenError):
        await checkpointer.work()
    latest = await store.checkpoints.read_latest_head()
    assert latest is not None
    assert published(config) == before == latest.note


@pytest.mark.usefixtures("key")
async def test_the_tree_of_an_older_database_is_not_signed(
    store: EventStore, database: Database, config: Config
) -> None:
    """The whole database is rewritten, so only the published head reveals it."""
    checkpointer = Checkpointer(store, config)
    for seed in range(4):
        await store_random(store, seed)
    await checkpointer.work()
    before = published(config)
    tables = ("tree_leaves", "tree_nodes", "checkpoints")
    await execute(
        database.owner_dsn,
        *(f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in tables),
        *(f"DELETE FROM {name}" for name in tables),
        "UPDATE matches SET leaf_index = NULL",
        "DELETE FROM matches WHERE match_id = (SELECT min(match_id::text)::uuid FROM matches)",
    )
    await store_random(store, 5)
    with pytest.raises(TreeBrokenError):
        await checkpointer.work()
    assert await store.checkpoints.read_latest_head() is None
    assert published(config) == before


async def test_without_a_key_no_head_is_signed(store: EventStore, config: Config) -> None:
    with pytest.raises(NoteKeyError):
        await Checkpointer(store, config).work()
    assert await store.checkpoints.read_latest_head() is None


# --- to an object store ---------------------------------------------------------------------------


class Bucket(BaseHTTPRequestHandler):
    """The part of S3 that puts and gets an object."""

    objects: dict[str, bytes]
    signed: list[bool]

    def do_PUT(self) -> None:
        self.signed.append("AWS4-HMAC-SHA256" in self.headers.get("Authorization", ""))
        self.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, b"")

    def do_GET(self) -> None:
        found = self.objects.get(self.path)
        missing = b"<Error><Code>NoSuchKey</Code></Error>"
        self.answer(404 if found is None else 200, missing if found is None else found)

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Mon, 30 Nov 2026 10:00:00 GMT")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Bucket]]:
    kind = type("OneBucket", (Bucket,), {"objects": {}, "signed": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        for name, value in (
            ("ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}"),
            ("ALLOW_HTTP", "true"),
            ("REGION", "eu-central-1"),
            ("ACCESS_KEY_ID", "key"),
            ("SECRET_ACCESS_KEY", "secret"),
        ):
            monkeypatch.setenv(f"AWS_{name}", value)
        running = Thread(target=server.serve_forever)
        running.start()
        yield kind
        server.shutdown()
        running.join()


@pytest.mark.usefixtures("key")
async def test_checkpoints_are_published_to_an_object_store_and_compared_with_it(
    store: EventStore, database: Database, config: Config, bucket: type[Bucket]
) -> None:
    config = config.model_copy(
        update={"checkpoint_folder": None, "checkpoint_objects": "s3://audit/durak"}
    )
    checkpointer = Checkpointer(store, config)
    for seed in range(2):
        await store_random(store, seed)
        await checkpointer.work()
    latest = await store.checkpoints.read_latest_head()
    assert latest is not None
    day = f"{latest.signed_at:%Y-%m-%d}"
    note = latest.note.encode()
    assert bucket.objects == {
        "/audit/durak/checkpoint": note,
        f"/audit/durak/checkpoint-{day}": note,
    }
    assert bucket.signed
    assert all(bucket.signed)

    tables = ("tree_leaves", "tree_nodes", "checkpoints")
    await execute(
        database.owner_dsn,
        *(f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in tables),
        *(f"DELETE FROM {name}" for name in tables),
    )
    with pytest.raises(TreeBrokenError):
        await checkpointer.work()
    assert bucket.objects["/audit/durak/checkpoint"] == note


@pytest.mark.usefixtures("key")
async def test_an_unreachable_bucket_is_an_os_error(
    store: EventStore, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("ENDPOINT_URL", "http://127.0.0.1:1"),
        ("ALLOW_HTTP", "true"),
        ("SKIP_SIGNATURE", "true"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    config = config.model_copy(update={"checkpoint_objects": "s3://audit"})
    with pytest.raises(OSError, match="cannot be read"):
        await Checkpointer(store, config).work()
    assert await store.checkpoints.read_latest_head() is None
