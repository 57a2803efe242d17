"""The acts of operators and auditors that go on record, and the limits on them.

The administrative log has one record for each act. The decisions here read what earlier records
say; nothing here moves a coin or reads a card.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.administration_pb2 import (
    AdministrativeEvent,
    AdministrativeRecord,
    CoinsGranted,
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
    """Return what an act is about: the player of a grant, or the match."""
    match_id = event.match_opened.match_id or event.correction_approved.match_id
    return event.coins_granted.player_id or match_id
