"""Helpers that write streams and check them."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg

from eventstore import (
    Append,
    EventStore,
    Head,
    StoredRecord,
    first_hash,
    next_hash,
    verify_chain,
)
from eventstore.administration import FIRST_ADMINISTRATION_HASH, Act, AdministrativeAppend
from eventstore.disputes import ListedDispute, first_dispute_hash
from eventstore.errors import VersionConflict
from eventstore.ledger.ledger import Grant

TIMEOUT_SECONDS = 30.0
OPENED = datetime(2026, 1, 1, tzinfo=UTC)
OPEN, UPHELD = 1, 3


@dataclass
class Writer:
    """Appends to one stream and keeps its head."""

    store: EventStore
    stream_id: UUID = field(default_factory=uuid4)
    head: Head = field(default_factory=lambda: Head(0, b""))

    def __post_init__(self) -> None:
        if not self.head.hash:
            self.head = Head(0, first_hash(self.stream_id))

    def command(self, *records: bytes) -> Append:
        return Append(self.stream_id, self.head.version, self.head.hash, records)

    async def add(self, *records: bytes) -> Head:
        self.head = await self.store.append(self.command(*records))
        return self.head

    async def catch_up(self) -> None:
        head = await self.store.read_head(self.stream_id)
        self.head = head or Head(0, first_hash(self.stream_id))


@dataclass
class StoredDispute:
    """Appends to one dispute and keeps its head."""

    store: EventStore
    match_id: UUID = field(default_factory=uuid4)
    opened_by: str = "anna"
    opened_at: datetime = OPENED
    dispute_id: UUID = field(default_factory=uuid4)
    version: int = 0
    link: bytes = b""

    def __post_init__(self) -> None:
        self.link = first_dispute_hash(self.dispute_id)

    async def add(
        self,
        record: bytes,
        status: int = OPEN,
        corrections: Mapping[str, int] | None = None,
    ) -> None:
        version, link = self.version + 1, next_hash(self.link, record)
        row = ListedDispute(
            self.dispute_id, self.match_id, self.opened_by, status, self.opened_at, version, record
        )
        stored = StoredRecord(version, record, link)
        await self.store.disputes.append(row, stored, self.link, corrections or {}, "otto")
        self.version, self.link = version, link


async def assert_whole(store: EventStore, stream_id: UUID) -> list[bytes]:
    """Check the versions, the hash chain and the head of a stream, and return its records."""
    stored = await store.read(stream_id)
    assert [record.version for record in stored] == list(range(1, len(stored) + 1))
    head_hash = verify_chain(stream_id, [(record.record, record.hash) for record in stored])
    assert await store.read_head(stream_id) == ((len(stored), head_hash) if stored else None)
    return [record.record for record in stored]


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait until the condition is true. Fail after TIMEOUT_SECONDS."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not await condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        await asyncio.sleep(0.005)


async def blocked(connection: asyncpg.Connection[asyncpg.Record], count: int = 1) -> None:
    """Wait until `count` other sessions of this database wait for a lock."""

    async def waiting() -> bool:
        found = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(found >= count)

    await until(waiting)


@contextmanager
def server_folder() -> Iterator[Path]:
    """A folder for the server of one test. The account that runs PostgreSQL can reach it."""
    with tempfile.TemporaryDirectory(prefix="durak-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


async def grant(
    store: EventStore, grant_id: UUID, player: str, coins: int, actor: str = "operator"
) -> None:
    """Issue coins with a record in the administrative log, once for each id."""
    data = f"{player} {coins}".encode()
    while True:
        last = await store.administration.read_last()
        if await store.administration.find(actor, grant_id):
            return None
        act = next_act(last, data, actor=actor, subject=player, request_id=grant_id)
        with suppress(VersionConflict):
            return await store.administration.append(act, Grant(grant_id, player, coins, actor))


def next_act(
    last: StoredRecord | None,
    data: bytes,
    *,
    kind: int = 1,
    actor: str = "operator",
    subject: str = "ann",
    request_id: UUID | None = None,
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC),
) -> AdministrativeAppend:
    """Return the record that follows the last one of the administrative log."""
    version, link = (last.version, last.hash) if last else (0, FIRST_ADMINISTRATION_HASH)
    link_after = next_hash(link, data)
    act = Act(version + 1, data, link_after, kind, actor, subject, request_id or uuid4(), at)
    return AdministrativeAppend(act, link)
