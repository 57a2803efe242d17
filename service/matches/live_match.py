"""One live match: the folded state of a stream, and the place where its commands are decided.

The state in memory is always a prefix of the log: a record is folded only once it is durable. That
it is the newest state is never assumed. An append is guarded by the version (and the head's hash),
and a refusal is given only after the log was asked whether there is anything newer.

Jobs for a match run one after the other, in order of arrival, in a task of the match's own. A call
that is cancelled stops waiting for its job and touches nothing else: a job that has begun is seen
through.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from domain.match.decide import decide
from domain.match.fold import CorruptLogError, Match
from domain.match.outcome import Outcome
from domain.match.refusal import Refusal, match_not_found
from domain.match.table import Table
from domain.match.view import Viewer, match_summary, redact, seats_in, table_view
from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import ACTOR_KIND_CLOCK, Event, Record
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_WAITING, TableView
from eventstore import UNCHANGED, Append, LobbyRow, first_hash
from eventstore.errors import (
    AppendOutcomeUnknown,
    ChainMismatch,
    InsufficientCoins,
    StoreError,
    VersionConflict,
)
from eventstore.ledger.books import CoinMove
from service.matches.envelope import Envelope, with_server_seed
from service.matches.records import by_command, read_records, records_of
from service.matches.stakes import coin_moves, open_accounts, too_few_coins
from service.matches.watch import Change, Views, Watch
from service.rpc.errors import Refused, refuse

if TYPE_CHECKING:
    from service.matches.live_matches import LiveMatches

Result = TypeVar("Result")
Job = Callable[[], Awaitable[Any]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LISTED = frozenset({"table_opened", "seat_taken", "seat_vacated", "dealt", "finished"})
"""The events that change what lists of matches show: phase or seats."""


def to_datetime(time_us: int) -> datetime:
    """A time in microseconds since the epoch as the store takes it."""
    return _EPOCH + timedelta(microseconds=time_us)


class LiveMatch:
    """One match in memory. Read its attributes freely; `submit` what may change it."""

    __slots__ = (
        "_due_us",
        "_events",
        "_hash",
        "_jobs",
        "_loaded",
        "_matches",
        "_seen",
        "_table",
        "_worker",
        "has_bots",
        "match",
        "match_id",
        "pins",
        "stream_id",
        "timer",
        "watches",
    )

    def __init__(self, match_id: bytes, matches: "LiveMatches") -> None:
        """A match (16 bytes) of which nothing is read yet."""
        self.match_id = match_id
        self.stream_id = UUID(bytes=match_id)
        self._matches = matches
        self._jobs: deque[tuple[Job, asyncio.Future[Any]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self.pins = 0
        self.timer: asyncio.TimerHandle | None = None
        self.watches: set[Watch] = set()
        self._forget()

    def _forget(self) -> None:
        """Start over from an empty state; the next job reads the log."""
        self.match = Match(self.match_id)
        self._hash = first_hash(self.stream_id)
        self._loaded = False
        self._due_us: int | None = None
        """What is known to stand in the store as the time of the next look; None: not known."""
        self._table: Table = self.match.table
        self.has_bots = False
        self._events: list[Event] = []
        self._seen: dict[Viewer, list[Event]] = {}

    # --- jobs ----------------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """Somebody needs this object: it must not be dropped from memory."""
        return self._worker is not None or self.pins > 0

    def submit(self, job: Callable[[], Awaitable[Result]]) -> asyncio.Future[Result]:
        """Queue a job; at its turn it has the match to itself.

        Cancelling the future before then drops the job; after that it changes nothing.
        """
        future: asyncio.Future[Result] = self._matches.loop.create_future()
        self._jobs.append((job, future))
        if self._worker is None:
            self._worker = self._matches.loop.create_task(self._work())
        return future

    async def _work(self) -> None:
        jobs = self._jobs
        try:
            while jobs:
                job, future = jobs.popleft()
                if future.done():
                    continue
                try:
                    result = await job()
                except Exception as error:  # noqa: BLE001 - handed to whoever waits for the job
                    if not future.done():
                        future.set_exception(error)
                else:
                    if not future.done():
                        future.set_result(result)
        finally:
            self._worker = None
            if not self.match.version:
                self._matches.drop_if_idle(self)

    async def join(self) -> None:
        """Wait until no job is left."""
        if self._worker is not None:
            await self._worker

    # --- jobs of the service: only inside `submit` ----------------------------------------------

    async def catch_up(self) -> bool:
        """Fold what the log has beyond the state in memory; whether there was anything."""
        stored = await self._matches.store.read(self.stream_id, self.match.version)
        self._loaded = True
        if not stored:
            return False
        try:
            records = read_records(stored, self._hash)
        except CorruptLogError as error:
            error.add_note(f"match {self.stream_id}")
            self._forget()
            raise
        hash_at = {record.version: record.hash for record in stored}
        for command in by_command(records):
            self._apply(command)
            self._show(command, hash_at[command[-1].version], own=False)
        self._due_us = None
        return True

    async def catch_up_to(self, version: int) -> None:
        """Fold what is missing up to a version that is known to be in the log."""
        if self.match.version < version:
            await self.catch_up()

    async def answer(self, envelope: Envelope) -> TableView:
        """Perform a player's command and give their view right after it."""
        match = await self.perform(envelope)
        return table_view(match, match.table.seat_of(envelope.actor.player_id))

    async def open(self, envelope: Envelope) -> TableView:
        """The same for a command that may be the first of its match, within the caller's quota."""
        quota, player_id = self._matches.openings, envelope.actor.player_id
        async with quota.turn(player_id):
            if not self.match.version:
                refusal = await quota.refusal(player_id, self._decide(envelope))
                if refusal is not None and not await self.catch_up():
                    raise Refused(refusal)
            return await self.answer(envelope)

    async def look(self, player_id: str) -> TableView:
        """A player's view of the newest state. Raises Refused MATCH_NOT_FOUND."""
        await self.catch_up()
        if not self.match.version:
            raise Refused(match_not_found(self.match_id))
        return table_view(self.match, self.match.table.seat_of(player_id))

    async def perform(self, envelope: Envelope) -> Match:
        """Decide a command, store what it makes, fold and show it; the match as it was left.

        A command that decides on no events changes nothing. A command that stands in the log
        already, by its request id, is not decided again.

        Raises Refused, and the errors of the store: what is not known to be stored is not folded.
        """
        is_newest = False
        if not self._loaded and not envelope.opens:
            await self.catch_up()
            is_newest = True
        for _ in range(1 + self._matches.config.conflict_retries_max):
            if envelope.request_id in self.match.requests:
                answered = await self._as_answered(envelope)
                if answered is not None:
                    return answered
            outcome = self._decide(envelope)
            if isinstance(outcome, Refusal):
                if is_newest or not await self.catch_up():
                    raise Refused(outcome)
            elif not outcome.events or await self._store(envelope, outcome):
                return self.match
            is_newest = True
        raise refuse(reasons.ERROR_REASON_CONTENTION)

    def _decide(self, envelope: Envelope) -> Outcome | Refusal:
        match = self.match
        expected = envelope.expected_version
        if expected is not None and expected != match.version != 0:
            versions = {"expected_version": str(expected), "head_version": str(match.version)}
            return Refusal(reasons.ERROR_REASON_STALE_VERSION, metadata=versions)
        return decide(match, envelope.actor, envelope.command)

    async def _as_answered(self, envelope: Envelope) -> Match | None:
        """The match as a command that stands in the log left it; None: it was another player's.

        Its payload is not stored, and need not be: the same payload decides on the same events.
        Raises Refused REQUEST_ID_REUSED where it does not.
        """
        stored = await self._matches.store.read(self.stream_id)
        match = Match(self.match_id)
        answered: list[Event] = []
        outcome: Outcome | Refusal | None = None
        actor = envelope.actor
        for record in read_records(stored, first_hash(self.stream_id)):
            if (record.request_id, record.actor_id) == (envelope.request_id, actor.player_id):
                if not answered:
                    seed = record.event.table_opened.server_seed
                    command = with_server_seed(envelope.command, seed)
                    outcome = decide(match, actor, command)
                answered.append(record.event)
            elif answered:
                break
            match.apply(record)
        if not answered:
            return None
        if not isinstance(outcome, Outcome) or outcome.events != answered:
            raise refuse(reasons.ERROR_REASON_REQUEST_ID_REUSED)
        self._matches.counters.repeats += 1
        return match

    async def _store(self, envelope: Envelope, outcome: Outcome) -> bool:
        """Append the events of a command and, once they are durable, fold and show them.

        False: they were not let in, or nobody knows; the state is the newest now, decide again.
        """
        match = self.match
        now_us = max(self._matches.now_us(), match.time_us)
        records = records_of(match, envelope, outcome.events, now_us)
        outcome.stamp(records)
        after = outcome.after
        lobby = None
        coins: list[CoinMove] = []
        if not _LISTED.isdisjoint([event.WhichOneof("kind") for event in outcome.events]):
            lobby = lobby_row(after, None if match.version else envelope.actor.player_id)
            coins = coin_moves(match, after, outcome.events)
        look_us = self.next_look_us(after, now_us)
        # A time that stands in the store and is early enough stays: a new one costs an index entry.
        known_us = self._due_us
        keeps = look_us is not None and known_us is not None and known_us <= look_us
        append = Append(
            self.stream_id,
            match.version,
            self._hash,
            [record.SerializeToString() for record in records],
            UNCHANGED if keeps else None if look_us is None else to_datetime(look_us),
            lobby,
        )
        if coins:
            await open_accounts(self._matches.store.ledger, coins, self._matches.config)
        try:
            head = await self._matches.store.append(append, coins)
        except InsufficientCoins as error:  # judged on the newest state: the guard comes first
            raise too_few_coins(error) from error
        except (VersionConflict, ChainMismatch, AppendOutcomeUnknown) as error:
            await self._find_out(error)
            return False
        self._loaded = True
        if not keeps:
            self._due_us = look_us
        counters = self._matches.counters
        counters.appends += 1
        counters.events += len(records)
        if envelope.actor.kind == ACTOR_KIND_CLOCK:
            counters.timeouts += 1
        self.match = outcome.commit()
        self._show(records, head.hash, own=True)
        return True

    async def _find_out(self, error: StoreError) -> None:
        """After an append that was not let in, or whose outcome is unknown: see what the log has.

        Raises StoreUnavailable while the database is away. Where an unknown outcome turns out not
        to be in the log, it may still come; the guard then lets in one of the two.
        """
        if not isinstance(error, AppendOutcomeUnknown):
            self._matches.counters.conflicts += 1
        if isinstance(error, ChainMismatch) or not (
            await self.catch_up() or isinstance(error, AppendOutcomeUnknown)
        ):
            self._forget()  # our copy is not this log: the database was put back to another state
            await self.catch_up()

    def next_look_us(self, match: Match, now_us: int) -> int | None:
        """When somebody must look at a match again: its deadline (R10.5), or sooner for a bot."""
        deadline_us = match.deadline_us()
        if deadline_us is None or bot_to_move(match) is None:
            return deadline_us
        return min(deadline_us, now_us + self._matches.bot_turn_us)

    async def put_off(self, look_us: int | None) -> None:
        """Set the time of the next look in the store, unless somebody has appended meanwhile."""
        due_at = None if look_us is None else to_datetime(look_us)
        if await self._matches.store.reschedule(self.stream_id, self.match.version, due_at):
            self._due_us = look_us

    # --- folding -------------------------------------------------------------------------------

    def _apply(self, records: list[Record]) -> None:
        """Fold the durable records of one command; `_show` must follow in the same step."""
        try:
            for record in records:
                self.match.apply(record)
        except CorruptLogError as error:
            error.add_note(f"match {self.stream_id}")
            self._forget()
            raise

    def _show(self, records: list[Record], head_hash: bytes, *, own: bool) -> None:
        """Show the watches, and whoever observes, what was folded of one command."""
        match = self.match
        self._hash = head_hash
        if match.table is not self._table:
            self._table = match.table
            self.has_bots = _has_bots(match.table)
        if self.has_bots or match.phase == PHASE_WAITING:
            self._events.extend(record.event for record in records)
        else:
            self._events.clear()
        if self.watches:
            changes = [Change(record, match.trump_card) for record in records]
            views = Views(match)
            for watch in tuple(self.watches):
                watch.offer(changes, views)
        self._matches.changed(self, own=own)

    def history(self, seat: int) -> list[Event]:
        """All events so far as the bot on a seat may see them. Kept only where bots sit."""
        seen = self._seen.setdefault(seat, [])
        trump_card = self.match.trump_card
        seen.extend(redact(event, seat, trump_card) for event in self._events[len(seen) :])
        return seen


def bot_to_move(match: Match) -> int | None:
    """The first seat with a bot that the table waits for (R10.1), if any."""
    seats = match.table.seats
    for seat in seats_in(match.on_clock()):
        occupant = seats[seat]
        if occupant is not None and occupant.is_bot:
            return seat
    return None


def _has_bots(table: Table) -> bool:
    return any(seat is not None and seat.is_bot for seat in table.seats)


def lobby_row(match: Match, opened_by: str | None = None) -> LobbyRow:
    """What lists of matches, and the standings once it has ended, are to know of a match.

    `opened_by` is the actor of its first record, for its first row and one that is made anew.
    """
    players = [seat.player_id for seat in match.table.seats if seat is not None and not seat.is_bot]
    return LobbyRow(
        status=match.phase,
        opened_at=to_datetime(match.opened_us),
        summary=match_summary(match).SerializeToString(),
        players=tuple(players),
        ended_at=to_datetime(match.time_us) if match.phase == PHASE_ENDED else None,
        opened_by=opened_by,
    )
