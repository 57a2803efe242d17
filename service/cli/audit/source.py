"""Where an audit gets its matches: the database itself, or AuditService with an auditor's token."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial, update_wrapper
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

import click

from durak.v1 import audit_service_pb2 as api
from durak.v1.audit_service_pb2_grpc import AuditServiceStub
from eventstore import EventStore
from eventstore.whole_matches import WholeMatch
from service.audit import transcripts
from service.audit.payouts import verify_payouts
from service.audit.requests import TIME_FIRST, TIME_LAST
from service.checkpoints import proofs
from service.cli.client import Client
from service.cli.connection import NAMES, OPTIONS, Connection, make_connection
from service.cli.database import open_store
from service.cli.options import load_config, with_options
from service.judging.judge import judge
from service.judging.messages import record_message, report_message, state_at
from service.rpc.errors import Refused

PAGE_RECORDS: Final = 500
Answer = TypeVar("Answer")


class Source(Protocol):
    """What an audit asks for. Raises click.ClickException, CallRefused or ServerUnreachable."""

    async def report(self, match_id: UUID) -> api.AuditReport:
        """The verdict over a match."""

    async def records(self, match_id: UUID) -> list[api.StoredRecord]:
        """All records as stored."""

    async def state(self, match_id: UUID, version: int) -> api.OpenState:
        """The table at a version, with all hands; 0: the newest."""

    async def transcript(self, match_id: UUID) -> bytes:
        """The transcript."""

    def payouts(
        self, since: datetime | None, before: datetime | None
    ) -> AsyncIterator[api.VerifyPayoutsResponse]:
        """The verdict over the matches opened in a span of time, as it comes."""

    async def checkpoint(self, since_tree_size: int | None) -> api.GetCheckpointResponse:
        """The newest checkpoint, and the proof that it continues an older one.

        Without a proof where that is not older.
        """

    async def inclusion(self, match_id: UUID) -> api.GetInclusionProofResponse:
        """The proof that a match is in the newest checkpoint."""


class Database:
    """The matches of an opened store."""

    def __init__(self, store: EventStore) -> None:
        self._store = store

    async def report(self, match_id: UUID) -> api.AuditReport:
        """As the protocol says."""
        return report_message(*judge(await self._match(match_id))[:2])

    async def records(self, match_id: UUID) -> list[api.StoredRecord]:
        """As the protocol says."""
        return [record_message(one) for one in (await self._match(match_id)).records]

    async def state(self, match_id: UUID, version: int) -> api.OpenState:
        """As the protocol says."""
        match = await self._match(match_id)
        head = len(match.records)
        if version > head:
            raise click.ClickException(f"the match has {head} versions only")
        try:
            return state_at(match, version or head)
        except Refused:
            raise click.ClickException("the records up to there make no match") from None

    async def transcript(self, match_id: UUID) -> bytes:
        """As the protocol says."""
        return await transcripts.export(await self._match(match_id), self._store.checkpoints)

    def payouts(
        self, since: datetime | None, before: datetime | None
    ) -> AsyncIterator[api.VerifyPayoutsResponse]:
        """As the protocol says; on every core."""
        span = since or TIME_FIRST, before or TIME_LAST
        return verify_payouts(self._store, os.cpu_count() or 1, *span)

    async def checkpoint(self, since_tree_size: int | None) -> api.GetCheckpointResponse:
        """As the protocol says."""
        head = await self._store.checkpoints.read_latest_head()
        if head is None:
            raise click.ClickException("nothing is signed yet: `durak key new` makes a key")
        found = api.GetCheckpointResponse(checkpoint=head.note)
        found.sign_time.FromDatetime(head.signed_at)
        if since_tree_size is not None and since_tree_size <= head.tree_size:
            nodes = self._store.checkpoints.read_nodes
            proof = await proofs.consistency_proof(since_tree_size, head.tree_size, nodes)
            found.consistency_hashes.extend(proof)
        return found

    async def inclusion(self, match_id: UUID) -> api.GetInclusionProofResponse:
        """As the protocol says."""
        await self._match(match_id)
        head = await self._store.checkpoints.read_latest_head()
        leaf = await self._store.checkpoints.read_leaf(match_id)
        if head is None or leaf is None or leaf.leaf_index >= head.tree_size:
            raise click.ClickException("the match is in no checkpoint yet")
        return api.GetInclusionProofResponse(
            inclusion=await transcripts.inclusion(leaf, head, self._store.checkpoints),
            last_version=leaf.version,
            head_hash=leaf.head_hash,
            checkpoint=head.note,
        )

    async def _match(self, match_id: UUID) -> WholeMatch:
        [match] = await self._store.whole_matches.read([match_id])
        if not match.records:
            raise click.ClickException(f"there is no match {match_id} in this database")
        return match


class Remote:
    """The matches that a service shows to an auditor."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stub = AuditServiceStub(client.channel)

    async def report(self, match_id: UUID) -> api.AuditReport:
        """As the protocol says."""
        request = api.VerifyMatchRequest(match_id=str(match_id))
        return (await self._client.call(self._stub.VerifyMatch, request)).report

    async def records(self, match_id: UUID) -> list[api.StoredRecord]:
        """As the protocol says."""
        request = api.ReadEventsRequest(match_id=str(match_id), page_size=PAGE_RECORDS)
        found: list[api.StoredRecord] = []
        while True:
            page = await self._client.call(self._stub.ReadEvents, request)
            found += page.records
            request.page_token = page.next_page_token
            if not request.page_token:
                return found

    async def state(self, match_id: UUID, version: int) -> api.OpenState:
        """As the protocol says."""
        request = api.GetStateAtRequest(match_id=str(match_id), version=version)
        return (await self._client.call(self._stub.GetStateAt, request)).state

    async def transcript(self, match_id: UUID) -> bytes:
        """As the protocol says."""
        request = api.ExportMatchRequest(match_id=str(match_id))
        return (await self._client.call(self._stub.ExportMatch, request)).transcript

    async def payouts(
        self, since: datetime | None, before: datetime | None
    ) -> AsyncGenerator[api.VerifyPayoutsResponse, None]:
        """As the protocol says."""
        request = api.VerifyPayoutsRequest()
        if since is not None:
            request.start_time.FromDatetime(since)
        if before is not None:
            request.end_time.FromDatetime(before)
        async for response in self._client.stream(self._stub.VerifyPayouts, request):
            yield response

    async def checkpoint(self, since_tree_size: int | None) -> api.GetCheckpointResponse:
        """As the protocol says."""
        get, request = self._stub.GetCheckpoint, api.GetCheckpointRequest()
        found = await self._client.call(get, request)
        size = int(found.checkpoint.split("\n")[1])
        if since_tree_size is None or since_tree_size > size:
            return found
        request = api.GetCheckpointRequest(tree_size=size, since_tree_size=since_tree_size)
        return await self._client.call(get, request)

    async def inclusion(self, match_id: UUID) -> api.GetInclusionProofResponse:
        """As the protocol says."""
        request = api.GetInclusionProofRequest(match_id=str(match_id))
        return await self._client.call(self._stub.GetInclusionProof, request)


