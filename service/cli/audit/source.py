"""The source of the matches to audit: the database itself, or AuditService."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial, update_wrapper
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

import click

from durak.v1 import audit_service_pb2 as api
from durak.v1.audit_service_pb2_grpc import AuditServiceStub
from durak.v1.dispute_service_pb2 import GetDisputeRequest
from durak.v1.dispute_service_pb2_grpc import DisputeServiceStub
from eventstore import EventStore, next_hash
from eventstore.checkpoints import LeafKind
from eventstore.disputes import first_dispute_hash
from eventstore.whole_matches import WholeMatch
from service.audit import transcripts
from service.audit.cases import read_cases
from service.audit.flags import flag_rules, list_flags
from service.audit.payouts import verify_payouts
from service.audit.requests import TIME_FIRST, TIME_LAST
from service.checkpoints import proofs
from service.checkpoints.seals import Seals
from service.cli.client import Client
from service.cli.connection import OPTION_NAMES, OPTIONS, Connection, make_connection
from service.cli.database import open_store
from service.cli.exits import CommandError
from service.cli.options import load_config, with_options
from service.config import Config
from service.disputes.streams import read_dispute
from service.judging.judge import judge
from service.judging.messages import folded_state, record_message, report_message
from service.rpc.errors import Refused

_PAGE_SIZE: Final = 500
_SERVER: Final = click.option(
    "--server",
    metavar="HOST:PORT",
    envvar="DURAK_SERVER",
    help="Ask the service at this address, as an auditor, instead of reading the database.  "
    "[env var: DURAK_SERVER]",
)
Answer = TypeVar("Answer")


class Source(Protocol):
    """A source of matches. Raises CommandError, CallRefused or ServerUnreachable."""

    async def report(self, match_id: UUID) -> api.AuditReport:
        """Return the verdict on a match."""

    async def records(self, match_id: UUID) -> list[api.StoredRecord]:
        """Return all records as stored."""

    async def state(self, match_id: UUID, version: int) -> api.OpenState:
        """Return the table at a version with all hands; 0 means the newest version."""

    async def transcript(self, match_id: UUID) -> bytes:
        """Return the transcript file."""

    def payouts(
        self, since: datetime | None, before: datetime | None
    ) -> AsyncIterator[api.VerifyPayoutsResponse]:
        """Yield the verdict on the matches opened in a period, and progress."""

    async def checkpoint(self, since_tree_size: int | None) -> api.GetCheckpointResponse:
        """Return the newest checkpoint, and the proof that it continues an older one.

        The proof is empty if the given tree is not older.
        """

    async def inclusion(self, match_id: UUID) -> api.GetInclusionProofResponse:
        """Return the proof that a match is in the newest checkpoint."""

    async def dispute_inclusion(self, dispute_id: UUID) -> api.GetInclusionProofResponse:
        """Return the proof that a version of a dispute is in the newest checkpoint."""

    async def dispute_hashes(self, dispute_id: UUID) -> list[bytes]:
        """Return the hashes of the chain of a dispute, by version from 1."""

    async def flags(self, request: api.ListFlagsRequest) -> api.ListFlagsResponse:
        """Return a page of flags."""


class Database:
    """The matches of an open event store."""

    def __init__(self, store: EventStore, config: Config) -> None:
        self._store = store
        self._seals = Seals(store.checkpoints, config.note_key_file)
        self._rules = flag_rules(config)

    async def report(self, match_id: UUID) -> api.AuditReport:
        """See `Source`."""
        await self._match(match_id)
        [case] = await read_cases(self._store, self._seals, [match_id])
        return report_message(*judge(*case)[:2])

    async def records(self, match_id: UUID) -> list[api.StoredRecord]:
        """See `Source`."""
        return [record_message(one) for one in (await self._match(match_id)).records]

    async def state(self, match_id: UUID, version: int) -> api.OpenState:
        """See `Source`."""
        match = await self._match(match_id)
        head = len(match.records)
        if version > head:
            raise CommandError(f"the match has no version {version}: the last is {head}")
        try:
            return folded_state(match_id, match.records[: version or head])
        except Refused:
            raise CommandError("the records up to this version do not make a match") from None

    async def transcript(self, match_id: UUID) -> bytes:
        """See `Source`."""
        return await transcripts.export(await self._match(match_id), self._store.checkpoints)

    def payouts(
        self, since: datetime | None, before: datetime | None
    ) -> AsyncIterator[api.VerifyPayoutsResponse]:
        """See `Source`. Uses all cores."""
        span = since or TIME_FIRST, before or TIME_LAST
        return verify_payouts(self._store, os.cpu_count() or 1, *span, self._seals)

    async def checkpoint(self, since_tree_size: int | None) -> api.GetCheckpointResponse:
        """See `Source`."""
        head = await self._store.checkpoints.read_latest_head()
        if head is None:
            raise CommandError("there is no checkpoint yet: `durak key new` makes a signing key")
        found = api.GetCheckpointResponse(checkpoint=head.note)
        found.sign_time.FromDatetime(head.signed_at)
        if since_tree_size is not None and since_tree_size <= head.tree_size:
            nodes = self._store.checkpoints.read_nodes
            proof = await proofs.consistency_proof(since_tree_size, head.tree_size, nodes)
            found.consistency_hashes.extend(proof)
        return found

    async def inclusion(self, match_id: UUID) -> api.GetInclusionProofResponse:
        """See `Source`."""
        await self._match(match_id)
        return await self._inclusion(LeafKind.MATCH, match_id)

    async def dispute_inclusion(self, dispute_id: UUID) -> api.GetInclusionProofResponse:
        """See `Source`."""
        return await self._inclusion(LeafKind.DISPUTE, dispute_id)

    async def dispute_hashes(self, dispute_id: UUID) -> list[bytes]:
        """See `Source`."""
        return [one.hash for one in (await read_dispute(self._store, dispute_id)).stored]

    async def _inclusion(self, kind: LeafKind, stream_id: UUID) -> api.GetInclusionProofResponse:
        checkpoints = self._store.checkpoints
        head = await checkpoints.read_latest_head()
        size = 0 if head is None else head.tree_size
        leaf = await checkpoints.read_leaf(kind, stream_id, size)
        if head is None or leaf is None:
            raise CommandError(f"{stream_id} is not in a checkpoint yet")
        return api.GetInclusionProofResponse(
            inclusion=await proofs.prove_leaf(leaf, size, checkpoints.read_nodes),
            last_version=leaf.head.version,
            head_hash=leaf.head.head_hash,
            checkpoint=head.note,
        )

    async def flags(self, request: api.ListFlagsRequest) -> api.ListFlagsResponse:
        """See `Source`."""
        return await list_flags(self._store.standings, self._rules, request)

    async def _match(self, match_id: UUID) -> WholeMatch:
        [match] = await self._store.whole_matches.read([match_id])
        if not match.records:
            raise CommandError(f"there is no match {match_id} in this database")
        return match


class Service:
    """The matches of a service, for an auditor."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stub = AuditServiceStub(client.channel)

    async def report(self, match_id: UUID) -> api.AuditReport:
        """See `Source`."""
        request = api.VerifyMatchRequest(match_id=str(match_id))
        return (await self._client.call(self._stub.VerifyMatch, request)).report

    async def records(self, match_id: UUID) -> list[api.StoredRecord]:
        """See `Source`."""
        request = api.ReadEventsRequest(match_id=str(match_id), page_size=_PAGE_SIZE)
        found: list[api.StoredRecord] = []
        while True:
            page = await self._client.call(self._stub.ReadEvents, request)
            found += page.records
            request.page_token = page.next_page_token
            if not request.page_token:
                return found

    async def state(self, match_id: UUID, version: int) -> api.OpenState:
        """See `Source`."""
        request = api.GetStateAtRequest(match_id=str(match_id), version=version or None)
        return (await self._client.call(self._stub.GetStateAt, request)).state

    async def transcript(self, match_id: UUID) -> bytes:
        """See `Source`."""
        request = api.ExportMatchRequest(match_id=str(match_id))
        return (await self._client.call(self._stub.ExportMatch, request)).transcript

    async def payouts(
        self, since: datetime | None, before: datetime | None
    ) -> AsyncGenerator[api.VerifyPayoutsResponse, None]:
        """See `Source`."""
        request = api.VerifyPayoutsRequest()
        if since is not None:
            request.start_time.FromDatetime(since)
        if before is not None:
            request.end_time.FromDatetime(before)
        async for response in self._client.stream(self._stub.VerifyPayouts, request):
            yield response

    async def checkpoint(self, since_tree_size: int | None) -> api.GetCheckpointResponse:
        """See `Source`."""
        get, request = self._stub.GetCheckpoint, api.GetCheckpointRequest()
        found = await self._client.call(get, request)
        size = int(found.checkpoint.split("\n")[1])
        if since_tree_size is None or since_tree_size > size:
            return found
        request = api.GetCheckpointRequest(tree_size=size, since_tree_size=since_tree_size)
        return await self._client.call(get, request)

    async def inclusion(self, match_id: UUID) -> api.GetInclusionProofResponse:
        """See `Source`."""
        request = api.GetInclusionProofRequest(match_id=str(match_id))
        return await self._client.call(self._stub.GetInclusionProof, request)

    async def dispute_inclusion(self, dispute_id: UUID) -> api.GetInclusionProofResponse:
        """See `Source`."""
        request = api.GetInclusionProofRequest(dispute_id=str(dispute_id))
        return await self._client.call(self._stub.GetInclusionProof, request)

    async def dispute_hashes(self, dispute_id: UUID) -> list[bytes]:
        """See `Source`. The chain is computed here, from the records that the service shows."""
        stub = DisputeServiceStub(self._client.channel)
        request = GetDisputeRequest(dispute_id=str(dispute_id))
        records = (await self._client.call(stub.GetDispute, request)).records
        stored = (one.SerializeToString(deterministic=True) for one in records)
        return list(accumulate(stored, next_hash, initial=first_dispute_hash(dispute_id)))[1:]

    async def flags(self, request: api.ListFlagsRequest) -> api.ListFlagsResponse:
        """See `Source`."""
        return await self._client.call(self._stub.ListFlags, request)


