"""The checkpointer: it adds matches and disputes to the tree, signs the head, and publishes it.

Every replica runs one. The database lets one of them work at a time. Before it signs or publishes,
it compares the tree of the database with the last signed and published checkpoints. If the tree
does not continue them, it signs and publishes nothing and logs an error.
"""

import asyncio
from collections.abc import Sequence

import structlog

from domain.transparency import checkpoint, merkle
from domain.transparency.checkpoint import Checkpoint, NoteError
from durak.v1.table_pb2 import PHASE_ENDED
from eventstore import EventStore
from eventstore.checkpoints import TreeUpdate
from eventstore.errors import StoreError
from service.checkpoints import proofs, signing_keys
from service.checkpoints.proofs import Nodes, TreeBrokenError
from service.checkpoints.publishing import places
from service.checkpoints.signing_keys import NoteKey, NoteKeyError
from service.config import Config

_log = structlog.get_logger(__name__)


class Checkpointer:
    """Adds ended matches and disputes to the tree every few seconds, and signs it if it grew."""

    def __init__(self, store: EventStore, config: Config) -> None:
        """Sign with the keys of `config.note_key_file`, which are read each time.

        Raises OSError for an invalid address of an object store.
        """
        self._store = store
        self._config = config
        self._places = places(config)
        self._trouble = ""

    @property
    def is_failing(self) -> bool:
        """True if the last attempt failed."""
        return bool(self._trouble)

    async def run(self) -> None:
        """Work until cancelled. Log each new failure once and retry."""
        while True:
            try:
                await self.work()
            except (StoreError, NoteKeyError, NoteError, TreeBrokenError, OSError) as error:
                self._complain(error)
            else:
                self._trouble = ""
            await asyncio.sleep(self._config.checkpoint_interval_seconds)

    async def work(self) -> None:
        """Add all waiting matches and disputes, sign, and publish.

        Raises StoreError, NoteKeyError, TreeBrokenError or OSError.
        """
        keys = await asyncio.to_thread(signing_keys.read, self._config.note_key_file)
        published = await self._check_published()
        more: bool | None = True
        while more:
            more = await self._store.checkpoints.update(lambda update: self._grow(update, keys))
        await self._publish(published)

    async def _grow(self, update: TreeUpdate, keys: Sequence[NoteKey]) -> bool:
        """Add one batch of what waits, and sign. Return whether there may be more."""
        latest = await update.read_latest_head()
        if latest is not None:
            await check_grown(latest.note, update.tree_size, update.read_nodes)
        growing = await proofs.compact_range(update.tree_size, update.read_nodes)
        limit = self._config.checkpoint_batch_matches
        ended = await update.find_ended_matches(PHASE_ENDED, limit)
        grown = await update.find_grown_disputes(limit)
        nodes = []
        for head in (*ended, *grown):
            nodes += growing.append(proofs.leaf_hash(head))
        await update.add([*ended, *grown], nodes)
        if ended or grown or latest is None or not _signed_by(latest.note, keys):
            root = Checkpoint(keys[0].name, growing.size, growing.root())
            await update.add_head(signing_keys.signed(root.text(), keys))
        return limit in (len(ended), len(grown))

    async def _check_published(self) -> list[str | None]:
        """Return the newest checkpoint of each place. Raises TreeBrokenError if one is not ours."""
        published = [await place.read() for place in self._places]
        for note in published:
            if note is not None:
                size = await self._store.checkpoints.read_size()
                await check_grown(note, size, self._store.checkpoints.read_nodes)
        return published

    async def _publish(self, published: Sequence[str | None]) -> None:
        latest = await self._store.checkpoints.read_latest_head()
        for place, note in zip(self._places, published, strict=True):
            if latest is not None and latest.note != note:
                await place.write(latest)

    def _complain(self, error: Exception) -> None:
        trouble = f"{type(error).__name__}: {error}"
        if trouble != self._trouble:
            self._trouble = trouble
            _log.error("no checkpoint", error=trouble)


async def check_grown(note: str, size: int, nodes: Nodes) -> None:
    """Check that the tree of `size` leaves continues the tree of a note. Raises TreeBrokenError."""
    old = Checkpoint.parse(checkpoint.split(note)[0])
    if old.size > size:
        raise TreeBrokenError(f"the tree has {size} leaves, but {old.size} were signed")
    proof = await proofs.consistency_proof(old.size, size, nodes)
    root = await proofs.root(size, nodes)
    if not merkle.verify_consistency(old.size, size, proof, old.root, root):
        raise TreeBrokenError(f"the first {old.size} leaves differ from the signed leaves")


def _signed_by(note: str, keys: Sequence[NoteKey]) -> bool:
    """Return whether the note has signatures of exactly these keys."""
    signatures = checkpoint.split(note)[1]
    there = {(name, raw[:4]) for name, raw in signatures}
    return there == {(key.name, key.verifier.key_id) for key in keys}
