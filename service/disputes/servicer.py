"""DisputeService: players complain, auditors rule by the evidence, operators sign off coins."""

import asyncio
from typing import Final
from uuid import UUID

from domain import dispute as disputing
from durak.v1 import dispute_service_pb2 as api
from durak.v1 import dispute_service_pb2_grpc as api_grpc
from durak.v1 import errors_pb2 as reasons
from eventstore import EventStore, PageKey
from eventstore.disputes import DisputeQuota, ListedDispute
from service.config import Config
from service.disputes import requests
from service.disputes.evidence import evidence
from service.disputes.streams import Disputes, Step, dispute_message
from service.ids import dispute_id
from service.judging.access import check_openable
from service.rpc.call import Caller, Context, current_call
from service.rpc.errors import Refused, refuse
from service.rpc.page_tokens import seal_time, unseal_time
from service.times import system_now_us

_UNDECIDED: Final = (api.DISPUTE_STATUS_OPEN, api.DISPUTE_STATUS_CORRECTION_PENDING)


class DisputeService(api_grpc.DisputeServiceServicer):
    """The servicer. Whatever it raises, the interceptor turns into a status."""

    def __init__(self, store: EventStore, config: Config) -> None:
        """Serve the disputes of this store."""
        self._store = store
        self._config = config
        self._disputes = Disputes(store, system_now_us)

    async def OpenDispute(
        self, request: api.OpenDisputeRequest, context: Context
    ) -> api.OpenDisputeResponse:
        """A player complains."""
        request_id, _ = requests.open_dispute(request)
        call = current_call()
        player_id = call.caller.subject
        opened = api.DisputeOpened(match_id=request.match_id.lower(), reason=request.reason)
        if request.WhichOneof("about") == "payout":
            opened.payout.SetInParent()
        else:
            opened.version = request.version
        target = UUID(bytes=dispute_id(request_id, player_id))
        match = await self._disputes.match_of(request.match_id)

        def decide(there: disputing.Dispute, facts: disputing.MatchFacts) -> disputing.Decision:
            if there.version:
                raise refuse(reasons.ERROR_REASON_REQUEST_ID_REUSED)
            window = self._config.dispute_window_seconds
            return disputing.open_dispute(facts, player_id, opened, system_now_us(), window)

        quota = DisputeQuota(_UNDECIDED, self._config.open_disputes_max)
        event = api.DisputeEvent(opened=opened)
        step = Step(target, request_id, event, decide, quota=quota)
        return api.OpenDisputeResponse(dispute=await self._disputes.take(step, match, call))

    async def GetDispute(
        self, request: api.GetDisputeRequest, context: Context
    ) -> api.GetDisputeResponse:
        """A dispute, for auditors with all that they need to rule."""
        caller = current_call().caller
        log = await self._disputes.read(UUID(bytes=requests.get_dispute(request)))
        _check_visible(log.dispute, caller)
        response = api.GetDisputeResponse(dispute=dispute_message(log.dispute), records=log.records)
        if "auditor" in caller.roles:
            match = await self._disputes.match_of(log.dispute.complaint.match_id)
            check_openable(match, caller.subject)
            found = await asyncio.to_thread(evidence, match, log.dispute.complaint)
            response.evidence.CopyFrom(found)
        return response

    async def ListDisputes(
        self, request: api.ListDisputesRequest, context: Context
    ) -> api.ListDisputesResponse:
        """A page of disputes, newest first."""
        caller = current_call().caller
        size, match_id = requests.list_disputes(request)
        opened_by = request.opened_by if _sees_all(caller) else caller.subject
        filters = b"disputes" + bytes((request.status, len(match_id or b"")))
        filters += (match_id or b"") + opened_by.encode()
        token = request.page_token
        rows = await self._store.disputes.list_disputes(
            statuses=[request.status] if request.status else None,
            match_id=None if match_id is None else UUID(bytes=match_id),
            opened_by=opened_by or None,
            after=unseal_time(token, filters) if token else None,
            limit=size + 1,  # one more tells whether there is another page
        )
        page = rows[:size]
        more = len(rows) > size
        return api.ListDisputesResponse(
            disputes=[api.Dispute.FromString(row.summary) for row in page],
            next_page_token=seal_time(_place(page[-1]), filters) if more else "",
        )

    async def RuleOnDispute(
        self, request: api.RuleOnDisputeRequest, context: Context
    ) -> api.RuleOnDisputeResponse:
        """An auditor rules."""
        target = requests.rule_on_dispute(request)
        ruled = api.DisputeRuled(
            ruling=request.ruling, reason=request.reason, corrections=request.corrections
        )
        auditor_id = current_call().caller.subject
        step = Step(
            UUID(bytes=target.match_id),
            target.request_id,
            api.DisputeEvent(ruled=ruled),
            lambda there, facts: disputing.rule(there, facts, auditor_id, ruled),
            target.expected_version,
        )
        return api.RuleOnDisputeResponse(dispute=await self._decide(step))

    async def DecideCorrection(
        self, request: api.DecideCorrectionRequest, context: Context
    ) -> api.DecideCorrectionResponse:
        """Decide on the corrections of a ruling, as an operator."""
        target = requests.decide_correction(request)
        decided = api.CorrectionDecided(decision=request.decision, reason=request.reason)
        operator_id = current_call().caller.subject
        step = Step(
            UUID(bytes=target.match_id),
            target.request_id,
            api.DisputeEvent(correction_decided=decided),
            lambda there, facts: disputing.decide_correction(there, facts, operator_id, decided),
            target.expected_version,
        )
        return api.DecideCorrectionResponse(dispute=await self._decide(step))

    async def _decide(self, step: Step) -> api.Dispute:
        log = await self._disputes.read(step.dispute_id)
        if not log.dispute.version:
            raise _not_found(step.dispute_id)
        match = await self._disputes.match_of(log.dispute.complaint.match_id)
        return await self._disputes.take(step, match, current_call())


def _sees_all(caller: Caller) -> bool:
    return not caller.roles.isdisjoint({"auditor", "operator"})


def _check_visible(dispute: disputing.Dispute, caller: Caller) -> None:
    if not dispute.version or not (_sees_all(caller) or dispute.opened_by == caller.subject):
        raise _not_found(UUID(bytes=dispute.dispute_id or bytes(16)))


def _not_found(missing: UUID) -> Refused:
    return refuse(reasons.ERROR_REASON_DISPUTE_NOT_FOUND, dispute_id=str(missing))


def _place(row: ListedDispute) -> PageKey:
    return PageKey(row.opened_at, row.dispute_id)
