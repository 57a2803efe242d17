"""AuditService: open matches, judged. For auditors, of matches that are not their own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from typing import TypeVar
from uuid import UUID

from durak.v1 import audit_service_pb2 as api
from durak.v1 import audit_service_pb2_grpc as api_grpc
from durak.v1 import errors_pb2 as reasons
from eventstore import EventStore
from eventstore.checkpoints import SignedHead
from eventstore.whole_matches import WholeMatch
from service.audit import requests, transcripts
from service.audit.payouts import verify_payouts
from service.checkpoints import proofs
from service.checkpoints.proofs import TreeBrokenError
from service.judging.access import check_openable
from service.judging.judge import judge
from service.judging.messages import record_message, report_message, state_at
from service.rpc.call import Context, current_call
from service.rpc.errors import refuse
from service.rpc.page_tokens import seal_number, unseal_number

Proof = TypeVar("Proof")


class AuditService(api_grpc.AuditServiceServicer):
    """The servicer. Whatever it raises, the interceptor turns into a status."""

    def __init__(self, store: EventStore, processes: int) -> None:
        """Serve what stands in this store; judge many matches on so many processes."""
        self._store = store
        self._processes = processes
        self._is_verifying = False

    async def ReadEvents(
        self, request: api.ReadEventsRequest, context: Context
    ) -> api.ReadEventsResponse:
        """A page of records as stored."""
        match_id, size = requests.read_events(request)
        filters = match_id + request.after_version.to_bytes(4)
        token = request.page_token
        after = unseal_number(token, filters) if token else request.after_version
        match = await self._open(match_id)
        head = match.records[-1].version
        page = [one for one in match.records if one.version > after][:size]
        more = bool(page) and page[-1].version < head
        return api.ReadEventsResponse(
            records=map(record_message, page),
            head_version=head,
            next_page_token=seal_number(page[-1].version, filters) if more else "",
        )

    async def GetStateAt(
        self, request: api.GetStateAtRequest, context: Context
    ) -> api.GetStateAtResponse:
        """The table at a version, with all hands."""
        match = await self._open(requests.of_match(request))
        head = len(match.records)
        version = request.version if request.HasField("version") else head
        if version > head:
            reason = reasons.ERROR_REASON_VERSION_BEYOND_HEAD
            raise refuse(reason, head_version=str(head))
        return api.GetStateAtResponse(state=state_at(match, version))

    async def VerifyMatch(
        self, request: api.VerifyMatchRequest, context: Context
    ) -> api.VerifyMatchResponse:
        """The verdict over one match."""
        match = await self._open(requests.of_match(request))
        audited = await asyncio.to_thread(judge, match)
        return api.VerifyMatchResponse(report=report_message(*audited[:2]))

    async def ExportMatch(
        self, request: api.ExportMatchRequest, context: Context
    ) -> api.ExportMatchResponse:
        """The transcript."""
        match = await self._open(requests.of_match(request))
        return api.ExportMatchResponse(
            transcript=await _whole(transcripts.export(match, self._store.checkpoints))
        )

    async def GetCheckpoint(
        self, request: api.GetCheckpointRequest, context: Context
    ) -> api.GetCheckpointResponse:
        """A checkpoint, and that it continues an older one."""
        requests.get_checkpoint(request)
        head = await self._head(request.tree_size if request.HasField("tree_size") else None)
        hashes: list[bytes] = []
        if request.HasField("since_tree_size"):
            since = request.since_tree_size
            if since > head.tree_size:
                raise _no_checkpoint(since)
            nodes = self._store.checkpoints.read_nodes
            hashes = await _whole(proofs.consistency_proof(since, head.tree_size, nodes))
        response = api.GetCheckpointResponse(checkpoint=head.note, consistency_hashes=hashes)
        response.sign_time.FromDatetime(head.signed_at)
        return response

    async def GetInclusionProof(
        self, request: api.GetInclusionProofRequest, context: Context
    ) -> api.GetInclusionProofResponse:
        """That a match is in the tree of a checkpoint."""
        match_id = UUID(bytes=requests.of_match(request))
        leaf = await self._store.checkpoints.read_leaf(match_id)
        if leaf is None and await self._store.read_head(match_id) is None:
            raise _no_match(match_id)
        head = await self._head(request.tree_size if request.HasField("tree_size") else None)
        if leaf is None or leaf.leaf_index >= head.tree_size:
            raise refuse(reasons.ERROR_REASON_NOT_IN_CHECKPOINT, match_id=str(match_id))
        return api.GetInclusionProofResponse(
            inclusion=await _whole(transcripts.inclusion(leaf, head, self._store.checkpoints)),
            last_version=leaf.version,
            head_hash=leaf.head_hash,
            checkpoint=head.note,
        )

    async def VerifyPayouts(
        self, request: api.VerifyPayoutsRequest, context: Context
    ) -> AsyncIterator[api.VerifyPayoutsResponse]:
        """The verdict over many matches, and the ledger as a whole."""
        since, before = requests.verify_payouts(request)
        if self._is_verifying:
            raise refuse(reasons.ERROR_REASON_OVERLOADED)
        self._is_verifying = True
        try:
            caller_id = current_call().caller.subject
            judging = verify_payouts(self._store, self._processes, since, before, caller_id)
            async with aclosing(judging) as responses:  # also where the client leaves
                async for response in responses:
                    yield response
        finally:
            self._is_verifying = False

    async def _open(self, match_id: bytes) -> WholeMatch:
        """A match that the caller may see open.

        Raises Refused MATCH_NOT_FOUND, OWN_MATCH or MATCH_NOT_DEALT.
        """
        [match] = await self._store.whole_matches.read([UUID(bytes=match_id)])
        if not match.records:
            raise _no_match(match.match_id)
        check_openable(match, current_call().caller.subject)
        return match

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


async def _whole(proof: Awaitable[Proof]) -> Proof:
    """A proof from the stored tree. Raises Refused LOG_CORRUPT where that is broken."""
    try:
        return await proof
    except TreeBrokenError as error:
        raise refuse(reasons.ERROR_REASON_LOG_CORRUPT) from error


def _no_match(match_id: UUID) -> Exception:
    return refuse(reasons.ERROR_REASON_MATCH_NOT_FOUND, match_id=str(match_id))


def _no_checkpoint(tree_size: int | None) -> Exception:
    size = "" if tree_size is None else str(tree_size)
    return refuse(reasons.ERROR_REASON_CHECKPOINT_NOT_FOUND, tree_size=size)
