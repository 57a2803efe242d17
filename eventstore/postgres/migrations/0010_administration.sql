-- The administrative log: one stream with a record for each act of an insider, such as a grant.

CREATE TABLE administrative_events (
    version     integer PRIMARY KEY CHECK (version > 0),
    record      bytea NOT NULL,
    hash        bytea NOT NULL CHECK (octet_length(hash) = 32),
    kind        smallint NOT NULL,
    actor       text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,
    request_id  uuid NOT NULL,
    recorded_at timestamptz NOT NULL
);
COMMENT ON TABLE administrative_events IS 'The acts of insiders, append-only. Their hashes form a chain, as those of matches do.';
COMMENT ON COLUMN administrative_events.kind IS 'The service defines the numbers. This column and those after it repeat what the record says.';
COMMENT ON COLUMN administrative_events.subject IS 'What the act is about: a match, a player or a key.';

CREATE UNIQUE INDEX administrative_events_by_request ON administrative_events (actor, request_id);
CREATE INDEX administrative_events_by_actor ON administrative_events (actor, kind, recorded_at);
CREATE INDEX administrative_events_by_subject ON administrative_events (subject, kind, version);

CREATE TRIGGER administrative_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON administrative_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

GRANT SELECT, INSERT ON administrative_events TO durak_app;
