"""DisputeService: players complain, auditors rule, operators decide on corrections of coins."""

import asyncio
from typing import Final
from uuid import UUID

from google.protobuf.message import DecodeError

from domain import dispute as disputes
from domain.dispute import Dispute
from durak.v1 import dispute_service_pb2 as api
from durak.v1 import dispute_service_pb2_grpc as api_grpc
from durak.v1 import errors_pb2 as reasons
from eventstore import EventStore, PageKey
from eventstore.checkpoints import LeafKind
from eventstore.disputes import DisputeQuota, ListedDispute
from service.checkpoints.seals import Seals
from service.config import Config
from service.disputes import requests
from service.disputes.evidence import evidence
from service.disputes.requests import Target
from service.disputes.streams import DisputeStreams, dispute_message, read_corrected, read_dispute
from service.ids import dispute_id
from service.judging.access import OpenMatches
from service.judging.judge import Case
from service.rpc.call import Caller, Context, current_call
from service.rpc.errors import Refused, refuse
from service.rpc.failures import Failures
from service.rpc.page_tokens import seal_time, unseal_time
from service.rpc.set_aside import SetAside
from service.times import Now

_UNDECIDED: Final = (api.DISPUTE_STATUS_OPEN, api.DISPUTE_STATUS_CORRECTION_PENDING)


class DisputeService(api_grpc.DisputeServiceServicer):
    """The servicer. The interceptor turns its exceptions into statuses."""

    def __init__(self, store: EventStore, config: Config, failures: Failures, now_us: Now) -> None:
        """Serve the disputes of this store."""
        self._store = store
        self._now_us = now_us
        self._set_aside: SetAside[UUID] = SetAside("lists", failures)
        self._config = config
        self._seals = Seals(store.checkpoints, config.note_key_file)
        self._open_matches = OpenMatches(store, config, now_us)
        self._streams = DisputeStreams(store, config.conflict_retries_max, now_us)

    async def OpenDispute(
        self, request: api.OpenDisputeRequest, context: Context
    ) -> api.OpenDisputeResponse:
        """Open a dispute, as a player of the match."""
        request_id, match_id = requests.open_dispute(request)
        call = current_call()
        opened = api.DisputeOpened(match_id=str(match_id), reason=request.reason)
        if request.WhichOneof("about") == "payout":
            opened.payout.SetInParent()
        else:
            opened.version = request.version
        target = Target(UUID(bytes=dispute_id(request_id, call.caller.subject)), request_id)
        command = disputes.OpenDispute(opened, self._now_us(), self._config.dispute_window_seconds)
        quota = DisputeQuota(_UNDECIDED, self._config.open_disputes_max)
        dispute = await self._streams.perform(target, match_id, command, call, quota)
        return api.OpenDisputeResponse(dispute=dispute)

    async def GetDispute(
        self, request: api.GetDisputeRequest, context: Context
    ) -> api.GetDisputeResponse:
        """Return a dispute; for auditors with the evidence."""
        caller = current_call().caller
        asked = requests.get_dispute(request)
        # Leaves first: the records that they prove do not change.
        leaves = await self._seals.read(LeafKind.DISPUTE, [asked])
        log = await read_dispute(self._store, asked)
        _check_visible(log.dispute, caller)
        response = api.GetDisputeResponse(dispute=dispute_message(log.dispute), records=log.records)
        if "auditor" in caller.roles:
            complaint = log.dispute.complaint
            match_id = UUID(complaint.match_id)
            await self._open_matches.check(match_id, current_call())
            sealed = await self._seals.read(LeafKind.MATCH, [match_id])
            [match] = await self._store.whole_matches.read([match_id])
            case = Case(match, sealed.get(match_id, ()))
            response.evidence.CopyFrom(await asyncio.to_thread(evidence, case, complaint))
            intact = log.is_intact(asked, leaves.get(asked, ()))
            response.evidence.dispute_changed = not intact
            corrected = await read_corrected(self._store, match_id, asked)
            response.evidence.corrected.extend(corrected)
        return response

    async def ListDisputes(
        self, request: api.ListDisputesRequest, context: Context
    ) -> api.ListDisputesResponse:
        """Return a page of disputes, newest first. Players see their own."""
        caller = current_call().caller
        size, match_id = requests.list_disputes(request)
        opened_by = request.opened_by if _sees_all(caller) else caller.subject
        id_bytes = b"" if match_id is None else match_id.bytes
        filters = b"disputes" + bytes((request.status, len(id_bytes))) + id_bytes
        filters += opened_by.encode()
        token = request.page_token
        rows = await self._store.disputes.list_disputes(
            statuses=[request.status] if request.status else None,
            match_id=match_id,
            opened_by=opened_by or None,
            after=unseal_time(token, filters) if token else None,
            limit=size + 1,  # one more shows whether there is another page
        )
        page, has_more = rows[:size], len(rows) > size
        last = PageKey(page[-1].opened_at, page[-1].dispute_id) if has_more else None
        return api.ListDisputesResponse(
            disputes=[one for row in page if (one := self._read_summary(row)) is not None],
            next_page_token="" if last is None else seal_time(last, filters),
        )

    async def RuleOnDispute(
        self, request: api.RuleOnDisputeRequest, context: Context
    ) -> api.RuleOnDisputeResponse:
        """Rule on a dispute, as an auditor."""
        target = requests.rule_on_dispute(request)
        ruled = api.DisputeRuled(
            ruling=request.ruling, reason=request.reason, corrections=request.corrections
        )
        return api.RuleOnDisputeResponse(dispute=await self._decide(target, disputes.Rule(ruled)))

    async def DecideCorrection(
        self, request: api.DecideCorrectionRequest, context: Context
    ) -> api.DecideCorrectionResponse:
        """Decide on the corrections of a ruling, as an operator."""
        target = requests.decide_correction(request)
        decided = api.CorrectionDecided(decision=request.decision, reason=request.reason)
        dispute = await self._decide(target, disputes.DecideCorrection(decided))
        return api.DecideCorrectionResponse(dispute=dispute)

    def _read_summary(self, row: ListedDispute) -> api.Dispute | None:
        """Return the summary of a dispute, or None, reported once, if it is no message."""
        try:
            return api.Dispute.FromString(row.summary)
        except DecodeError as error:
            self._set_aside.add(row.dispute_id, error)
            return None

    async def _decide(self, target: Target, command: disputes.Command) -> api.Dispute:
        """Perform a command on a dispute that exists. Raises Refused."""
        dispute = (await read_dispute(self._store, target.dispute_id)).dispute
        if not dispute.version:
            raise _not_found(target.dispute_id)
        match_id = UUID(dispute.complaint.match_id)
        return await self._streams.perform(target, match_id, command, current_call())


def _sees_all(caller: Caller) -> bool:
    return not caller.roles.isdisjoint({"auditor", "operator"})


def _check_visible(dispute: Dispute, caller: Caller) -> None:
    if not dispute.version or not (_sees_all(caller) or dispute.opened_by == caller.subject):
        raise _not_found(UUID(bytes=dispute.dispute_id or bytes(16)))


def _not_found(missing: UUID) -> Refused:
    return refuse(reasons.ERROR_REASON_DISPUTE_NOT_FOUND, dispute_id=str(missing))
