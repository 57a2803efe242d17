"""The checkpointer: it adds new records to the tree, signs the head, and publishes it.

Leaves are matches that have ended, and the heads of disputes and of the administrative log.

Every replica runs one. The database lets one of them work at a time. Before it signs or publishes,
it compares the tree of the database with the last signed and published checkpoints. If the tree
does not continue them, it signs and publishes nothing and logs an error.
"""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import structlog

from domain.transparency import checkpoint, merkle
from domain.transparency.checkpoint import Checkpoint, NoteError
from durak.v1.administration_pb2 import SigningKeysChanged
from durak.v1.table_pb2 import PHASE_ENDED
from eventstore import EventStore
from eventstore.checkpoints import TreeUpdate
from eventstore.errors import StoreError
from service.administration.log import Actor, AdministrationLog
from service.checkpoints import proofs, signing_keys
from service.checkpoints.proofs import Nodes, TreeBrokenError
from service.checkpoints.publishing import places
from service.checkpoints.signing_keys import NoteKey, NoteKeyError
from service.config import Config
from service.rpc.errors import Refused
from service.watchdog import progress, rest

FIRST_KEYS: Final = Actor(
    actor_id="",
    request_id=sha256(b"durak.v1.first-signing-keys").digest()[:16],
    trace_id=bytes(16),
    reason="the first keys of this log",
)
"""The service records its first keys itself. For every change an operator gives the reason."""

_log = structlog.get_logger(__name__)


class Checkpointer:
    """Adds streams that ended or grew to the tree every few seconds, and signs it if it grew."""

    def __init__(self, store: EventStore, config: Config) -> None:
        """Sign with the keys of `config.note_key_file`, which are read each time.

        Raises OSError for an invalid address of an object store.
        """
        self._store = store
        self._config = config
        self._administration = AdministrationLog(store, config.conflict_retries_max)
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
            except (
                StoreError,
                NoteKeyError,
                NoteError,
                TreeBrokenError,
                Refused,
                OSError,
            ) as error:
                self._complain(error)
            else:
                self._trouble = ""
            await rest(self._config.checkpoint_interval_seconds)

    async def work(self) -> None:
        """Add everything that waits, sign, and publish.

        Raises StoreError, NoteKeyError, TreeBrokenError, Refused or OSError.
        """
        keys = await self.read_keys()
        published = await self.check_published()
        more: bool | None = True
        while more:
            progress()
            more = await self._store.checkpoints.update(lambda update: self._grow(update, keys))
        await self._publish(published)

    async def read_keys(self) -> list[NoteKey]:
        """Return the keys, which must be those on record. Put the first ones on record.

        Raises NoteKeyError, StoreError or Refused.
        """
        keys = await asyncio.to_thread(signing_keys.read, self._config.note_key_file)
        verifier_keys = [str(key.verifier) for key in keys]
        recorded = await self._administration.read_signing_keys()
        if recorded is None:
            changed = SigningKeysChanged(verifier_keys=verifier_keys)
            await self._administration.change_signing_keys(FIRST_KEYS, changed)
        elif recorded != verifier_keys:
            raise NoteKeyError(
                "the keys are not those on record: an operator must run `durak key record`"
            )
        return keys

    async def _grow(self, update: TreeUpdate, keys: Sequence[NoteKey]) -> bool:
        """Add one batch of what waits, and sign. Return whether there may be more."""
        latest = await update.read_latest_head()
        if latest is not None:
            await check_grown(latest.note, update.tree_size, update.read_nodes)
        growing = await proofs.compact_range(update.tree_size, update.read_nodes)
        limit = self._config.checkpoint_batch_matches
        ended = await update.find_ended_matches(PHASE_ENDED, limit)
        grown = await update.find_grown_disputes(limit)
        heads = [*ended, *grown, *await update.find_grown_administration()]
        nodes = []
        for head in heads:
            nodes += growing.append(proofs.leaf_hash(head))
        await update.add(heads, nodes)
        if heads or latest is None or not _signed_by(latest.note, keys):
            root = Checkpoint(keys[0].name, growing.size, growing.root())
            await update.add_head(signing_keys.signed(root.text(), keys))
        return limit in (len(ended), len(grown))

    async def check_published(self) -> list[str | None]:
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
