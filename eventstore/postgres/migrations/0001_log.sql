-- The log: one stream of records for each match. The match id leads every key, and no order across
-- matches is assumed, so a distributed Postgres (Citus) can distribute these tables by that column.

CREATE TABLE streams (
    stream_id uuid PRIMARY KEY,
    version   integer NOT NULL CHECK (version > 0),
    head_hash bytea NOT NULL CHECK (octet_length(head_hash) = 32),
    due_at    timestamptz
) WITH (fillfactor = 70);  -- leaves room for the next version of a row on its own page

COMMENT ON TABLE streams IS 'The head of each stream. Its update from one version to the next guards every append.';
COMMENT ON COLUMN streams.due_at IS 'The next deadline of the match. Null: no deadline.';

CREATE INDEX streams_due ON streams (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE events (
    stream_id      uuid NOT NULL,
    version        integer NOT NULL CHECK (version > 0),
    record         bytea NOT NULL,
    hash           bytea NOT NULL CHECK (octet_length(hash) = 32),
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (stream_id, version)
);

COMMENT ON TABLE events IS 'The records of the streams, append-only. hash = SHA-256(hash of the version before || record).';
COMMENT ON COLUMN events.transaction_id IS 'The transaction that stored the record. The tail is read in the order of these ids.';

-- The tail is read by whole transactions that have ended. So events need no order within a
-- transaction, and all events of a transaction share one index entry.
CREATE INDEX events_tail ON events (transaction_id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: the table is append-only', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER streams_no_delete BEFORE DELETE OR TRUNCATE ON streams
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

GRANT SELECT, INSERT ON events TO durak_app;
GRANT SELECT, INSERT, UPDATE ON streams TO durak_app;
