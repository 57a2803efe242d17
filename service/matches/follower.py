"""The tail of the log: what other replicas store reaches the matches that are live here."""

from eventstore import EventStore
from service.matches.live_matches import LiveMatches


async def follow(store: EventStore, matches: LiveMatches) -> None:
    """Tell the live matches of every append, by whichever replica, without end.

    A match that is read from the log later needs no word from the tail: reading it tells.
    """
    async for batch in store.follow():
        for stream_id, version in batch.changes.items():
            matches.behind(stream_id.bytes, version)
