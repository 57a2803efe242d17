"""The event store: keys, numbers and bytes in Postgres. It knows no card and reads no record.

    async with await EventStore.open(dsn) as store:  # a migrated database, PostgreSQL 15 or newer
        head = Head(0, first_hash(match_id))
        head = await store.append(Append(match_id, head.version, head.hash, [record]))
        records = await store.read(match_id)  # [StoredRecord(version, record, hash)]
        verify(match_id, ((stored.record, stored.hash) for stored in records))
        async for batch in store.follow():  # which streams changed, by anyone
            ...

A stream is one match: records numbered from 1 without gaps, each under the hash chain of `chain`.
`append` puts the records of one command after a version that the caller names; the first to name it
wins, and the others get `VersionConflict`, read what is new, and decide again. What `append` has
answered is on disk.

With an append can go, in the same transaction: when somebody must look at the match next (`due_at`;
asked for by `due`), the match's row of the lobby (`lobby`; asked for by `list_matches`).

Coins move with the event that causes it: `append(…, coins=[TakeStake(player, 100)])` is one
transaction, and `store.ledger` has the balances and transfers. A player's coins go to a match's
escrow and come back from it or from its bank; nothing else moves them.

`store.archive` reads matches whole, records and transfers, for audits. `store.checkpoints` keeps
the tree of ended matches and its signed heads, `store.disputes` the disputes about matches,
`store.standings` what ended matches came to.

Errors are those of `errors`; each says whether something was stored. `Limits` holds every limit.
`migrate` brings a database to the newest schema, `EmbeddedPostgres` runs a server for those who
have none.
"""

from eventstore.checkpoints import Checkpoints, EndedMatch, Leaf, NodeKey, SignedHead, Turn
from eventstore.disputes import DisputeRoom, Disputes, ListedDispute, first_dispute_hash
from eventstore.errors import (
    AppendOutcomeUnknown,
    ChainMismatch,
    InsufficientCoins,
    LedgerMismatch,
    MigrationError,
    StoreError,
    StoreMisconfigured,
    StoreOverloaded,
    StoreUnavailable,
    TooManyDisputes,
    VersionConflict,
)
from eventstore.ledger.books import (
    Balance,
    CoinMove,
    ReturnStake,
    Settle,
    TakeStake,
    Transfer,
    TransferKind,
)
from eventstore.ledger.ledger import Ledger, LedgerCheck
from eventstore.log.archive import Archive, WholeMatch
from eventstore.log.chain import ChainBroken, first_hash, next_hash, verify
from eventstore.log.store import EventStore
from eventstore.model import (
    UNCHANGED,
    Append,
    Due,
    Head,
    Limits,
    ListedMatch,
    LobbyRow,
    PageKey,
    StoredRecord,
    TailBatch,
)
from eventstore.postgres.binaries import EmbeddedPostgresError
from eventstore.postgres.embedded import EmbeddedPostgres
from eventstore.postgres.migrate import migrate
from eventstore.read_models.standings import (
    Ended,
    PlayerNumbers,
    RatingKey,
    SeatStanding,
    SeriesSeat,
    Standings,
    StandingsTurn,
)

__all__ = [
    "UNCHANGED",
    "Append",
    "AppendOutcomeUnknown",
    "Archive",
    "Balance",
    "ChainBroken",
    "ChainMismatch",
    "Checkpoints",
    "CoinMove",
    "DisputeRoom",
    "Disputes",
    "Due",
    "EmbeddedPostgres",
    "EmbeddedPostgresError",
    "Ended",
    "EndedMatch",
    "EventStore",
    "Head",
    "InsufficientCoins",
    "Leaf",
    "Ledger",
    "LedgerCheck",
    "LedgerMismatch",
    "Limits",
    "ListedDispute",
    "ListedMatch",
    "LobbyRow",
    "MigrationError",
    "NodeKey",
    "PageKey",
    "PlayerNumbers",
    "RatingKey",
    "ReturnStake",
    "SeatStanding",
    "SeriesSeat",
    "Settle",
    "SignedHead",
    "Standings",
    "StandingsTurn",
    "StoreError",
    "StoreMisconfigured",
    "StoreOverloaded",
    "StoreUnavailable",
    "StoredRecord",
    "TailBatch",
    "TakeStake",
    "TooManyDisputes",
    "Transfer",
    "TransferKind",
    "Turn",
    "VersionConflict",
    "WholeMatch",
    "first_dispute_hash",
    "first_hash",
    "migrate",
    "next_hash",
    "verify",
]
