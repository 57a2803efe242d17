"""The event store: streams of records in Postgres, and the tables that belong to them.

    async with await EventStore.open(dsn) as store:  # a migrated database, PostgreSQL 15 or newer
        head = Head(0, first_hash(match_id))
        head = await store.append(Append(match_id, head.version, head.hash, [record]))
        records = await store.read(match_id)  # [StoredRecord(version, record, hash)]
        verify_chain(match_id, ((stored.record, stored.hash) for stored in records))

A stream is one match: records numbered from 1 without gaps, each with its hash in a chain (see
`log.chain`). The store keeps keys, numbers and bytes. It knows no card and does not parse records.

`append` stores the records of one command after the version that the caller expects. The first
append for a version wins. The others get `VersionConflict`, read the new records and decide again.
Acknowledged records are on disk. The same transaction can set the next deadline of the stream, its
row in the lobby, and move coins.

The other parts are attributes of the store: `ledger`, `lobby`, `news`, `standings`, `checkpoints`,
`disputes`, `administration`, `whole_matches`. The errors are in `errors`. `migrate` brings a
database to the newest schema, and `EmbeddedPostgres` runs a server for development and tests.
"""

from eventstore.limits import Limits
from eventstore.log.chain import first_hash, next_hash, verify_chain
from eventstore.model import UNCHANGED, Append, Head, LobbyRow, PageKey, StoredRecord
from eventstore.postgres.embedded import EmbeddedPostgres
from eventstore.postgres.migrate import migrate
from eventstore.store import EventStore

__all__ = [
    "UNCHANGED",
    "Append",
    "EmbeddedPostgres",
    "EventStore",
    "Head",
    "Limits",
    "LobbyRow",
    "PageKey",
    "StoredRecord",
    "first_hash",
    "migrate",
    "next_hash",
    "verify_chain",
]
