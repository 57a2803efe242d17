"""Bots (R14): move for the seats that bots have, by the same way as everybody.

A bot chooses from the view of its seat and the events shown to that seat, nothing else, and its
move is a command like any, bound to the version that it was chosen on. It is woken by the replica
that stored the change that made it its turn. Should that replica die, the time by which somebody
must look at the match stands in the log, and another one takes over (see sweeper.py).
"""

import asyncio
from functools import partial
from typing import Final

import structlog

from domain import bots
from domain.match.commands import Play, by_bot
from domain.match.table import Table
from domain.match.view import table_view
from durak.v1 import errors_pb2 as reasons
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import Move
from eventstore.errors import StoreError
from service.matches.envelope import Envelope
from service.matches.live_match import LiveMatch, bot_to_move
from service.matches.live_matches import LiveMatches
from service.rpc.errors import Refused
from service.workers.pool import WorkerPool, WorkerPoolError
from service.workers.tasks import choose_move

_log = structlog.get_logger(__name__)

_QUICK: Final = frozenset({BotLevel.BOT_LEVEL_EASY, BotLevel.BOT_LEVEL_NORMAL})
"""Levels that choose within microseconds, in the event loop. The others use the worker pool."""
_REPORT_SECONDS: Final = 10.0
"""Minimum time between log lines about hard bots that move like normal ones."""


class BotRunner:
    """Moves for the bots of live matches: at most one task for each match."""

    def __init__(self, matches: LiveMatches, workers: WorkerPool) -> None:
        """Play at these matches. Hard bots choose their moves in `workers`."""
        self._matches = matches
        self._workers = workers
        self._reported_at = -_REPORT_SECONDS
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._is_closed = False

    def changed(self, live: LiveMatch, *, own: bool) -> None:
        """Wake the bots of a match after a change that this replica has stored."""
        if own and live.has_bots:
            if _has_hard_bot(live.match.table):
                self._workers.warm()
            self.wake(live)

    def wake(self, live: LiveMatch) -> None:
        """See whether it is a bot's turn, and move."""
        if self._is_closed or live.match_id in self._tasks:
            return
        if bot_to_move(live.match) is not None:
            task = self._matches.loop.create_task(self._play(live.match_id))
            self._tasks[live.match_id] = task

    async def close(self) -> None:
        """Move no more. A move that is being stored is seen through by its match."""
        self._is_closed = True
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _play(self, match_id: bytes) -> None:
        """Move until it is no bot's turn."""
        try:
            with self._matches.pinned(match_id) as live:
                while (seat := bot_to_move(live.match)) is not None:
                    await asyncio.sleep(self._matches.config.bot_delay_seconds)
                    await self._move(live, seat)
        except (Refused, StoreError) as error:
            # Somebody will look at the match again at the time that stands in the log.
            _log.warning("bot stopped", match_id=match_id.hex(), error=str(error))
        except Exception as error:  # noqa: BLE001 - as above; the fault is ours
            _log.error("bot stopped", match_id=match_id.hex(), exc_info=error)
        finally:
            del self._tasks[match_id]

    async def _move(self, live: LiveMatch, seat: int) -> None:
        """Choose a move for a seat and make it, unless the match goes on meanwhile."""
        if bot_to_move(live.match) != seat:
            return
        version = live.match.version
        move = await self._choose(live, seat)
        envelope = Envelope(live.match_id, by_bot(seat), Play(move), expected_version=version)
        try:
            await live.submit(partial(live.perform, envelope))
            self._matches.counters.bot_moves += 1
        except Refused as refused:
            if refused.refusal.reason != reasons.ERROR_REASON_STALE_VERSION:
                raise

    async def _choose(self, live: LiveMatch, seat: int) -> Move:
        match = live.match
        occupant = match.table.seats[seat]
        assert occupant is not None
        view = table_view(match, seat)
        history = live.history(seat)
        level = occupant.bot_level
        seed = bots.move_seed(occupant.bot_seed, match.version)
        if level in _QUICK:
            return bots.choose_move(level, view, history, seed)
        try:
            move = await self._workers.run(
                self._matches.config.bot_think_seconds_max,
                choose_move,
                level,
                view.SerializeToString(),
                [event.SerializeToString() for event in history],
                seed,
            )
        except WorkerPoolError as error:
            self._report(live, str(error))
        except Exception as error:  # noqa: BLE001 - the match must go on
            _log.error("bot failed to choose", match_id=live.match_id.hex(), exc_info=error)
        else:
            return Move.FromString(move)
        self._matches.counters.bot_moves_fallback += 1
        return bots.choose_move(BotLevel.BOT_LEVEL_NORMAL, view, history, seed)

    def _report(self, live: LiveMatch, error: str) -> None:
        """Log that a hard bot moves like a normal one, because its task has no result."""
        now = self._matches.loop.time()
        if now - self._reported_at >= _REPORT_SECONDS:
            self._reported_at = now
            moves = self._matches.counters.bot_moves_fallback + 1
            match_id = live.match_id.hex()
            _log.warning("bot falls back", match_id=match_id, error=error, moves_so_far=moves)


def _has_hard_bot(table: Table) -> bool:
    return any(
        seat is not None and seat.is_bot and seat.bot_level not in _QUICK for seat in table.seats
    )
