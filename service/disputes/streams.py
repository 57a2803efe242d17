"""Disputes as they are carried on: read from their streams, decided, stored with their coins."""

from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from google.protobuf.message import DecodeError

from domain.dispute import Decision, Dispute, MatchFacts, facts_of, fold_dispute
from domain.match.fold import CorruptLogError
from domain.match.refusal import Refusal
from domain.match.view import timestamp
from durak.v1 import dispute_service_pb2 as api
from durak.v1 import errors_pb2 as reasons
from durak.v1.dispute_service_pb2 import DisputeEvent, DisputeRecord
from eventstore import EventStore, StoredRecord, next_hash
from eventstore.disputes import DisputeQuota, ListedDispute, first_dispute_hash
from eventstore.errors import InsufficientCoins, TooManyDisputes, VersionConflict
from eventstore.whole_matches import WholeMatch
from service.judging.messages import readable_records
from service.rpc.call import Call
from service.rpc.errors import Refused, refuse
from service.times import to_datetime

_AGAIN = 8
"""How often something is decided anew because the dispute has changed."""


class DisputeLog(NamedTuple):
    """A dispute, its records, and the hash of the last one."""

    dispute: Dispute
    records: list[DisputeRecord]
    head_hash: bytes


class Step(NamedTuple):
    """What somebody wants to do to a dispute.

    `event` is what it comes to if nothing is against it, which `decide` says.
    """

    dispute_id: UUID
    request_id: bytes
    event: DisputeEvent
    decide: Callable[[Dispute, MatchFacts], Decision]
    expected_version: int | None = None
    quota: DisputeQuota | None = None


async def read_dispute(store: EventStore, dispute_id: UUID) -> DisputeLog:
    """A dispute; one of version 0 where there is none. Raises Refused LOG_CORRUPT."""
    stored = await store.disputes.read(dispute_id)
    head_hash = stored[-1].hash if stored else first_dispute_hash(dispute_id)
    try:
        records = _read(stored, first_dispute_hash(dispute_id))
        return DisputeLog(fold_dispute(records), records, head_hash)
    except (CorruptLogError, DecodeError) as error:
        raise refuse(reasons.ERROR_REASON_LOG_CORRUPT, dispute_id=str(dispute_id)) from error


class Disputes:
    """All disputes of the store. `now_us` is the clock, microseconds since the epoch."""

    def __init__(self, store: EventStore, now_us: Callable[[], int]) -> None:
        self._store = store
        self._now_us = now_us

    async def read(self, dispute_id: UUID) -> DisputeLog:
        """A dispute; one of version 0 where there is none. Raises Refused LOG_CORRUPT."""
        return await read_dispute(self._store, dispute_id)

    async def match_of(self, match_id: str) -> WholeMatch:
        """The match that a dispute is about. Raises Refused MATCH_NOT_FOUND."""
        [match] = await self._store.whole_matches.read([UUID(match_id)])
        if not match.records:
            raise refuse(reasons.ERROR_REASON_MATCH_NOT_FOUND, match_id=match_id)
        return match

    async def take(self, step: Step, match: WholeMatch, call: Call) -> api.Dispute:
        """Take a step, once for its request id; the dispute right after it. Raises Refused."""
        facts = facts_of(readable_records(match.records))
        for _ in range(_AGAIN):
            log = await self.read(step.dispute_id)
            earlier = log.dispute.requests.get(step.request_id)
            if earlier is not None:
                return _repeated(step, log, earlier, call)
            version = log.dispute.version
            if step.expected_version not in {None, version}:
                expected = {"expected_version": str(step.expected_version)}
                raise refuse(
                    reasons.ERROR_REASON_STALE_VERSION, head_version=str(version), **expected
                )
            decided = step.decide(log.dispute, facts)
            if isinstance(decided, Refusal):
                raise Refused(decided)
            try:
                return await self._store_step(step, log, call)
            except VersionConflict:
                continue
        raise refuse(reasons.ERROR_REASON_CONTENTION)

    async def _store_step(self, step: Step, log: DisputeLog, call: Call) -> api.Dispute:
        dispute = log.dispute
        record = DisputeRecord(
            dispute_id=step.dispute_id.bytes,
            version=dispute.version + 1,
            event_time=timestamp(max(self._now_us(), dispute.time_us)),
            actor_id=call.caller.subject,
            request_id=step.request_id,
            trace_id=call.trace_id,
            event=step.event,
        )
        corrections = _corrections(dispute, step.event)
        dispute.apply(record)
        shown = dispute_message(dispute)
        row = ListedDispute(
            step.dispute_id,
            UUID(dispute.complaint.match_id),
            dispute.opened_by,
            dispute.status,
            to_datetime(dispute.opened_us),
            dispute.version,
            shown.SerializeToString(),
        )
        data = record.SerializeToString()
        stored = StoredRecord(dispute.version, data, next_hash(log.head_hash, data))
        try:
            await self._store.disputes.append(
                row, stored, log.head_hash, corrections, call.caller.subject, step.quota
            )
        except TooManyDisputes as error:
            raise refuse(reasons.ERROR_REASON_TOO_MANY_DISPUTES) from error
        except InsufficientCoins as error:
            raise refuse(
                reasons.ERROR_REASON_CORRECTION_NOT_COVERED,
                player_id=error.player,
                balance_coins=str(error.available),
                needed_coins=str(error.needed),
            ) from error
        return shown


def _read(stored: Sequence[StoredRecord], link: bytes) -> list[DisputeRecord]:
    """The records of a dispute, whose hashes must go on from `link`. Raises CorruptLogError."""
    records = []
    for version, data, there in stored:
        link = next_hash(link, data)
        if link != there:
            raise CorruptLogError(f"the hash chain breaks at version {version}")
        records.append(DisputeRecord.FromString(data))
    return records


def _repeated(step: Step, log: DisputeLog, earlier: DisputeRecord, call: Call) -> api.Dispute:
    """The answer that the same request had before."""
    if earlier.event != step.event or earlier.actor_id != call.caller.subject:
        raise refuse(reasons.ERROR_REASON_REQUEST_ID_REUSED)
    return dispute_message(fold_dispute(log.records[: earlier.version]))


def _corrections(dispute: Dispute, event: DisputeEvent) -> dict[str, int]:
    """The coins that move with an event: those of the ruling that it approves."""
    decision = event.correction_decided.decision
    if decision != api.CORRECTION_DECISION_APPROVED or dispute.ruled is None:
        return {}
    return {one.player_id: one.coins for one in dispute.ruled.corrections}


def dispute_message(dispute: Dispute) -> api.Dispute:
    """A dispute as the contract has it."""
    return api.Dispute(
        dispute_id=str(UUID(bytes=dispute.dispute_id)),
        status=dispute.status,
        opened_by=dispute.opened_by,
        open_time=timestamp(dispute.opened_us),
        complaint=dispute.complaint,
        ruled=dispute.ruled,
        ruled_by=dispute.ruled_by,
        version=dispute.version,
    )
