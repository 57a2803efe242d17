"""The administrative log as messages: acts decided, recorded once, and read back."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NamedTuple
from uuid import UUID

from google.protobuf.message import DecodeError

from domain.administration import (
    ACCESS_US_MAX,
    GRANT_PERIOD_US,
    MICROSECONDS,
    GrantCoins,
    decide_approval,
    decide_grant,
    decide_proposal,
    has_access,
    issued,
    opening,
    subject_of,
)
from domain.match.refusal import Refusal
from domain.match.view import timestamp
from durak.v1 import errors_pb2 as reasons
from durak.v1.administration_pb2 import (
    AdministrativeEvent,
    AdministrativeRecord,
    GrantProposed,
    MatchOpened,
    SigningKeysChanged,
    StoredAdministrativeRecord,
    TokensRevoked,
)
from eventstore import EventStore, StoredRecord, next_hash
from eventstore.administration import FIRST_ADMINISTRATION_HASH, Act, AdministrativeAppend
from eventstore.errors import VersionConflict
from eventstore.ledger.ledger import Grant
from service.rpc.errors import Refused, refuse
from service.times import Now, system_now_us, to_datetime

COINS_GRANTED: Final = AdministrativeEvent.COINS_GRANTED_FIELD_NUMBER
MATCH_OPENED: Final = AdministrativeEvent.MATCH_OPENED_FIELD_NUMBER
SIGNING_KEYS_CHANGED: Final = AdministrativeEvent.SIGNING_KEYS_CHANGED_FIELD_NUMBER
_GRANT_STEPS: Final = (
    AdministrativeEvent.GRANT_PROPOSED_FIELD_NUMBER,
    AdministrativeEvent.GRANT_APPROVED_FIELD_NUMBER,
)

Decide = Callable[[int], Awaitable[AdministrativeEvent | Refusal]]
"""Decides on an act, given the time in microseconds, from the records that are stored now."""


class Actor(NamedTuple):
    """Who acts, by which request, and why."""

    actor_id: str
    request_id: bytes
    trace_id: bytes
    reason: str


class AdministrationLog:
    """Records acts in the administrative log of a store."""

    def __init__(
        self, store: EventStore, conflict_retries_max: int, now_us: Now = system_now_us
    ) -> None:
        """Use this store.

        Args:
            store: the store with the log.
            conflict_retries_max: how often an act is decided again because another one was recorded
                at the same time.
            now_us: the clock, in microseconds since the epoch.
        """
        self._log = store.administration
        self._conflict_retries_max = conflict_retries_max
        self._now_us = now_us

    async def grant(self, actor: Actor, command: GrantCoins) -> None:
        """Issue coins and record it, once for each request id of an operator. Raises Refused."""

        async def decide(now_us: int) -> AdministrativeEvent | Refusal:
            since = to_datetime(now_us - GRANT_PERIOD_US)
            stored = await self._log.read_of_actor(actor.actor_id, COINS_GRANTED, since)
            return decide_grant(map(parse, stored), actor.actor_id, command)

        await self._perform(actor, decide, command.event())

    async def propose_grant(
        self, actor: Actor, proposed: GrantProposed, seconds: int
    ) -> AdministrativeRecord:
        """Record a grant for another operator to approve within a time, once for each request id.

        Raises Refused.
        """

        async def decide(now_us: int) -> AdministrativeEvent | Refusal:
            expire_time = timestamp(now_us + seconds * MICROSECONDS)
            return decide_proposal(actor.actor_id, proposed, expire_time)

        return await self._perform(actor, decide, AdministrativeEvent(grant_proposed=proposed))

    async def approve_grant(self, actor: Actor, grant_id: str) -> AdministrativeRecord:
        """Issue the coins of a proposed grant and record it, once. Raises Refused."""

        async def decide(now_us: int) -> AdministrativeEvent | Refusal:
            stored = await self._log.read_of_subject(grant_id, _GRANT_STEPS)
            return decide_approval(list(map(parse, stored)), actor.actor_id, grant_id, now_us)

        event = AdministrativeEvent()
        event.grant_approved.grant_id = grant_id
        return await self._perform(actor, decide, event)

    async def open_match(self, actor: Actor, opened: MatchOpened) -> AdministrativeRecord:
        """Record access to a running match, once for each request id, and return the record."""
        return await self._record(actor, opening(opened))

    async def revoke_tokens(self, actor: Actor, revoked: TokensRevoked) -> None:
        """Revoke one token, or all that were issued up to now, once for each request id.

        Raises Refused.
        """

        async def decide(now_us: int) -> AdministrativeEvent:
            event = AdministrativeEvent(tokens_revoked=revoked)
            if not revoked.token_id:
                event.tokens_revoked.issued_time_max.CopyFrom(timestamp(now_us))
            return event

        await self._perform(actor, decide, AdministrativeEvent(tokens_revoked=revoked))

    async def change_signing_keys(self, actor: Actor, changed: SigningKeysChanged) -> None:
        """Record the keys that sign checkpoints, once for each request id. Raises Refused."""
        await self._record(actor, AdministrativeEvent(signing_keys_changed=changed))

    async def read_signing_keys(self) -> list[str] | None:
        """Return the verifier keys that were recorded last, the newest first; None: none yet."""
        stored = await self._log.list_acts(kind=SIGNING_KEYS_CHANGED, limit=1)
        return list(parse(stored[0]).event.signing_keys_changed.verifier_keys) if stored else None

    async def _record(self, actor: Actor, event: AdministrativeEvent) -> AdministrativeRecord:
        async def decide(_now_us: int) -> AdministrativeEvent:
            return event

        return await self._perform(actor, decide, event)

    async def has_access(self, auditor_id: str, match_id: str) -> bool:
        """Return whether the auditor has recorded access to a running match."""
        now_us = self._now_us()
        since = to_datetime(now_us - ACCESS_US_MAX)
        stored = await self._log.read_of_actor(auditor_id, MATCH_OPENED, since)
        return has_access(map(parse, stored), match_id, now_us)

    async def _perform(
        self, actor: Actor, decide: Decide, requested: AdministrativeEvent
    ) -> AdministrativeRecord:
        """Decide on an act, record it once for its request, and return the record. Raises Refused.

        The last record is read first. So the append succeeds only if nothing was recorded after
        what `decide` has read. `requested` is the event with what the request says.
        """
        for _ in range(1 + self._conflict_retries_max):
            last = await self._log.read_last()
            earlier = await self._log.find(actor.actor_id, UUID(bytes=actor.request_id))
            if earlier is not None:
                return _repeated(parse(earlier), actor, requested)
            now_us = self._now_us()
            decided = await decide(now_us)
            if isinstance(decided, Refusal):
                raise Refused(decided)
            append = next_act(last, now_us, actor, decided)
            try:
                await self._log.append(append, _coins(actor, decided))
            except VersionConflict:
                continue
            return AdministrativeRecord.FromString(append.act.record)
        raise refuse(reasons.ERROR_REASON_CONTENTION)


def _coins(actor: Actor, event: AdministrativeEvent) -> Grant | None:
    """Return the coins that an act issues. The operator who acts is on the transfer."""
    grant = issued(event)
    if grant is None:
        return None
    return Grant(UUID(grant.grant_id), grant.player_id, grant.coins, actor.actor_id)


def next_act(
    last: StoredRecord | None, now_us: int, actor: Actor, event: AdministrativeEvent
) -> AdministrativeAppend:
    """Return the record that follows the last one, as the store takes it.

    Its time is never before that of the last record.
    """
    version, last_us, last_hash = 0, 0, FIRST_ADMINISTRATION_HASH
    if last is not None:
        version, last_hash = last.version, last.hash
        last_us = parse(last).event_time.ToMicroseconds()
    time_us = max(now_us, last_us)
    record = AdministrativeRecord(
        version=version + 1,
        event_time=timestamp(time_us),
        actor_id=actor.actor_id,
        request_id=actor.request_id,
        trace_id=actor.trace_id,
        reason=actor.reason,
        event=event,
    )
    data = record.SerializeToString()
    act = Act(
        version=record.version,
        record=data,
        hash=next_hash(last_hash, data),
        kind=kind_of(event),
        actor=actor.actor_id,
        subject=subject_of(event),
        request_id=UUID(bytes=actor.request_id),
        recorded_at=to_datetime(time_us),
    )
    return AdministrativeAppend(act, last_hash)


def kind_of(event: AdministrativeEvent) -> int:
    """Return the number of the kind of an event, which is that of its field."""
    kind = event.WhichOneof("kind")
    return 0 if kind is None else event.DESCRIPTOR.fields_by_name[kind].number


def parse(stored: StoredRecord) -> AdministrativeRecord:
    """Return a stored record as a message. Raises Refused LOG_CORRUPT."""
    try:
        return AdministrativeRecord.FromString(stored.record)
    except DecodeError as error:
        raise refuse(reasons.ERROR_REASON_LOG_CORRUPT) from error


def stored_message(stored: StoredRecord) -> StoredAdministrativeRecord:
    """Return a stored record with its hash; the parsed record only if it can be read."""
    message = StoredAdministrativeRecord(
        version=stored.version, stored=stored.record, hash=stored.hash
    )
    with suppress(DecodeError):
        message.record.MergeFromString(stored.record)
    return message


def _repeated(
    earlier: AdministrativeRecord, actor: Actor, requested: AdministrativeEvent
) -> AdministrativeRecord:
    """Return the record of a repeated request. Raises Refused if it was another request."""
    if earlier.reason != actor.reason or not _is_same(earlier.event, requested):
        raise refuse(reasons.ERROR_REASON_REQUEST_ID_REUSED)
    return earlier


def _is_same(event: AdministrativeEvent, requested: AdministrativeEvent) -> bool:
    """Return whether a recorded event is the requested one. Requests have no times."""
    if requested.HasField("grant_approved"):
        return event.grant_approved.grant_id == requested.grant_approved.grant_id
    recorded = AdministrativeEvent()
    recorded.CopyFrom(event)
    if recorded.HasField("grant_proposed"):
        recorded.grant_proposed.ClearField("expire_time")
    if recorded.HasField("tokens_revoked"):
        recorded.tokens_revoked.ClearField("issued_time_max")
    return recorded == requested
