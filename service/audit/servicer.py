"""AuditService: open matches, audits, transcripts, and the transparency log.

For auditors, who see no match open at which they have or had a seat.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from typing import TypeVar
from uuid import UUID

from domain.match.view import timestamp
from durak.v1 import audit_service_pb2 as api
from durak.v1 import audit_service_pb2_grpc as api_grpc
from durak.v1 import errors_pb2 as reasons
from eventstore import EventStore
from eventstore.checkpoints import LeafKind, SignedHead
from eventstore.whole_matches import WholeMatch
from service.administration.log import stored_message
from service.audit import requests, transcripts
from service.audit.cases import read_cases
from service.audit.flags import flag_rules, list_flags
from service.audit.payouts import verify_payouts
from service.checkpoints import proofs
from service.checkpoints.proofs import TreeBrokenError
from service.checkpoints.seals import Seals
from service.config import Config
from service.judging.access import OpenMatches, match_not_found
from service.judging.judge import judge
from service.judging.messages import folded_state, record_message, report_message
from service.rpc.call import Context, current_call
from service.rpc.errors import Refused, refuse
from service.rpc.page_tokens import seal_number, unseal_number
from service.times import Now

Proof = TypeVar("Proof")


class AuditService(api_grpc.AuditServiceServicer):
    """The servicer. The interceptor turns its exceptions into statuses."""

    def __init__(self, store: EventStore, config: Config, now_us: Now) -> None:
        """Serve the matches of this store."""
        self._rules = flag_rules(config)
        self._store = store
        self._seals = Seals(store.checkpoints, config.note_key_file)
        self._open_matches = OpenMatches(store, config, now_us)
        self._processes = config.audit_processes
        self._is_verifying = False

    async def ReadEvents(
        self, request: api.ReadEventsRequest, context: Context
    ) -> api.ReadEventsResponse:
        """Return a page of records as stored."""
        match_id, size = requests.read_events(request)
        filters = match_id.bytes + request.after_version.to_bytes(4)
        token = request.page_token
        after = unseal_number(token, filters) if token else request.after_version
        await self._check_openable(match_id)
        page = await self._store.read(match_id, after, size)
        head = await self._store.read_head(match_id)
        head_version = 0 if head is None else head.version
        has_more = bool(page) and page[-1].version < head_version
        return api.ReadEventsResponse(
            records=map(record_message, page),
            head_version=head_version,
            next_page_token=seal_number(page[-1].version, filters) if has_more else "",
        )

    async def GetStateAt(
        self, request: api.GetStateAtRequest, context: Context
    ) -> api.GetStateAtResponse:
        """Return the table at a version, with all hands."""
        match_id = requests.get_state_at(request)
        await self._check_openable(match_id)
        version = request.version if request.HasField("version") else None
        records = await self._store.read(match_id, limit=version)
        if version is not None and len(records) < version:
            head_version = str(len(records))
            raise refuse(reasons.ERROR_REASON_VERSION_BEYOND_HEAD, head_version=head_version)
        return api.GetStateAtResponse(state=folded_state(match_id, records))

    async def VerifyMatch(
        self, request: api.VerifyMatchRequest, context: Context
    ) -> api.VerifyMatchResponse:
        """Audit one match."""
        match_id = requests.of_match(request)
        await self._check_openable(match_id)
        [case] = await read_cases(self._store, self._seals, [match_id])
        audited = await asyncio.to_thread(judge, *case)
        return api.VerifyMatchResponse(report=report_message(audited.match_id, audited.report))

    async def ExportMatch(
        self, request: api.ExportMatchRequest, context: Context
    ) -> api.ExportMatchResponse:
        """Return the transcript of a match."""
        match = await self._open(requests.of_match(request))
        transcript = await _proven(transcripts.export(match, self._store.checkpoints))
        return api.ExportMatchResponse(transcript=transcript)

    async def GetCheckpoint(
        self, request: api.GetCheckpointRequest, context: Context
    ) -> api.GetCheckpointResponse:
        """Return a checkpoint, and the proof that it continues an older one."""
        head = await self._head(requests.get_checkpoint(request))
        hashes: list[bytes] = []
        if request.HasField("since_tree_size"):
            since = request.since_tree_size
            if since > head.tree_size:
                raise _no_checkpoint(since)
            nodes = self._store.checkpoints.read_nodes
            hashes = await _proven(proofs.consistency_proof(since, head.tree_size, nodes))
        response = api.GetCheckpointResponse(checkpoint=head.note, consistency_hashes=hashes)
        response.sign_time.FromDatetime(head.signed_at)
        return response

    async def GetInclusionProof(
        self, request: api.GetInclusionProofRequest, context: Context
    ) -> api.GetInclusionProofResponse:
        """Return the proof that a stream is in the tree of a checkpoint."""
        kind, stream_id, tree_size = requests.get_inclusion_proof(request)
        await self._check_exists(kind, stream_id)
        head = await self._head(tree_size)
        checkpoints = self._store.checkpoints
        leaf = await checkpoints.read_leaf(kind, stream_id, head.tree_size)
        if leaf is None:
            names = {LeafKind.MATCH: "match_id", LeafKind.DISPUTE: "dispute_id"}
            metadata = {names[kind]: str(stream_id)} if kind in names else {}
            raise refuse(reasons.ERROR_REASON_NOT_IN_CHECKPOINT, **metadata)
        proof = proofs.prove_leaf(leaf, head.tree_size, checkpoints.read_nodes)
        return api.GetInclusionProofResponse(
            inclusion=await _proven(proof),
            last_version=leaf.head.version,
            head_hash=leaf.head.head_hash,
            checkpoint=head.note,
        )

    async def OpenMatch(
        self, request: api.OpenMatchRequest, context: Context
    ) -> api.OpenMatchResponse:
        """Record access to a running match."""
        match_id, request_id = requests.open_match(request)
        end_us = await self._open_matches.open(match_id, request_id, request.reason, current_call())
        return api.OpenMatchResponse(end_time=timestamp(end_us))

    async def ListAdministrativeEvents(
        self, request: api.ListAdministrativeEventsRequest, context: Context
    ) -> api.ListAdministrativeEventsResponse:
        """Return a page of the administrative log, newest first."""
        size = requests.list_administrative_events(request)
        filters = b"administration" + bytes((request.kind,)) + request.actor_id.encode()
        token = request.page_token
        found = await self._store.administration.list_acts(
            actor=request.actor_id or None,
            kind=request.kind or None,
            before=unseal_number(token, filters) if token else None,
            limit=size + 1,  # one more shows whether there is another page
        )
        page, has_more = found[:size], len(found) > size
        return api.ListAdministrativeEventsResponse(
            records=map(stored_message, page),
            next_page_token=seal_number(page[-1].version, filters) if has_more else "",
        )

    async def VerifyPayouts(
        self, request: api.VerifyPayoutsRequest, context: Context
    ) -> AsyncIterator[api.VerifyPayoutsResponse]:
        """Audit many matches, and then the whole ledger."""
        since, before = requests.verify_payouts(request)
        if self._is_verifying:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        self._is_verifying = True
        try:
            caller_id = current_call().caller.subject
            judging = verify_payouts(
                self._store, self._processes, since, before, self._seals, caller_id
            )
            async with aclosing(judging) as responses:  # a client that leaves ends the work
                async for response in responses:
                    yield response
        finally:
            self._is_verifying = False

    async def ListFlags(
        self, request: api.ListFlagsRequest, context: Context
    ) -> api.ListFlagsResponse:
        """Return a page of flags."""
        return await list_flags(self._store.standings, self._rules, request)

    async def _check_openable(self, match_id: UUID) -> None:
        await self._open_matches.check(match_id, current_call())

    async def _open(self, match_id: UUID) -> WholeMatch:
        """Return a whole match that the caller may see open. Raises as `check_openable`."""
        await self._check_openable(match_id)
        [match] = await self._store.whole_matches.read([match_id])
        return match

    async def _check_exists(self, kind: LeafKind, stream_id: UUID) -> None:
        """Refuse a match or dispute without records. Raises Refused."""
        if kind is LeafKind.MATCH:
            if await self._store.read_head(stream_id) is None:
                raise match_not_found(stream_id)
        elif kind is LeafKind.DISPUTE and not await self._store.disputes.read(stream_id):
            raise refuse(reasons.ERROR_REASON_DISPUTE_NOT_FOUND, dispute_id=str(stream_id))

    async def _head(self, tree_size: int | None) -> SignedHead:
        checkpoints = self._store.checkpoints
        head = await (
            checkpoints.read_latest_head()
            if tree_size is None
            else checkpoints.read_head(tree_size)
        )
        if head is None:
            raise _no_checkpoint(tree_size)
        return head


async def _proven(proof: Awaitable[Proof]) -> Proof:
    """Return a proof from the stored tree. Raises Refused LOG_CORRUPT if the tree is broken."""
    try:
        return await proof
    except TreeBrokenError as error:
        raise refuse(reasons.ERROR_REASON_LOG_CORRUPT) from error


def _no_checkpoint(tree_size: int | None) -> Refused:
    size = "" if tree_size is None else str(tree_size)
    return refuse(reasons.ERROR_REASON_CHECKPOINT_NOT_FOUND, tree_size=size)
