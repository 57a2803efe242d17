"""Checks the administrative log: its records, its leaves, and the grants in the ledger."""

from collections import Counter
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from google.protobuf.message import DecodeError

from domain.administration import issued, subject_of
from domain.audit.seal import Sealed
from durak.v1 import audit_service_pb2 as api
from durak.v1.administration_pb2 import AdministrativeRecord
from eventstore import EventStore, next_hash
from eventstore.administration import ADMINISTRATION_ID, FIRST_ADMINISTRATION_HASH, Act
from eventstore.checkpoints import LeafKind
from eventstore.ledger.opening import opening_grant_id
from eventstore.ledger.transfers import Transfer
from service.administration.log import kind_of
from service.checkpoints.seals import Seals
from service.times import to_datetime

WRONG_MAX: Final = 100
_PAGE_ACTS: Final = 500
_PAGE_TRANSFERS: Final = 5_000


class AdministrationCheck:
    """What a reading of the whole administrative log has found."""

    def __init__(self, seals: Sequence[Sealed]) -> None:
        """Compare the log with these leaves."""
        self.grants: dict[UUID, tuple[str, int, str]] = {}
        """Player, coins and operator of each grant on record. Operators make few."""
        self.approved_disputes: set[UUID] = set()
        """Disputes whose corrections were approved."""
        self.operators: dict[str, api.OperatorGrants] = {}
        self._wrong: set[int] = set()
        self._leaves = {seal.version: seal for seal in seals}
        self._version = 0
        self._hash = FIRST_ADMINISTRATION_HASH
        self._time_us = 0

    @property
    def version(self) -> int:
        """The version of the last record that was read."""
        return self._version

    def wrong_versions(self) -> list[int]:
        """Return the versions that are wrong, up to a limit. Call it after the last record."""
        missing = {version for version in self._leaves if version > self._version}
        return sorted(self._wrong | missing)[:WRONG_MAX]

    def add(self, act: Act) -> None:
        """Judge the next record."""
        expected = self._version + 1
        if act.version != expected:
            self._wrong.add(expected)  # it is missing
        self._version = act.version
        link = next_hash(self._hash, act.record)
        self._hash = act.hash
        record = _read(act)
        leaf = self._leaves.get(act.version)
        is_signed = leaf is None or (not leaf.flaw and leaf.head_hash == act.hash)
        if record is None or link != act.hash or not is_signed:
            self._wrong.add(act.version)
        if record is None:
            return
        time_us = record.event_time.ToMicroseconds()
        if time_us < self._time_us:
            self._wrong.add(act.version)
        self._time_us = max(time_us, self._time_us)
        self._count(record)

    def _count(self, record: AdministrativeRecord) -> None:
        event = record.event
        if event.HasField("correction_approved"):
            self.approved_disputes.add(UUID(event.correction_approved.dispute_id))
        grant = issued(event)
        if grant is None:
            return
        self.grants[UUID(grant.grant_id)] = (grant.player_id, grant.coins, record.actor_id)
        sums = self.operators.setdefault(
            record.actor_id, api.OperatorGrants(operator_id=record.actor_id)
        )
        if event.HasField("grant_approved"):
            sums.approved_grants += 1
            sums.approved_coins += grant.coins
        else:
            sums.grants += 1
            sums.coins += grant.coins


async def check_administration(store: EventStore, seals: Seals) -> AdministrationCheck:
    """Read and judge the administrative log. Its leaves are read before it, as it only grows."""
    sealed = await seals.read(LeafKind.ADMINISTRATION, [ADMINISTRATION_ID])
    check = AdministrationCheck(sealed.get(ADMINISTRATION_ID, ()))
    await read_on(store, check)
    return check


async def read_on(store: EventStore, check: AdministrationCheck) -> None:
    """Judge the records that were added since the last one."""
    while page := await store.administration.read_acts(check.version, _PAGE_ACTS):
        for act in page:
            check.add(act)


async def list_wrong_grants(store: EventStore, check: AdministrationCheck) -> list[UUID]:
    """Return the grants that the ledger and the log do not both have, up to a limit.

    An issue of coins that is neither a grant nor the opening balance of its player is one of them.
    """
    wrong: Counter[UUID] = Counter()
    left = dict(check.grants)
    last = UUID(int=0)
    while page := await store.ledger.list_issues(last, _PAGE_TRANSFERS):
        unknown = [
            one
            for one in page
            if not _is_opening(one) and left.pop(one.source_id, None) != _grant(one)
        ]
        if unknown:
            await read_on(store, check)  # grants that were recorded meanwhile
            wrong.update(
                one.source_id for one in unknown if check.grants.get(one.source_id) != _grant(one)
            )
        last = page[-1].source_id
    return sorted({*wrong, *left})[:WRONG_MAX]


def _is_opening(transfer: Transfer) -> bool:
    return not transfer.actor and transfer.source_id == opening_grant_id(transfer.player)


def _grant(transfer: Transfer) -> tuple[str, int, str]:
    return transfer.player, transfer.coins, transfer.actor


def _read(act: Act) -> AdministrativeRecord | None:
    """Return the record of an act, or None if it is not valid or not what its keys say."""
    try:
        record = AdministrativeRecord.FromString(act.record)
        known = AdministrativeRecord()
        known.CopyFrom(record)
        known.DiscardUnknownFields()
        keys = (
            record.version,
            kind_of(record.event),
            record.actor_id,
            subject_of(record.event),
            UUID(bytes=record.request_id),
            to_datetime(record.event_time.ToMicroseconds()),
        )
        grant = issued(record.event)
        if grant is not None:
            UUID(grant.grant_id)
        if record.event.HasField("correction_approved"):
            UUID(record.event.correction_approved.dispute_id)
    except (DecodeError, ValueError, OverflowError):
        return None
    stored = (act.version, act.kind, act.actor, act.subject, act.request_id, act.recorded_at)
    if known.SerializeToString(deterministic=True) != act.record or keys != stored:
        return None
    return record
