"""Limits how many seats a player may have in matches that have not ended (TOO_MANY_SEATS)."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from uuid import UUID

from domain.match.commands import Rematch, TakeSeat
from domain.match.refusal import Refusal
from durak.v1 import errors_pb2 as reasons
from eventstore import EventStore
from service.matches.envelope import Envelope


class SeatQuota:
    """Counts the seats of each player in the lobby, which all replicas share. Bots do not count.

    Seats that are being taken in this process are remembered by match until they are stored. Each
    of them counts for those that the same player asked for later, so commands at many tables at
    once do not exceed the limit, and none waits for another.
    """

    def __init__(self, store: EventStore, seats_max: int) -> None:
        """Let each player have `seats_max` seats in matches of this store."""
        self._store = store
        self._seats_max = seats_max
        self._being_taken: dict[str, list[UUID]] = {}

    @contextmanager
    def taking(self, envelope: Envelope, match_id: UUID) -> Iterator[None]:
        """Count the seat that a command would take, during the block."""
        if not isinstance(envelope.command, TakeSeat | Rematch):
            yield
            return
        player_id = envelope.actor.player_id
        being_taken = self._being_taken.setdefault(player_id, [])
        being_taken.append(match_id)
        try:
            yield
        finally:
            being_taken.remove(match_id)
            if not being_taken:
                self._being_taken.pop(player_id, None)

    async def refusal(self, player_id: str, match_id: UUID) -> Refusal | None:
        """Return why the player may not take a seat in this match, or None."""
        asked = self._being_taken.get(player_id, [])
        earlier = set(takewhile(lambda other: other != match_id, asked))
        seated = await self._store.lobby.read_seated(player_id, limit=self._seats_max)
        if len(earlier.union(seated)) < self._seats_max:
            return None
        return Refusal(reasons.ERROR_REASON_TOO_MANY_SEATS, metadata={"quota": "seats"})
