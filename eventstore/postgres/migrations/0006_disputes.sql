-- Disputes: one stream of records for each dispute, and a list that is computed from them. They have
-- tables of their own, so reads of all matches do not see them.

CREATE TABLE dispute_events (
    dispute_id uuid NOT NULL,
    version    integer NOT NULL CHECK (version > 0),
    record     bytea NOT NULL,
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (dispute_id, version)
);
COMMENT ON TABLE dispute_events IS 'The records of disputes, append-only. Their hashes form a chain, as those of matches do.';

CREATE TRIGGER dispute_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dispute_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE disputes (
    dispute_id uuid PRIMARY KEY,
    match_id   uuid NOT NULL,
    opened_by  text COLLATE "C" NOT NULL,
    status     smallint NOT NULL,
    opened_at  timestamptz NOT NULL,
    version    integer NOT NULL,
    summary    bytea NOT NULL
);
COMMENT ON TABLE disputes IS 'One row for each dispute. The service defines the numbers of status and the bytes of summary.';

CREATE INDEX disputes_by_time ON disputes (opened_at, dispute_id);
CREATE INDEX disputes_by_status ON disputes (status, opened_at, dispute_id);
CREATE INDEX disputes_by_match ON disputes (match_id, opened_at, dispute_id);
CREATE INDEX disputes_by_player ON disputes (opened_by, opened_at, dispute_id);

GRANT SELECT, INSERT ON dispute_events TO durak_app;
GRANT SELECT, INSERT, UPDATE ON disputes TO durak_app;
