"""The clock (R10): sees to it that what is due happens, whoever is there to see it.

Each live match with a deadline has a timer in this process. Beside them stands in the log, written
with the append that made it so, by when somebody must look at each match; what nobody has looked at
in time (its replica died, or dropped it from memory) is found by searching for that. All replicas
may act at the same moment: the version guard lets one of them in, and the others then find nothing
due.
"""

import asyncio
from functools import partial

import structlog

from domain.match.commands import CLOCK, TimeOut
from eventstore.errors import StoreError
from service.automation.bots import BotRunner
from service.matches.envelope import Envelope
from service.matches.live_match import LiveMatch, to_datetime
from service.matches.live_matches import MICROSECONDS, LiveMatches
from service.rpc.errors import Refused

_log = structlog.get_logger(__name__)


class Sweeper:
    """Looks at matches when their time has come."""

    def __init__(self, matches: LiveMatches, bots: BotRunner) -> None:
        """Keep the clocks of these matches, and tell the bots of turns that were left lying."""
        self._matches = matches
        self._bots = bots
        self._is_closed = False

    async def run(self) -> None:
        """Search the log for matches that are due, again and again, without end."""
        config = self._matches.config
        while True:
            full = False
            try:
                full = await self.sweep() == config.deadline_scan_batch_matches
            except StoreError as error:
                _log.warning("sweep failed", error=type(error).__name__)
            if not full:
                await asyncio.sleep(config.deadline_scan_interval_seconds)

    async def sweep(self) -> int:
        """Look at the matches that are overdue; how many were found."""
        config = self._matches.config
        grace_us = round(config.deadline_scan_grace_seconds * MICROSECONDS)
        due = await self._matches.store.read_due(
            to_datetime(self._matches.now_us() - grace_us), config.deadline_scan_batch_matches
        )
        await asyncio.gather(*(self.look(found.stream_id.bytes) for found in due))
        return len(due)

    async def look(self, match_id: bytes) -> None:
        """Do what is due at a match, and set when to look again."""
        try:
            with self._matches.pinned(match_id) as live:
                await live.submit(partial(self._look, live))
                self._bots.wake(live)
        except (Refused, StoreError) as error:
            _log.warning("look failed", match_id=match_id.hex(), error=type(error).__name__)
        except Exception as error:  # noqa: BLE001 - one match must not stop the others' clocks
            _log.error("look failed", match_id=match_id.hex(), exc_info=error)

    async def _look(self, live: LiveMatch) -> None:
        await live.catch_up()
        await self._act(live)
        await live.put_off(live.next_look_us(live.match, self._matches.now_us()))

    async def _act(self, live: LiveMatch) -> None:
        """Let the clock act for one seat after the other, until nothing is due."""
        while True:
            deadline_us, now_us = live.match.deadline_us(), self._matches.now_us()
            if deadline_us is None or now_us < deadline_us:
                return
            await live.perform(Envelope(live.match_id, CLOCK, TimeOut(now_us)))

    # --- timers ---------------------------------------------------------------------------------

    def changed(self, live: LiveMatch, *, own: bool) -> None:
        """See that the timer of a match does not come too late.

        Where the deadline has moved away, the timer stays, and sets itself anew when it comes.
        """
        deadline_us = live.match.deadline_us()
        if deadline_us is None:
            if live.timer is not None:
                live.timer.cancel()
                live.timer = None
            return
        when = self._matches.loop.time() + (deadline_us - self._matches.now_us()) / MICROSECONDS
        if live.timer is not None:
            if live.timer.when() <= when:
                return
            live.timer.cancel()
        if not self._is_closed:
            live.timer = self._matches.loop.call_at(when, self._ring, live)

    def _ring(self, live: LiveMatch) -> None:
        live.timer = None
        if self._is_closed:
            return
        deadline_us = live.match.deadline_us()
        if deadline_us is not None and deadline_us <= self._matches.now_us():
            # Where it fails, as the store is away, the search finds the match later.
            live.submit(partial(self._act, live)).add_done_callback(_noted)
        else:
            self.changed(live, own=False)

    def close(self) -> None:
        """Set no more timers."""
        self._is_closed = True


def _noted(future: "asyncio.Future[None]") -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        _log.warning("clock failed", error=type(error).__name__)
