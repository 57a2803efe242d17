"""Limits how many waiting and running tables a player may have opened (TOO_MANY_TABLES)."""

import asyncio
from weakref import WeakValueDictionary

from domain.match.outcome import Outcome
from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.table_pb2 import PHASE_PLAYING, PHASE_WAITING
from eventstore import EventStore


class TableQuota:
    """Counts the waiting tables of each player in the lobby, which all replicas share.

    A table counts for the player whose command opened it. That is the owner, except for a rematch:
    there it is the first player to ask for it. Counting a rematch for the owner would let others
    use up the owner's quota, and an owner with many tables would keep others from playing again.
    Not counting it would let two players fill the lobby with rematches of abandoned matches.
    """

    def __init__(self, store: EventStore, tables_max: int, bot_tables_max: int) -> None:
        """Let each player have `tables_max` waiting tables in this store.

        With `bot_tables_max` running ones they can seat no more bots.
        """
        self._store = store
        self._tables_max = tables_max
        self._bot_tables_max = bot_tables_max
        self._turns = WeakValueDictionary[str, asyncio.Lock]()

    def turn(self, player_id: str) -> asyncio.Lock:
        """Return the lock to hold while a player opens a table.

        The tables that the player opened before are then in the lobby and are counted.
        """
        return self._turns.setdefault(player_id, asyncio.Lock())

    async def refusal(self, player_id: str, opening: Outcome | Refusal) -> Refusal | None:
        """Return why the player may not open the table of this outcome, or None.

        A table that is dealt at once does not wait, so it is always accepted.
        """
        if isinstance(opening, Refusal) or opening.after.phase != PHASE_WAITING:
            return None
        tables_max = self._tables_max
        waiting = await self._store.lobby.count_opened(
            player_id, status=PHASE_WAITING, limit=tables_max
        )
        if waiting < tables_max:
            return None
        return Refusal(reasons.ERROR_REASON_TOO_MANY_TABLES, metadata={"quota": "tables"})

    async def bot_refusal(self, player_id: str) -> Refusal | None:
        """Return why the player may not seat a bot, or None.

        Bots play on by themselves, so their tables would otherwise run in any number.
        """
        running = await self._store.lobby.count_opened(
            player_id, status=PHASE_PLAYING, limit=self._bot_tables_max
        )
        if running < self._bot_tables_max:
            return None
        return Refusal(reasons.ERROR_REASON_TOO_MANY_TABLES, metadata={"quota": "tables with bots"})
