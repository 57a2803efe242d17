-- Disputes: a stream of records for each, as for a match, and the list computed from them. Apart from the
-- matches, so that whoever reads all matches meets nothing else.

CREATE TABLE dispute_events (
    dispute_id uuid NOT NULL,
    version    integer NOT NULL CHECK (version > 0),
    record     bytea NOT NULL,
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (dispute_id, version)
);
COMMENT ON TABLE dispute_events IS 'The log of each dispute: append only, chained as that of a match.';

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
COMMENT ON TABLE disputes IS 'What lists of disputes show. Computed from the log.';

CREATE INDEX disputes_by_time ON disputes (opened_at, dispute_id);
CREATE INDEX disputes_by_status ON disputes (status, opened_at, dispute_id);
CREATE INDEX disputes_by_match ON disputes (match_id, opened_at, dispute_id);
CREATE INDEX disputes_by_player ON disputes (opened_by, opened_at, dispute_id);

-- Corrections: coins that a ruling moves between the players of a match. Each has one player on one side and the
-- dispute on the other, and those of one dispute add up to nothing.
ALTER TABLE transfers DROP CONSTRAINT transfers_kind_check;
ALTER TABLE transfers ADD CONSTRAINT transfers_kind_check CHECK (kind BETWEEN 1 AND 7);
COMMENT ON COLUMN transfers.source_id IS 'The match; for issued coins (version 0) the id of the grant; for corrections the dispute.';
COMMENT ON COLUMN transfers.kind IS
    '1 issue: issue to player. 2 stake: player to escrow, pending. 3 void: escrow to player. 4 post: escrow to bank. 5 payout: bank to player. 6 correction: dispute to player. 7 correction: player to dispute.';

GRANT SELECT, INSERT ON dispute_events TO durak_app;
GRANT SELECT, INSERT, UPDATE ON disputes TO durak_app;
