"""Makes the read models anew from the log: the lobby, series and ratings (`durak rebuild`)."""

from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

from domain.match.fold import CorruptLogError, fold
from eventstore import EventStore, LobbyRow, first_hash
from service.config import Config
from service.matches.lobby import lobby_row
from service.standings.scorekeeper import Scorekeeper
from service.stored_records import read_records

_BATCH_MATCHES: Final = 200
"""Rows of the lobby written in one transaction."""


class Rebuilt(NamedTuple):
    """What was made anew: matches of the log, those counted, and those that cannot be read."""

    matches: int
    counted: int
    corrupt: list[UUID]


async def rebuild(store: EventStore, config: Config) -> Rebuilt:
    """Make the read models anew, also while services run. Raises StoreError.

    Until the last match is counted again, the standings lack those that are yet to come.
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
    counted = await Scorekeeper(store, config).count(datetime.now(UTC), wait=True)
    return Rebuilt(matches, counted, corrupt)
