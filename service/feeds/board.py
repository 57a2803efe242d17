"""The newest open tables and running matches: read once for all lobby watches of a process.

The lobby of the store is read again after a hint that it has changed, and at an interval in case
the hint was lost; not while nobody watches. Watches learn which matches have changed, so that a
change costs each of them a look at one match.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple
from uuid import UUID

from google.protobuf.message import DecodeError

from durak.v1.match_service_pb2 import MatchSummary
from durak.v1.table_pb2 import PHASE_PLAYING, PHASE_WAITING, Phase
from service.matches.changes import Change
from service.matches.context import Context
from service.matches.lobby import changes_row
from service.rpc.set_aside import SetAside
from service.watchdog import progress, rest

PHASES: Final = (PHASE_WAITING, PHASE_PLAYING)
LOBBY_STREAM: Final = UUID(int=0)
"""The id that hints about the lobby have in place of a stream. No match has it."""
_CHANGES_MAX: Final = 256
"""Reads whose changes are remembered. A watch that is further behind compares all matches."""


class Listed(NamedTuple):
    """A match on the board, and the version of its row in the lobby."""

    version: int
    summary: MatchSummary


class Board:
    """The matches that lobby watches show."""

    def __init__(self, context: Context) -> None:
        """Listen to changes and hints. Nothing is read before the first watch."""
        self.tables: dict[UUID, Listed] = {}
        """The matches by id, in no order."""
        self.number = 0
        """The number of the last read that found changes."""
        self._context = context
        self._changes: deque[frozenset[UUID]] = deque(maxlen=_CHANGES_MAX)
        self._watches = Counter[Phase.ValueType]()
        self._ready: set[Phase.ValueType] = set()
        """The phases that were read since they are watched."""
        self._waiting: set[asyncio.Event] = set()
        self._is_stale = asyncio.Event()
        self._reading = asyncio.Lock()
        self._set_aside: SetAside[UUID] = SetAside("lobby", context.failures)
        context.change_listeners.append(self._changed)
        context.hint_listeners.append(self._heard)

    @contextmanager
    def watching(self, phase: Phase.ValueType) -> Iterator[asyncio.Event]:
        """Yield an event that is set when the board has changed, and keep the phase up to date."""
        event = asyncio.Event()
        self._waiting.add(event)
        self._watches[phase] += 1
        try:
            yield event
        finally:
            self._waiting.discard(event)
            self._watches[phase] -= 1
            if not self._watches[phase]:
                self._ready.discard(phase)

    def changed_since(self, number: int) -> set[UUID] | None:
        """Return the matches that have changed, come or gone since a read. None: not remembered."""
        behind = self.number - number
        if behind > len(self._changes):
            return None
        recent = list(self._changes)[len(self._changes) - behind :]
        return set[UUID]().union(*recent)

    async def run(self) -> None:
        """Read the lobby while it is watched, without end. Raises StoreError."""
        config = self._context.config
        while True:
            self._is_stale.clear()
            if self._waiting:
                async with self._reading:
                    await self._read()
            await rest(config.lobby_interval_seconds)
            progress()
            try:
                async with asyncio.timeout(config.heads_interval_seconds):
                    await self._is_stale.wait()
            except TimeoutError:
                continue

    async def prepare(self, phase: Phase.ValueType) -> None:
        """Read a phase unless it was read since it is watched. Raises StoreError."""
        async with self._reading:
            if phase not in self._ready:
                await self._read()

    async def _read(self) -> None:
        """Read the watched phases from the lobby."""
        for phase in PHASES:
            if self._watches[phase]:
                self._publish(await self._read_phase(phase))
                if self._watches[phase]:  # still
                    self._ready.add(phase)
            else:
                self._publish(self._keep_only(phase, {}))

    def _publish(self, changed: set[UUID]) -> None:
        """Notify the watches of changes in the tables, in the same step of the event loop."""
        if changed:
            self.number += 1
            self._changes.append(frozenset(changed))
            for event in self._waiting:
                event.set()

    async def _read_phase(self, phase: Phase.ValueType) -> set[UUID]:
        lobby = self._context.store.lobby
        limit = self._context.config.lobby_matches_max
        newest = await lobby.read_newest(phase, limit=limit)
        known = self.tables
        new = [it for it, at in newest.items() if it not in known or known[it].version < at]
        changed: set[UUID] = set()
        for row in await lobby.read_rows(new) if new else ():
            try:
                summary = MatchSummary.FromString(row.summary)
            except DecodeError as error:
                self._set_aside.add(row.match_id, error)
                continue
            if summary.phase == phase:  # else it has changed since, and is read again
                self.tables[row.match_id] = Listed(row.version, summary)
                changed.add(row.match_id)
        return changed | self._keep_only(phase, newest)

    def _keep_only(self, phase: Phase.ValueType, newest: dict[UUID, int]) -> set[UUID]:
        """Remove the matches of a phase that are not among the newest. Return them."""
        gone = {
            match_id
            for match_id, listed in self.tables.items()
            if listed.summary.phase == phase and match_id not in newest
        }
        for match_id in gone:
            del self.tables[match_id]
        return gone

    def _changed(self, change: Change) -> None:
        if change.is_own and changes_row([record.event for record in change.records]):
            self._context.store.hints.add(LOBBY_STREAM, 0)
            self._is_stale.set()

    def _heard(self, stream_id: UUID, _version: int) -> None:
        if stream_id == LOBBY_STREAM:
            self._is_stale.set()
