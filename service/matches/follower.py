"""Follows the tail of the log, so that live matches learn what other replicas store."""

from eventstore import EventStore
from service.matches.live_matches import LiveMatches


async def follow(store: EventStore, matches: LiveMatches) -> None:
    """Let the live matches read every append of any replica, without end.

    A match that becomes live later does not need the tail: it reads the log.
    """
    async for batch in store.follow():
        for stream_id, version in batch.changes.items():
            matches.catch_up(stream_id.bytes, version)
