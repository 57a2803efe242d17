"""Tables that a player has opened and that wait for others: so many and no more."""

import asyncio
from weakref import WeakValueDictionary

from domain.match.outcome import Outcome
from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.table_pb2 import PHASE_WAITING
from eventstore import EventStore


class Openings:
    """Counts the waiting tables of each player, in the lobby, which all replicas share.

    A table counts for the player whose command opened it. That is the owner, but for a rematch it
    is the first to call: counted for the owner, it would use up what the owner may open, and an
    owner with many tables would keep others from playing again; not counted, two players could
    fill the lobby with rematches of matches that they gave up at once.
    """

    def __init__(self, store: EventStore, limit: int) -> None:
        """Let each player have `limit` tables in this store that wait."""
        self._store = store
        self._limit = limit
        self._turns = WeakValueDictionary[str, asyncio.Lock]()

    def turn(self, player_id: str) -> asyncio.Lock:
        """To be held while a player opens a table: what was let in before is then in the lobby."""
        return self._turns.setdefault(player_id, asyncio.Lock())

    async def refusal(self, player_id: str, opening: Outcome | Refusal) -> Refusal | None:
        """Why the player may not open this table, if so.

        A table that is dealt at once does not wait, and is always let in.
        """
        if isinstance(opening, Refusal) or opening.after.phase != PHASE_WAITING:
            return None
        waiting = await self._store.lobby.count_opened(
            player_id, status=PHASE_WAITING, limit=self._limit
        )
        if waiting < self._limit:
            return None
        return Refusal(reasons.ERROR_REASON_TOO_MANY_TABLES, metadata={"quota": "tables"})
