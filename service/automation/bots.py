"""Bots (R14): choose the moves of seats with bots and send them as commands.

A bot chooses from the view of its seat and the events shown to that seat, nothing else. Its move is
a command like any other, bound to the version that it was chosen on. The replica that stored the
change that made it a bot's turn moves the bot. If that replica dies, the wake-up in the store
passes, and another replica takes over (see clock.py).

After its "take" at a tricky table a bot is off the clock, but may challenge the cards that others
throw in. It looks at every new play at once, without a pause: the bout may close with the next
pass. Such a challenge follows from open cards, so its time says nothing about the hand.
"""

import asyncio
from functools import partial
from typing import Final

import structlog

from domain import bots
from domain.match.commands import Play, by_bot
from domain.match.fold import Match
from domain.match.table import Table
from domain.match.view import table_view
from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import Event
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import Move
from service.automation.histories import Histories
from service.automation.reply_times import reply_time
from service.matches.changes import Change
from service.matches.envelope import Envelope
from service.matches.live_match import LiveMatch
from service.matches.live_matches import LiveMatches
from service.matches.wake_up import bot_off_clock, bot_to_move
from service.rpc.errors import Refused
from service.workers.errors import WorkerPoolError
from service.workers.pool import WorkerPool
from service.workers.tasks import choose_move

_log = structlog.get_logger(__name__)

_QUICK: Final = frozenset({BotLevel.BOT_LEVEL_EASY, BotLevel.BOT_LEVEL_NORMAL})
"""Levels that choose within microseconds, in this process. The others need the worker pool."""
_REPORT_SECONDS: Final = 10.0
"""Minimum interval between log lines about bots that moved without the worker pool."""


class BotRunner:
    """Moves the bots of live matches, with at most one task for each match."""

    def __init__(self, matches: LiveMatches, histories: Histories, workers: WorkerPool) -> None:
        """Play in these matches. Hard bots choose their moves in `workers`."""
        self._matches = matches
        self._context = matches.context
        self._histories = histories
        self._workers = workers
        self._reported_at = -_REPORT_SECONDS
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._challenges: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def changed(self, change: Change) -> None:
        """Move the bots of a match after a change that this replica has stored."""
        match = change.match
        if change.is_own and match.table.has_bots:
            if _has_hard_bot(match.table):
                self._workers.warm()
            self.wake(match)
            self._look_at_play(match)

    def wake(self, match: Match) -> None:
        """Start to move if it is a bot's turn in a live match."""
        match_id = match.match_id
        if self._is_closed or match_id in self._tasks:
            return
        if bot_to_move(match) is not None:
            self._tasks[match_id] = self._context.loop.create_task(self._play(match_id))

    async def close(self) -> None:
        """Stop moving. A move that is being stored is completed by its match."""
        self._is_closed = True
        tasks = (*self._tasks.values(), *self._challenges)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _look_at_play(self, match: Match) -> None:
        """Let a bot that is off the clock challenge a play of the bout."""
        seat = bot_off_clock(match)
        if seat is not None and not self._is_closed:
            task = self._context.loop.create_task(self._challenge(match.match_id, seat))
            self._challenges.add(task)
            task.add_done_callback(self._challenges.discard)

    async def _challenge(self, match_id: bytes, seat: int) -> None:
        """Challenge an illegal play, if the bot on this seat still may and wants to."""
        try:
            with self._matches.pinned(match_id) as live:
                match = live.match
                if bot_off_clock(match) != seat:
                    return
                occupant = match.table.seats[seat]
                assert occupant is not None
                move = bots.choose_challenge(
                    occupant.bot_level,
                    table_view(match, seat),
                    self._events_shown_to(match, seat),
                    bots.move_seed(occupant.bot_seed, match.version),
                )
                if move is not None:
                    await self._send(live, seat, move, match.version)
        except Exception as error:  # noqa: BLE001 - the match goes on without the challenge
            self._context.failures.report("bots", error, match_id=match_id.hex())

    async def _play(self, match_id: bytes) -> None:
        """Move until it is no longer a bot's turn."""
        try:
            with self._matches.pinned(match_id) as live:
                while (seat := bot_to_move(live.match)) is not None:
                    await asyncio.sleep(self._context.config.bot_delay_seconds)
                    await self._move(live, seat)
        except Exception as error:  # noqa: BLE001 - some replica moves the bot at its wake-up
            self._context.failures.report("bots", error, match_id=match_id.hex())
        finally:
            del self._tasks[match_id]

    async def _move(self, live: LiveMatch, seat: int) -> None:
        """Choose a move for a seat and make it, unless the match has gone on meanwhile."""
        if bot_to_move(live.match) != seat:
            return
        version = live.match.version
        occupant = live.match.table.seats[seat]
        assert occupant is not None
        seed = bots.move_seed(occupant.bot_seed, version)
        started = self._context.loop.time()
        move = await self._choose(live, seat, seed)
        if occupant.bot_level not in _QUICK:
            await self._wait_for_reply_time(started, seed)
        await self._send(live, seat, move, version)

    async def _send(self, live: LiveMatch, seat: int, move: Move, version: int) -> None:
        """Make a move that was chosen on a version, unless the match has gone on meanwhile."""
        envelope = Envelope(live.match_id, by_bot(seat), Play(move), expected_version=version)
        try:
            await live.submit(partial(live.perform, envelope))
            self._context.counters.bot_moves += 1
        except Refused as refused:
            if refused.refusal.reason != reasons.ERROR_REASON_STALE_VERSION:
                raise

    async def _wait_for_reply_time(self, started: float, seed: int) -> None:
        loop, seconds_min = self._context.loop, self._context.config.bot_think_seconds_min
        ready = loop.time()
        await asyncio.sleep(max(0.0, reply_time(started, ready, seed, seconds_min) - ready))

    async def _choose(self, live: LiveMatch, seat: int, seed: int) -> Move:
        match = live.match
        occupant = match.table.seats[seat]
        assert occupant is not None
        view = table_view(match, seat)
        level = occupant.bot_level
        if level in _QUICK:
            return bots.choose_move(level, view, self._events_shown_to(match, seat), seed)
        try:
            move = await self._workers.run(
                match.table.owner_id,
                self._context.config.bot_think_seconds_max,
                choose_move,
                level,
                view.SerializeToString(),
                self._histories.shown_to(match.match_id, seat, match.trump_card),
                seed,
            )
        except WorkerPoolError as error:
            self._report(live, str(error))
        except Exception as error:  # noqa: BLE001 - the match must go on
            self._context.failures.report("bots", error, match_id=live.match_id.hex())
        else:
            return Move.FromString(move)
        self._context.counters.bot_moves_fallback += 1
        events = self._events_shown_to(match, seat)
        return bots.choose_move(BotLevel.BOT_LEVEL_NORMAL, view, events, seed)

    def _events_shown_to(self, match: Match, seat: int) -> list[Event]:
        shown = self._histories.shown_to(match.match_id, seat, match.trump_card)
        return [Event.FromString(event) for event in shown]

    def _report(self, live: LiveMatch, error: str) -> None:
        """Log that a hard bot moves as a normal one, because the worker pool gave no move."""
        now = self._context.loop.time()
        if now - self._reported_at >= _REPORT_SECONDS:
            self._reported_at = now
            moves = self._context.counters.bot_moves_fallback + 1
            match_id = live.match_id.hex()
            _log.warning("bot falls back", match_id=match_id, error=error, moves_so_far=moves)


def _has_hard_bot(table: Table) -> bool:
    return any(
        seat is not None and seat.is_bot and seat.bot_level not in _QUICK for seat in table.seats
    )
