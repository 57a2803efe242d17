"""Rebuilds the read models from the log: the lobby, series and ratings (`durak rebuild`)."""

from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

from domain.match.fold import CorruptLogError, fold
from eventstore import EventStore, LobbyRow, first_hash
from service.config import Config
from service.matches.lobby import lobby_row
from service.rpc.failures import Failures
from service.standings.scorekeeper import Scorekeeper
from service.stored_records import read_records

_BATCH_MATCHES: Final = 200
"""Lobby rows written in one transaction."""


class Rebuilt(NamedTuple):
    """The result of a rebuild.

    `matches` is the number of matches in the lobby, `counted` the number of ended matches in the
    standings, `corrupt` the ids of matches whose log cannot be folded; they are left out.
    """

    matches: int
    counted: int
    corrupt: list[UUID]


async def rebuild(store: EventStore, config: Config) -> Rebuilt:
    """Rebuild the read models, also while services run. Raises StoreError.

    The standings are incomplete until the last ended match is counted again.
    """
    matches = 0
    corrupt: list[UUID] = []
    rows: list[tuple[UUID, int, LobbyRow]] = []
    async for match_id, stored in store.read_all():
        try:
            records = read_records(stored, first_hash(match_id))
            match = fold(records)
        except CorruptLogError:
            corrupt.append(match_id)
            continue
        matches += 1
        rows.append((match_id, match.version, lobby_row(match, records[0].actor_id)))
        if len(rows) == _BATCH_MATCHES:
            await store.lobby.put_rows(rows)
            rows = []
    await store.lobby.put_rows(rows)
    await store.standings.clear()
    counted = await Scorekeeper(store, config, Failures()).count(datetime.now(UTC), wait=True)
    return Rebuilt(matches, counted, corrupt)
