"""The streams of disputes: read and folded, decided on, and stored with their corrections."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from domain.audit.seal import Sealed
from domain.dispute import (
    Command,
    Dispute,
    MatchFacts,
    decide,
    facts_of,
    fold_dispute,
    moved_coins,
)
from domain.match.fold import CorruptLogError
from domain.match.refusal import Refusal
from domain.match.view import timestamp
from durak.v1 import dispute_service_pb2 as api
from durak.v1 import errors_pb2 as reasons
from durak.v1.administration_pb2 import AdministrativeEvent, CorrectionApproved
from durak.v1.dispute_service_pb2 import DisputeEvent, DisputeRecord
from eventstore import EventStore, StoredRecord, next_hash
from eventstore.administration import AdministrativeAppend
from eventstore.disputes import DisputeQuota, ListedDispute, first_dispute_hash
from eventstore.errors import InsufficientCoins, TooManyDisputes, VersionConflict
from service.administration.log import Actor, next_act
from service.disputes.requests import Target
from service.judging.access import match_not_found
from service.judging.records import readable_records
from service.rpc.call import Call
from service.rpc.errors import Refused, refuse
from service.stored_records import read_chain
from service.times import to_datetime


class DisputeLog(NamedTuple):
    """A dispute, its records, the hash of the last one, and the stored records."""

    dispute: Dispute
    records: list[DisputeRecord]
    head_hash: bytes
    stored: list[StoredRecord]

    def is_intact(self, dispute_id: UUID, seals: Sequence[Sealed]) -> bool:
        """Return whether these are canonical records of this dispute that have all its leaves.

        A dispute grows after its leaves.
        """
        hashes = {one.version: one.hash for one in self.stored}
        return (
            self.dispute.dispute_id == dispute_id.bytes
            and all(map(_is_canonical, self.stored))
            and all(not one.flaw and hashes.get(one.version) == one.head_hash for one in seals)
        )


def _is_canonical(stored: StoredRecord) -> bool:
    record = DisputeRecord.FromString(stored.record)
    record.DiscardUnknownFields()
    return record.SerializeToString(deterministic=True) == stored.record


async def read_dispute(store: EventStore, dispute_id: UUID) -> DisputeLog:
    """Return a dispute; of version 0 if it does not exist. Raises Refused LOG_CORRUPT."""
    stored = await store.disputes.read(dispute_id)
    try:
        return parse_dispute(dispute_id, stored)
    except CorruptLogError as error:
        raise refuse(reasons.ERROR_REASON_LOG_CORRUPT, dispute_id=str(dispute_id)) from error


def parse_dispute(dispute_id: UUID, stored: list[StoredRecord]) -> DisputeLog:
    """Return the dispute of these records. Raises CorruptLogError."""
    first_hash = first_dispute_hash(dispute_id)
    records = read_chain(stored, first_hash, DisputeRecord.FromString)
    dispute = fold_dispute(records)
    return DisputeLog(dispute, records, stored[-1].hash if stored else first_hash, stored)


class DisputeStreams:
    """Performs commands on disputes."""

    def __init__(
        self, store: EventStore, conflict_retries_max: int, now_us: Callable[[], int]
    ) -> None:
        """Use this store.

        Args:
            store: the store with the disputes and their matches.
            conflict_retries_max: how often a command is decided again because another one changed
                the dispute at the same time.
            now_us: the clock, in microseconds since the epoch.
        """
        self._store = store
        self._conflict_retries_max = conflict_retries_max
        self._now_us = now_us

    async def perform(
        self,
        target: Target,
        match_id: UUID,
        command: Command,
        call: Call,
        quota: DisputeQuota | None = None,
    ) -> api.Dispute:
        """Perform a command once for its request id, and return the dispute right after it.

        Args:
            target: the dispute and the request.
            match_id: the match that the dispute is about.
            command: the command.
            call: the call, with the actor and the trace.
            quota: for a command that opens a dispute, the limit on open ones.

        Raises Refused.
        """
        facts = await self._read_facts(match_id)
        for _ in range(1 + self._conflict_retries_max):
            # First the administrative log: a correction approved after this conflicts.
            last_act = await self._store.administration.read_last()
            log = await read_dispute(self._store, target.dispute_id)
            earlier = log.dispute.requests.get(target.request_id)
            if earlier is not None:
                return _repeated_answer(log, earlier, command, call)
            corrected = await read_corrected(self._store, match_id, target.dispute_id)
            moved = sum(moved_coins(one.ruled) for one in corrected)
            facts = facts._replace(corrected_coins=moved)
            event = _decide(log.dispute, facts, target, command, call)
            record = self._record(target, log.dispute, event, call)
            try:
                dispute = await self._store_record(record, log, quota, last_act)
            except VersionConflict:
                continue
            self._store.news.notify(facts.sitting)
            return dispute
        raise refuse(reasons.ERROR_REASON_CONTENTION)

    async def _read_facts(self, match_id: UUID) -> MatchFacts:
        stored = await self._store.read(match_id)
        if not stored:
            raise match_not_found(match_id)
        return facts_of(readable_records(stored))

    def _record(
        self, target: Target, dispute: Dispute, event: DisputeEvent, call: Call
    ) -> DisputeRecord:
        return DisputeRecord(
            dispute_id=target.dispute_id.bytes,
            version=dispute.version + 1,
            event_time=timestamp(max(self._now_us(), dispute.time_us)),
            actor_id=call.caller.subject,
            request_id=target.request_id,
            trace_id=call.trace_id,
            event=event,
        )

    async def _store_record(
        self,
        record: DisputeRecord,
        log: DisputeLog,
        quota: DisputeQuota | None,
        last_act: StoredRecord | None,
    ) -> api.Dispute:
        """Append the record with the row of the list and the coins that it moves."""
        dispute = log.dispute
        corrections = _corrections(dispute, record.event)
        act = await self._act(dispute, record, last_act) if corrections else None
        dispute.apply(record)
        message = dispute_message(dispute)
        data = record.SerializeToString()
        stored = StoredRecord(dispute.version, data, next_hash(log.head_hash, data))
        row = _row(dispute, message)
        try:
            await self._store.disputes.append(
                row, stored, log.head_hash, corrections, record.actor_id, quota, act
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
        return message

    async def _act(
        self, dispute: Dispute, record: DisputeRecord, last_act: StoredRecord | None
    ) -> AdministrativeAppend:
        """Return the act of an approval. Raises Refused if the operator used its request id."""
        request_id = UUID(bytes=record.request_id)
        if await self._store.administration.find(record.actor_id, request_id) is not None:
            raise refuse(reasons.ERROR_REASON_REQUEST_ID_REUSED)
        approved = CorrectionApproved(
            dispute_id=str(UUID(bytes=dispute.dispute_id)),
            match_id=dispute.complaint.match_id,
            coins=moved_coins(dispute.ruled) if dispute.ruled else 0,
        )
        reason = record.event.correction_decided.reason
        actor = Actor(record.actor_id, record.request_id, record.trace_id, reason)
        event = AdministrativeEvent(correction_approved=approved)
        return next_act(last_act, self._now_us(), actor, event)


async def read_corrected(store: EventStore, match_id: UUID, other_than: UUID) -> list[api.Dispute]:
    """Return the other disputes about a match whose corrections are final, newest first."""
    rows = await store.disputes.list_disputes(
        statuses=[api.DISPUTE_STATUS_UPHELD], match_id=match_id, limit=None
    )
    disputes = [api.Dispute.FromString(row.summary) for row in rows if row.dispute_id != other_than]
    return [one for one in disputes if one.ruled.corrections]


def _decide(
    dispute: Dispute, facts: MatchFacts, target: Target, command: Command, call: Call
) -> DisputeEvent:
    """Return the event of a command. Raises Refused."""
    if target.expected_version not in {None, dispute.version}:
        raise refuse(
            reasons.ERROR_REASON_STALE_VERSION,
            head_version=str(dispute.version),
            expected_version=str(target.expected_version),
        )
    decided = decide(dispute, facts, call.caller.subject, command)
    if isinstance(decided, Refusal):
        raise Refused(decided)
    return decided


def _repeated_answer(
    log: DisputeLog, earlier: DisputeRecord, command: Command, call: Call
) -> api.Dispute:
    """Return the first answer to a repeated request. Raises Refused if it is another request."""
    if earlier.event != command.event() or earlier.actor_id != call.caller.subject:
        raise refuse(reasons.ERROR_REASON_REQUEST_ID_REUSED)
    return dispute_message(fold_dispute(log.records[: earlier.version]))


def _corrections(dispute: Dispute, event: DisputeEvent) -> Mapping[str, int]:
    """Return the coins by player that an event moves: the corrections that it approves."""
    is_approved = event.correction_decided.decision == api.CORRECTION_DECISION_APPROVED
    return dispute.corrections() if is_approved else {}


def _row(dispute: Dispute, message: api.Dispute) -> ListedDispute:
    return ListedDispute(
        dispute_id=UUID(bytes=dispute.dispute_id),
        match_id=UUID(dispute.complaint.match_id),
        opened_by=dispute.opened_by,
        status=dispute.status,
        opened_at=to_datetime(dispute.opened_us),
        version=dispute.version,
        summary=message.SerializeToString(),
    )


def dispute_message(dispute: Dispute) -> api.Dispute:
    """Return a dispute as a message of the contract."""
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
