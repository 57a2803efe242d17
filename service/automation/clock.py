"""The clock (R10): enforces deadlines even when no client is connected.

Each live match with a deadline has a timer in this process. The store also has a wake-up for each
match, written with the append that set it. A search for passed wake-ups finds the matches that no
timer has handled, because their replica died or dropped them from memory. All replicas may act at
the same moment: the version guard accepts one of them, and the others then find nothing due.
"""

import asyncio
from functools import partial
from uuid import UUID

from domain.match.commands import CLOCK, TimeOut
from domain.match.fold import Match
from service.automation.bots import BotRunner
from service.matches.changes import Change
from service.matches.envelope import Envelope
from service.matches.live_match import LiveMatch
from service.matches.live_matches import LiveMatches
from service.rpc.catalogue import SERVER_FAULTS
from service.rpc.errors import refused_by
from service.rpc.set_aside import SetAside
from service.times import MICROSECONDS, to_datetime
from service.watchdog import progress, rest


class Clock:
    """Acts for seats whose time is over, and resumes the turns of bots that were left undone."""

    def __init__(self, matches: LiveMatches, bots: BotRunner) -> None:
        """Keep the time of these matches."""
        self._matches = matches
        self._context = matches.context
        self.timers: dict[bytes, asyncio.TimerHandle] = {}
        """The timers of live matches, by match id. None rings later than its deadline."""
        self.set_aside: SetAside[bytes] = SetAside("clock", self._context.failures)
        """Matches whose log cannot be folded. Their clocks stand still, those of others do not."""
        self._bots = bots
        self._is_closed = False

    async def run(self) -> None:
        """Search for matches with a passed wake-up, without end. Raises StoreError."""
        config = self._context.config
        while True:
            progress()
            if await self.scan() < config.deadline_scan_batch_matches:
                await rest(config.deadline_scan_interval_seconds)

    async def scan(self) -> int:
        """Wake the matches whose wake-up has passed; return how many were found."""
        config = self._context.config
        grace_us = round(config.deadline_scan_grace_seconds * MICROSECONDS)
        due = await self._context.store.read_due(
            to_datetime(self._context.now_us() - grace_us),
            config.deadline_scan_batch_matches,
            [UUID(bytes=match_id) for match_id in self.set_aside.list_waiting()],
        )
        await asyncio.gather(*(self.wake(found.stream_id.bytes) for found in due))
        return len(due)

    async def wake(self, match_id: bytes) -> None:
        """Act on the deadlines of a match (its id: 16 bytes), and set its next wake-up."""
        try:
            with self._matches.pinned(match_id) as live:
                await live.submit(partial(self._wake, live))
                self._bots.wake(live.match)
        except Exception as error:  # noqa: BLE001 - one match must not stop the clocks of others
            if refused_by(error).refusal.reason in SERVER_FAULTS:
                self.set_aside.add(match_id, error)
            else:
                self._context.failures.report("clock", error, match_id=match_id.hex())
        else:
            self.set_aside.remove(match_id)

    async def _wake(self, live: LiveMatch) -> None:
        await live.catch_up()
        await self._act(live)
        await live.reschedule()

    async def _act(self, live: LiveMatch) -> None:
        """Let the clock act for one seat after the other, until nothing is due."""
        while is_due(live.match, now_us := self._context.now_us()):
            await live.perform(Envelope(live.match_id, CLOCK, TimeOut(now_us)))

    # --- timers ---------------------------------------------------------------------------------

    def changed(self, change: Change) -> None:
        """Set the timer of a match so that it rings at its deadline or before."""
        self._set_timer(change.match)

    def evicted(self, match_id: bytes) -> None:
        """Cancel the timer of a match that is no longer live. The search finds it later."""
        timer = self.timers.pop(match_id, None)
        if timer is not None:
            timer.cancel()

    def _set_timer(self, match: Match) -> None:
        deadline_us = match.deadline_us()
        if deadline_us is None:
            self.evicted(match.match_id)
            return
        context = self._context
        when = context.loop.time() + (deadline_us - context.now_us()) / MICROSECONDS
        timer = self.timers.get(match.match_id)
        if timer is not None:
            if timer.when() <= when:
                return  # it rings, finds the deadline moved, and is set again
            timer.cancel()
        if not self._is_closed:
            self.timers[match.match_id] = context.loop.call_at(when, self._ring, match.match_id)

    def _ring(self, match_id: bytes) -> None:
        del self.timers[match_id]
        live = self._matches.find(match_id)
        if self._is_closed or live is None:
            return
        if is_due(live.match, self._context.now_us()):
            # If this fails, because the store is away, the search finds the match later.
            live.submit(partial(self._act, live)).add_done_callback(
                partial(self._report_failure, match_id)
            )
        else:
            self._set_timer(live.match)

    def _report_failure(self, match_id: bytes, acting: "asyncio.Future[None]") -> None:
        error = None if acting.cancelled() else acting.exception()
        if isinstance(error, Exception):
            self._context.failures.report("clock", error, match_id=match_id.hex())

    def close(self) -> None:
        """Set no more timers."""
        self._is_closed = True


def is_due(match: Match, now_us: int) -> bool:
    """Return whether the deadline of a match has passed at `now_us`."""
    deadline_us = match.deadline_us()
    return deadline_us is not None and deadline_us <= now_us
