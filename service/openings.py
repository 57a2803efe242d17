"""Tables that a player has opened and that wait for others: so many and no more."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from domain.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import PHASE_WAITING
from eventstore import EventStore


class Openings:
    """Counts the waiting tables of each player: in the lobby, which all replicas share, and here.

    A table counts for the player whose command opened it. That is the owner, but for a rematch it
    is the first to call: counted for the owner, it would use up what the owner may open, and an
    owner with many tables would keep others from playing again; not counted, two players could
    fill the lobby with rematches of matches that they gave up at once.
    """

    def __init__(self, store: EventStore, limit: int) -> None:
        """Let each player have `limit` tables in this store that wait."""
        self._store = store
        self._limit = limit
        self._under_way: dict[str, set[UUID]] = {}

    @contextmanager
    def under_way(self, player_id: str, match_id: UUID) -> Iterator[None]:
        """A command of the player is about to open this table, and counts with those that wait."""
        own = self._under_way.setdefault(player_id, set())
        own.add(match_id)
        try:
            yield
        finally:
            own.remove(match_id)
            if not own:
                del self._under_way[player_id]

    async def refusal(self, player_id: str, events: list[Event]) -> Refusal | None:
        """Why the player may not open the table that these events make, if so.

        Inside `under_way`. A table that is dealt at once does not wait, and is always let in.
        """
        if any(event.HasField("dealt") for event in events):
            return None
        # Those under way may be in the lobby already, or get there meanwhile: they are counted
        # here, where the later of two openings has seen the earlier.
        under_way = tuple(self._under_way[player_id])
        waiting = await self._store.count_opened(
            player_id, status=PHASE_WAITING, besides=under_way, limit=self._limit
        )
        if waiting + len(under_way) <= self._limit:
            return None
        return Refusal(reasons.ERROR_REASON_TOO_MANY_TABLES, metadata={"quota": "tables"})