@dataclass(frozen=True, slots=True)
class Access:
    """What the options of a command say: how to open its source, and how to speak."""

    open: Callable[[], AbstractAsyncContextManager[Source]]
    """Use it as ``async with access.open() as source:``."""
    data_dir: Path | None
    language: str

    def ask(self, question: Callable[[Source], Awaitable[Answer]]) -> Answer:
        """Open the source, ask it one question, and give the answer."""

        async def run() -> Answer:
            async with self.open() as source:
                return await question(source)

        return asyncio.run(run())


def with_audit_access(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say where its matches are, and for them an `Access`."""

    def run(**given: Any) -> None:  # noqa: ANN401 - the options below and the command's own
        own = {name: given.pop(name) for name in NAMES}
        data_dir, language = own["data_dir"], own["language"]
        if own["server"] is None:
            access = Access(partial(_database, data_dir), data_dir, language)
        else:
            connection = make_connection(**own, role="auditor")
            access = Access(partial(_remote, connection), data_dir, language)
        command(access=access, **given)

    return with_options(*OPTIONS)(update_wrapper(run, command))


@asynccontextmanager
async def _database(data_dir: Path | None) -> AsyncGenerator[Database, None]:
    async with open_store(load_config(data_dir)) as store:
        yield Database(store)


@asynccontextmanager
async def _remote(connection: Connection) -> AsyncGenerator[Remote, None]:
    async with connection.client() as client:
        yield Remote(client)