@dataclass(frozen=True, slots=True)
class Access:
    """The source that the options of a command choose, and the output language."""

    open: Callable[[], AbstractAsyncContextManager[Source]]
    """For ``async with access.open() as source:``."""
    data_dir: Path | None
    language: str

    def query(self, question: Callable[[Source], Awaitable[Answer]]) -> Answer:
        """Open the source and return its answer to one question, from outside an event loop."""

        async def run() -> Answer:
            async with self.open() as source:
                return await question(source)

        return asyncio.run(run())


def with_audit_access(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the options that choose a source by one argument, an `Access`."""

    def run(**given: Any) -> None:  # noqa: ANN401 - the options below and the command's own
        own = {name: given.pop(name) for name in OPTION_NAMES}
        data_dir, language = own["data_dir"], own["language"]
        if own["server"] is None:
            command(access=Access(partial(_database, data_dir), data_dir, language), **given)
            return
        connection = make_connection(own, "auditor")
        with connection.explaining_refusals():
            command(access=Access(partial(_service, connection), data_dir, language), **given)

    return with_options(_SERVER, *OPTIONS[1:])(update_wrapper(run, command))


@asynccontextmanager
async def _database(data_dir: Path | None) -> AsyncGenerator[Database, None]:
    config = load_config(data_dir)
    async with open_store(config) as store:
        yield Database(store, config)


@asynccontextmanager
async def _service(connection: Connection) -> AsyncGenerator[Service, None]:
    async with connection.client() as client:
        yield Service(client)
