-- Streams of records, one per match, and the lobby computed from them. The match id leads every key
-- and unique constraint, and no order across matches is assumed, so that a distributed Postgres
-- (Citus) can hold these tables unchanged, spread by that column.

CREATE TABLE streams (
    stream_id uuid PRIMARY KEY,
    version   integer NOT NULL CHECK (version > 0),
    head_hash bytea NOT NULL CHECK (octet_length(head_hash) = 32),
    due_at    timestamptz
) WITH (fillfactor = 70);  -- room for the next version of each row on its own page

COMMENT ON TABLE streams IS 'The head of each stream. Moving it from one version to the next is the guard of every append.';
COMMENT ON COLUMN streams.due_at IS 'Somebody must look at this match no later than this. Null: nothing is due.';

CREATE INDEX streams_due ON streams (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE events (
    stream_id      uuid NOT NULL,
    version        integer NOT NULL CHECK (version > 0),
    record         bytea NOT NULL,
    hash           bytea NOT NULL CHECK (octet_length(hash) = 32),
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (stream_id, version)
);

COMMENT ON TABLE events IS 'The log: append only. hash = SHA-256(hash of the version before || record).';
COMMENT ON COLUMN events.transaction_id IS 'The transaction that stored the record; readers of the tail go by it.';

-- The tail is read by whole transactions, below the oldest one that is still running, so that no
-- counter is needed to order the events within one, and all of a transaction share an index entry.
CREATE INDEX events_tail ON events (transaction_id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: it is append-only', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER streams_stay BEFORE DELETE OR TRUNCATE ON streams
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE matches (
    match_id  uuid PRIMARY KEY,
    status    smallint NOT NULL,
    opened_at timestamptz NOT NULL,
    version   integer NOT NULL,
    summary   bytea NOT NULL
) WITH (fillfactor = 80);

COMMENT ON TABLE matches IS 'The lobby: what lists of matches show. Computed from the log and rebuilt from it at any time.';

CREATE INDEX matches_by_time ON matches (opened_at, match_id);
CREATE INDEX matches_by_status ON matches (status, opened_at, match_id);

CREATE TABLE match_players (
    match_id  uuid NOT NULL,
    player    text NOT NULL,
    opened_at timestamptz NOT NULL,
    PRIMARY KEY (match_id, player)
);

COMMENT ON TABLE match_players IS 'Who sits at which match, for "my matches". Computed from the log like the lobby.';

CREATE INDEX match_players_by_player ON match_players (player, opened_at, match_id);

GRANT SELECT, INSERT ON events TO durak_app;
GRANT SELECT, INSERT, UPDATE ON streams, matches TO durak_app;
GRANT SELECT, INSERT, DELETE ON match_players TO durak_app;
