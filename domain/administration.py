"""The acts of operators and auditors that go on record, and the limits on them.

The administrative log has one record for each act. The decisions here read what earlier records
say; nothing here moves a coin or reads a card.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp

from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.administration_pb2 import (
    AdministrativeEvent,
    AdministrativeRecord,
    CoinsGranted,
    GrantApproved,
    GrantProposed,
    MatchOpened,
)

MICROSECONDS: Final = 1_000_000
ACCESS_US_MAX: Final = 24 * 60 * 60 * MICROSECONDS
"""The longest access to a running match."""
GRANT_PERIOD_US: Final = 24 * 60 * 60 * MICROSECONDS
"""The limit on grants is for any 24 hours, so that midnight does not double it."""


class GrantCoins(NamedTuple):
    """An operator grants coins to a player, within the operator's own limit (R12.9)."""

    granted: CoinsGranted
    limit_coins: int

    def event(self) -> AdministrativeEvent:
        """Return the event that the command makes if it is not refused."""
        return AdministrativeEvent(coins_granted=self.granted)


def granted_coins(records: Iterable[AdministrativeRecord]) -> int:
    """Return the sum of the coins that these records grant."""
    return sum(record.event.coins_granted.coins for record in records)


def decide_grant(
    recent: Iterable[AdministrativeRecord], operator_id: str, command: GrantCoins
) -> AdministrativeEvent | Refusal:
    """Return the event of a grant, or why it is refused.

    `recent` are the operator's grants of the last GRANT_PERIOD_US.
    """
    if command.granted.player_id == operator_id:
        return Refusal(reasons.ERROR_REASON_OWN_GRANT)
    left = max(0, command.limit_coins - granted_coins(recent))
    if command.granted.coins > left:
        metadata = {"limit_coins": str(command.limit_coins), "left_coins": str(left)}
        return Refusal(reasons.ERROR_REASON_GRANT_LIMIT_REACHED, clause="R12.9", metadata=metadata)
    return command.event()


def decide_proposal(
    operator_id: str, proposed: GrantProposed, expire_time: Timestamp
) -> AdministrativeEvent | Refusal:
    """Return the event of a proposed grant, which can be approved until a time, or a refusal."""
    if proposed.player_id == operator_id:
        return Refusal(reasons.ERROR_REASON_OWN_GRANT)
    event = AdministrativeEvent(grant_proposed=proposed)
    event.grant_proposed.expire_time.CopyFrom(expire_time)
    return event


def decide_approval(
    earlier: Sequence[AdministrativeRecord], operator_id: str, grant_id: str, now_us: int
) -> AdministrativeEvent | Refusal:
    """Return the event that approves a proposed grant, or why it is refused.

    `earlier` are the records about this grant: its proposal, and an approval if there is one.
    """
    if not earlier:
        return Refusal(
            reasons.ERROR_REASON_GRANT_NOT_FOUND, clause="R12.9", metadata={"grant_id": grant_id}
        )
    proposal = earlier[0]
    proposed = proposal.event.grant_proposed
    if operator_id in {proposal.actor_id, proposed.player_id}:
        return Refusal(reasons.ERROR_REASON_OWN_GRANT)
    if len(earlier) > 1 or now_us >= proposed.expire_time.ToMicroseconds():
        metadata = {"expire_time": proposed.expire_time.ToJsonString()}
        return Refusal(reasons.ERROR_REASON_GRANT_CLOSED, clause="R12.9", metadata=metadata)
    approved = GrantApproved(
        grant_id=grant_id,
        player_id=proposed.player_id,
        coins=proposed.coins,
        proposer_id=proposal.actor_id,
    )
    return AdministrativeEvent(grant_approved=approved)


def issued(event: AdministrativeEvent) -> CoinsGranted | GrantApproved | None:
    """Return the grant of an act that issues coins, or None."""
    match event.WhichOneof("kind"):
        case "coins_granted":
            return event.coins_granted
        case "grant_approved":
            return event.grant_approved
    return None


def access_end_us(record: AdministrativeRecord) -> int:
    """Return when the access to a match ends that a record gives, in microseconds."""
    seconds = record.event.match_opened.access_seconds
    return record.event_time.ToMicroseconds() + seconds * MICROSECONDS


def has_access(recent: Iterable[AdministrativeRecord], match_id: str, now_us: int) -> bool:
    """Return whether an auditor has recorded access to a running match now.

    `recent` are the auditor's openings of the last ACCESS_US_MAX.
    """
    return any(
        record.event.match_opened.match_id == match_id and now_us < access_end_us(record)
        for record in recent
    )


def opening(opened: MatchOpened) -> AdministrativeEvent:
    """Return the event of an opening. Access rules are checked before: see `service.judging`."""
    return AdministrativeEvent(match_opened=opened)


def subject_of(event: AdministrativeEvent) -> str:
    """Return what an act is about: a player, a match, a grant of two operators, or nothing."""
    match event.WhichOneof("kind"):
        case "coins_granted":
            return event.coins_granted.player_id
        case "match_opened":
            return event.match_opened.match_id
        case "correction_approved":
            return event.correction_approved.match_id
        case "grant_proposed":
            return event.grant_proposed.grant_id
        case "grant_approved":
            return event.grant_approved.grant_id
        case "tokens_revoked":
            return event.tokens_revoked.player_id
    return ""
