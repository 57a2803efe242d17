"""One live match: the folded state of a stream, where its commands are decided and stored.

The state in memory is always a prefix of the log: a record is folded only once it is durable. It is
never assumed to be the newest state. An append is guarded by the version and the hash of the head,
and a command is refused only after the log was asked for newer records.

The jobs of a match run one after the other, in order of arrival, in a task of its own. A caller
that is cancelled stops waiting for its job; a job that has begun is completed.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import structlog

from domain.match.commands import CLOCK, Rematch, SeatBot, TakeSeat, TimeOut
from domain.match.decide import decide
from domain.match.fold import CorruptLogError, Match
from domain.match.outcome import Outcome
from domain.match.refusal import Refusal, match_not_found
from domain.match.view import table_view
from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import ACTOR_KIND_CLOCK, Record
from durak.v1.table_pb2 import PHASE_REVEALING, TableView
from eventstore import UNCHANGED, Append, Head, first_hash
from eventstore.errors import (
    AppendOutcomeUnknown,
    ChainMismatch,
    InsufficientCoins,
    NoAccount,
    OpeningCoinsLocked,
    StoreError,
    VersionConflict,
)
from eventstore.ledger.books import CoinMove
from service.matches.changes import Change, ChangeListener
from service.matches.coin_moves import (
    coin_moves,
    open_accounts,
    opening_coins_locked,
    too_few_coins,
)
from service.matches.context import Context
from service.matches.envelope import Envelope
from service.matches.lobby import changes_row, lobby_row, with_news
from service.matches.match_size import SIZE_MIN
from service.matches.records import by_command, records_of
from service.matches.repeats import RecentAnswers, answered_match
from service.matches.wake_up import next_wake_up_us
from service.rpc.errors import Refused, refuse
from service.stored_records import read_records
from service.times import MICROSECONDS, to_datetime

_log = structlog.get_logger(__name__)

Result = TypeVar("Result")
Job = Callable[[], Awaitable[Any]]


class _Prepared(NamedTuple):
    """The events of a command, ready to append. `wake_up_us` is what the store then has."""

    records: list[Record]
    append: Append
    coins: list[CoinMove]
    wake_up_us: int | None


class LiveMatch:
    """One match in memory. Read its attributes freely; `submit` the jobs that may change it."""

    __slots__ = (
        "_context",
        "_hash",
        "_is_loaded",
        "_jobs",
        "_on_idle",
        "_recent",
        "_wake_up_us",
        "_worker",
        "bytes",
        "listeners",
        "log_changed_listeners",
        "match",
        "match_id",
        "pins",
        "stream_id",
        "watches",
    )

    def __init__(
        self, match_id: bytes, context: Context, on_idle: Callable[["LiveMatch"], None]
    ) -> None:
        """Hold a match (16 bytes) of which nothing is read yet.

        `on_idle` is called whenever the last job is done.
        """
        self.match_id = match_id
        self.stream_id = UUID(bytes=match_id)
        self.pins = 0
        self.watches = 0
        self.bytes = SIZE_MIN
        """The memory that the match takes, kept by `LiveMatches`."""
        self.listeners: set[ChangeListener] = set()
        """Listeners to the changes of this match alone, in addition to those of the context."""
        self.log_changed_listeners: set[Callable[[], None]] = set()
        """Called when the log turns out to be another one than was published so far."""
        self._context = context
        self._on_idle = on_idle
        self._jobs: deque[tuple[Job, asyncio.Future[Any]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._reset()

    @property
    def head(self) -> Head:
        """The version and hash up to which the log was folded."""
        return Head(self.match.version, self._hash)

    def _log_changed(self) -> None:
        """Start over from the empty state, as the log is not the one that was folded.

        The database was restored from a backup, or failed over to a standby that lacked commits.
        """
        _log.error("log changed", match_id=str(self.stream_id), version=self.match.version)
        self._context.counters.logs_changed += 1
        self._reset()
        for listener in tuple(self.log_changed_listeners):
            listener()
        for forgotten in (
            *self._context.eviction_listeners,
            *self._context.log_changed_listeners,
        ):
            forgotten(self.match_id)

    def _reset(self) -> None:
        """Start over from the empty state; the next job reads the log."""
        self.match = Match(self.match_id)
        self._hash = first_hash(self.stream_id)
        self._is_loaded = False
        self._recent = RecentAnswers()
        self._wake_up_us: int | None = None
        """The wake-up that the store is known to have; None: unknown."""

    # --- jobs -----------------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """True while the match is in use. Prevents eviction."""
        return self._worker is not None or self.pins > 0

    def submit(self, job: Callable[[], Awaitable[Result]]) -> asyncio.Future[Result]:
        """Queue a job; while it runs it has the match to itself.

        Cancelling the future before that drops the job; later it changes nothing.
        """
        loop = self._context.loop
        future: asyncio.Future[Result] = loop.create_future()
        self._jobs.append((job, future))
        if self._worker is None:
            self._worker = loop.create_task(self._work())
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
                except Exception as error:  # noqa: BLE001 - goes to the caller that awaits the job
                    if not future.done():
                        future.set_exception(error)
                else:
                    if not future.done():
                        future.set_result(result)
        finally:
            self._worker = None
            self._on_idle(self)

    async def join(self) -> None:
        """Wait until no job is left."""
        if self._worker is not None:
            await self._worker

    # --- jobs of the service: run them by `submit` only -----------------------------------------

    async def catch_up(self) -> bool:
        """Fold what the log has beyond the state in memory; return whether there was anything."""
        stored = await self._context.store.read(self.stream_id, self.match.version)
        was_loaded = self.match.version > 0
        self._is_loaded = True
        if not stored:
            return False
        self._recent.clear()  # the match of the newest answer is folded on
        try:
            records = read_records(stored, self._hash)
            hash_at = {record.version: record.hash for record in stored}
            for command in by_command(records):
                for record in command:
                    self.match.apply(record)
                self._publish(command, hash_at[command[-1].version], is_own=False)
        except CorruptLogError as error:
            if was_loaded:
                self._log_changed()
                return await self.catch_up()  # the whole log, which raises if it is corrupt
            error.add_note(f"match {self.stream_id}")  # for the log line with the traceback
            self._reset()
            raise
        self._wake_up_us = None
        return True

    async def catch_up_to(self, version: int) -> None:
        """Fold the missing records up to a version that is known to be in the log."""
        if self.match.version < version:
            await self.catch_up()

    async def start_over(self, head: Head) -> None:
        """Read the log again if it does not have this head, which was folded here."""
        if self.head == head:
            self._log_changed()
            await self.catch_up()

    async def view(self, player_id: str) -> TableView:
        """Return a player's view of the newest state. Raises Refused MATCH_NOT_FOUND."""
        await self.catch_up()
        if not self.match.version:
            raise Refused(match_not_found(self.match_id))
        seat = self.match.table.seat_of(player_id)
        return table_view(self.match, seat, self._context.now_us())

    async def answer(self, envelope: Envelope) -> TableView:
        """Perform a player's command and return their view right after it."""
        with self._context.seats.taking(envelope, self.stream_id):
            match = await self.perform(envelope)
        if envelope.omit_view:
            return TableView(version=match.version)
        seat = match.table.seat_of(envelope.actor.player_id)
        return table_view(match, seat, self._context.now_us())

    async def open(self, envelope: Envelope) -> TableView:
        """Answer a command that may open the table, within the table quota of the player."""
        quota, player_id = self._context.quota, envelope.actor.player_id
        async with quota.turn(player_id):
            if not self.match.version:
                refusal = await quota.refusal(player_id, self._decide(envelope))
                if refusal is not None and not await self.catch_up():
                    raise Refused(refusal)
            return await self.answer(envelope)

    async def perform(self, envelope: Envelope) -> Match:
        """Decide a command, store its events and publish them; return the match as it left it.

        A command without events changes nothing. A command whose request id is in the log is not
        decided again. Raises Refused and the errors of the store.
        """
        is_newest = False
        if not self._is_loaded and not envelope.opens:
            await self.catch_up()
            is_newest = True
        for _ in range(1 + self._context.config.conflict_retries_max):
            if envelope.request_id in self.match.requests:
                answered = await self._find_answer(envelope)
                if answered is not None:
                    self._context.counters.repeats += 1
                    return answered
            now_us = self._context.now_us()
            outcome = await self._decide_at(now_us, envelope)
            if isinstance(outcome, Refused):
                if is_newest or not await self.catch_up():
                    raise outcome
            elif not outcome.events or await self._store(envelope, outcome, now_us):
                return self.match
            is_newest = True
        raise refuse(reasons.ERROR_REASON_CONTENTION)

    async def _find_answer(self, envelope: Envelope) -> Match | None:
        recent = self._recent.find(envelope)
        if recent is not None:
            return recent
        stored = await self._context.store.read(self.stream_id)
        return answered_match(read_records(stored, first_hash(self.stream_id)), envelope)

    async def reschedule(self) -> None:
        """Set the wake-up in the store, unless another replica has appended meanwhile."""
        wake_up_us = self._next_wake_up_us(self.match, self._context.now_us())
        due_at = None if wake_up_us is None else to_datetime(wake_up_us)
        if await self._context.store.reschedule(self.stream_id, self.match.version, due_at):
            self._wake_up_us = wake_up_us

    # --- deciding -------------------------------------------------------------------------------

    def _decide(self, envelope: Envelope) -> Outcome | Refusal:
        match = self.match
        expected = envelope.expected_version
        if expected is not None and expected != match.version != 0:
            versions = {"expected_version": str(expected), "head_version": str(match.version)}
            return Refusal(reasons.ERROR_REASON_STALE_VERSION, metadata=versions)
        return decide(match, envelope.actor, envelope.command)

    async def _decide_at(self, now_us: int, envelope: Envelope) -> Outcome | Refused:
        """Decide a command. A seat also depends on other matches of the player, and on the time."""
        await self._end_reveal(envelope, now_us)
        takes_seat = isinstance(envelope.command, TakeSeat | Rematch)
        player_id = envelope.actor.player_id
        if takes_seat:
            suspended = await self._context.suspensions.refused(player_id, now_us)
            if suspended is not None:
                return suspended
        outcome = self._decide(envelope)
        if takes_seat and not isinstance(outcome, Refusal):
            full = await self._context.seats.refusal(player_id, self.stream_id)
            outcome = outcome if full is None else full
        if isinstance(envelope.command, SeatBot) and not isinstance(outcome, Refusal):
            full = await self._context.quota.bot_refusal(player_id)
            outcome = outcome if full is None else full
        return Refused(outcome) if isinstance(outcome, Refusal) else outcome

    async def _end_reveal(self, envelope: Envelope, now_us: int) -> None:
        """Let the clock cancel the table first if the time to reveal is over (R10.9).

        So a late secret is never accepted, even if the command arrives before the clock acts.
        """
        deadline_us = self.match.deadline_us()
        is_over = deadline_us is not None and deadline_us <= now_us
        if self.match.phase == PHASE_REVEALING and is_over and envelope.actor != CLOCK:
            await self.perform(Envelope(self.match_id, CLOCK, TimeOut(now_us)))

    # --- storing --------------------------------------------------------------------------------

    async def _store(self, envelope: Envelope, outcome: Outcome, now_us: int) -> bool:
        """Append the events of a command and publish them once they are durable.

        `now_us` is the time at which the command was decided.

        Returns False if they were refused, or if it is unknown whether they were stored. The state
        is then the newest, and the command must be decided again.
        """
        prepared = self._prepare(envelope, outcome, now_us)
        head = await self._append(prepared)
        if head is None:
            return False
        self._is_loaded = True
        self._wake_up_us = prepared.wake_up_us
        self._count(envelope, prepared)
        self.match = outcome.commit()
        if envelope.request_id:
            self._recent.add(envelope, self.match)
        self._publish(prepared.records, head.hash, is_own=True)
        return True

    def _prepare(self, envelope: Envelope, outcome: Outcome, now_us: int) -> _Prepared:
        match, after, events = self.match, outcome.after, outcome.events
        now_us = max(now_us, match.time_us)
        records = records_of(match, envelope, events, now_us)
        outcome.stamp(records)
        lobby = None
        coins: list[CoinMove] = []
        if changes_row(events):
            row = lobby_row(after, None if match.version else envelope.actor.player_id)
            lobby = with_news(row, match, after)
            free_matches = self._context.config.opening_free_matches_min
            coins = coin_moves(match, after, events, free_matches)
        wake_up_us, known_us = self._next_wake_up_us(after, now_us), self._wake_up_us
        due_at = None if wake_up_us is None else to_datetime(wake_up_us)
        # A wake-up in the store that is early enough stays: a new one also changes an index.
        keeps = wake_up_us is not None and known_us is not None and known_us <= wake_up_us
        append = Append(
            self.stream_id,
            match.version,
            self._hash,
            [record.SerializeToString() for record in records],
            UNCHANGED if keeps else due_at,
            lobby,
        )
        return _Prepared(records, append, coins, known_us if keeps else wake_up_us)

    async def _append(self, prepared: _Prepared) -> Head | None:
        store = self._context.store
        try:
            try:
                return await store.append(prepared.append, prepared.coins)
            except NoAccount:  # the first stake of a player
                await open_accounts(store.ledger, prepared.coins, self._context.config)
                return await store.append(prepared.append, prepared.coins)
        except InsufficientCoins as error:  # judged on the newest state: the guard comes first
            raise too_few_coins(error) from error
        except OpeningCoinsLocked as error:
            raise opening_coins_locked(error) from error
        except (VersionConflict, ChainMismatch, AppendOutcomeUnknown) as error:
            await self._recover(error)
            return None

    async def _recover(self, error: StoreError) -> None:
        """Read the log after an append that was refused or whose outcome is unknown.

        Raises StoreUnavailable while the database is away. An append of unknown outcome that is not
        in the log may still arrive; the guard then accepts one of the two.
        """
        is_unknown = isinstance(error, AppendOutcomeUnknown)
        if not is_unknown:
            self._context.counters.conflicts += 1
        if isinstance(error, ChainMismatch) or not (await self.catch_up() or is_unknown):
            self._log_changed()
            await self.catch_up()

    def _next_wake_up_us(self, match: Match, now_us: int) -> int | None:
        bot_turn_us = round(self._context.config.bot_turn_seconds * MICROSECONDS)
        return next_wake_up_us(match, now_us, bot_turn_us)

    def _count(self, envelope: Envelope, prepared: _Prepared) -> None:
        counters = self._context.counters
        counters.appends += 1
        counters.events += len(prepared.records)
        if envelope.actor.kind == ACTOR_KIND_CLOCK:
            counters.timeouts += 1

    # --- publishing -----------------------------------------------------------------------------

    def _publish(self, records: list[Record], head_hash: bytes, *, is_own: bool) -> None:
        """Pass the records of one command, which were just folded, to all listeners."""
        self._hash = head_hash
        change = Change(self.match, records, self._context.now_us(), is_own=is_own)
        for listener in (*self.listeners, *self._context.change_listeners):
            listener(change)
