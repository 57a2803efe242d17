"""A watch of the lobby: a snapshot, then the differences between the board and the reader's list.

Nothing is queued. A reader that is slow makes the next difference larger, never the memory.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final
from uuid import UUID

from durak.v1.feed_service_pb2 import LobbyFilter, WatchLobbyResponse
from durak.v1.match_service_pb2 import MatchSummary
from durak.v1.table_pb2 import PHASE_WAITING, Phase
from service.config import Config
from service.feeds.board import Board
from service.matches.lobby import may_find
from service.rpc.call import Caller
from service.rpc.limits import Limits

Send = Callable[[WatchLobbyResponse], Awaitable[None]]
"""Sends one message; returns when there is room for the next."""

_MESSAGE_MATCHES: Final = 100


class LobbyWatch:
    """One reader of the lobby. Run it once. `Limits` counts how many are open."""

    def __init__(
        self,
        board: Board,
        limits: Limits,
        caller: Caller,
        phase: Phase.ValueType,
        wanted: LobbyFilter,
    ) -> None:
        """Show the matches of a phase that fit the filter and that the caller may find.

        The snapshot counts against the caller's calls in `limits`.
        """
        self._board = board
        self._limits = limits
        self._caller_id = caller.subject
        self._phase = phase
        self._wanted = wanted
        self._shown: dict[UUID, int] = {}
        """The versions that the reader has."""
        self._seen = 0
        """The number of the last read of the board of which the reader has everything."""

    async def run(self, send: Send, config: Config) -> None:
        """Send the watch until it is cancelled. Raises the errors of the store."""
        board = self._board
        with board.watching(self._phase) as changed:
            await board.prepare(self._phase)
            await self._limits.charge_events(self._caller_id, len(board.tables))
            self._seen = board.number
            await self._send(tuple(board.tables), send)
            await send(WatchLobbyResponse(caught_up=True))
            while True:
                try:
                    async with asyncio.timeout(config.heartbeat_interval_seconds):
                        await changed.wait()
                except TimeoutError:
                    await send(WatchLobbyResponse())
                    continue
                changed.clear()
                ids = board.changed_since(self._seen)
                self._seen = board.number
                await self._send({*self._shown, *board.tables} if ids is None else ids, send)

    async def _send(self, ids: Iterable[UUID], send: Send) -> None:
        """Send how these matches differ from those that the reader has, in several messages."""
        message, size = WatchLobbyResponse(), 0
        for match_id in sorted(ids, key=self._age):
            size += self._compare(match_id, message)
            if size == _MESSAGE_MATCHES:
                await send(message)
                message, size = WatchLobbyResponse(), 0
        if size:
            await send(message)

    def _age(self, match_id: UUID) -> tuple[int, int]:
        """Return the key that sorts matches by the time of opening, newest first."""
        listed = self._board.tables.get(match_id)
        time_us = listed.summary.open_time.ToMicroseconds() if listed is not None else 0
        return -time_us, match_id.int

    def _compare(self, match_id: UUID, message: WatchLobbyResponse) -> bool:
        """Add a match to the message if the reader must know. Return whether it was added."""
        listed, shown = self._board.tables.get(match_id), self._shown.get(match_id)
        if listed is None or not self._fits(listed.summary):
            if shown is None:
                return False
            del self._shown[match_id]
            message.removed_match_ids.append(str(match_id))
            return True
        if shown is not None and shown >= listed.version:
            return False
        self._shown[match_id] = listed.version
        (message.added if shown is None else message.changed).append(listed.summary)
        return True

    def _fits(self, summary: MatchSummary) -> bool:
        return (
            summary.phase == self._phase
            and may_find(summary, self._caller_id)
            and (summary.phase != PHASE_WAITING or _is_open_to(summary, self._caller_id))
            and fits(summary, self._wanted)
        )


def _is_open_to(summary: MatchSummary, caller_id: str) -> bool:
    """Return whether a waiting table has seats for a caller: a rematch has them for its players."""
    return not summary.reserved_for or caller_id in summary.reserved_for


def fits(summary: MatchSummary, wanted: LobbyFilter) -> bool:
    """Return whether a match fits a filter."""
    settings = summary.settings
    free = sum(not seat.taken for seat in summary.seats)
    return (
        wanted.deck in {0, settings.deck}
        and wanted.seats in {0, settings.seats}
        and wanted.throw_in in {0, settings.throw_in}
        and (not wanted.HasField("transfer") or wanted.transfer == settings.transfer)
        and (not wanted.HasField("tricky") or wanted.tricky == settings.tricky)
        and wanted.stake_coins_min <= settings.stake_coins
        and (
            not wanted.HasField("stake_coins_max") or settings.stake_coins <= wanted.stake_coins_max
        )
        and wanted.free_seats_min <= free
    )
