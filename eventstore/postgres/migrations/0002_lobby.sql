-- The lobby: a read model for lists of matches. It is computed from the log and can be rebuilt from
-- it at any time (`durak rebuild`).

CREATE TABLE matches (
    match_id   uuid PRIMARY KEY,
    status     smallint NOT NULL,
    opened_at  timestamptz NOT NULL,
    version    integer NOT NULL,
    summary    bytea NOT NULL,
    opened_by  text COLLATE "C",
    ended_at   timestamptz,
    leaf_index bigint,
    counted    boolean NOT NULL DEFAULT false
) WITH (fillfactor = 80);

COMMENT ON TABLE matches IS 'One row for each match. The service defines the numbers of status and the bytes of summary.';
COMMENT ON COLUMN matches.version IS 'The version of the event that last changed the row.';
COMMENT ON COLUMN matches.opened_by IS 'The player who opened the match.';
COMMENT ON COLUMN matches.ended_at IS 'The time of the last event. Null: the match has not ended.';
COMMENT ON COLUMN matches.leaf_index IS 'The index of the match in tree_leaves. Null: the match has no leaf, or the lobby was rebuilt.';
COMMENT ON COLUMN matches.counted IS 'The standings contain the result of the match.';

CREATE INDEX matches_by_time ON matches (opened_at, match_id);
CREATE INDEX matches_by_status ON matches (status, opened_at, match_id);
CREATE INDEX matches_by_opener ON matches (opened_by, status) WHERE opened_by IS NOT NULL AND ended_at IS NULL;
CREATE INDEX matches_not_in_tree ON matches (status, match_id) WHERE leaf_index IS NULL;
CREATE INDEX matches_not_counted ON matches (ended_at, match_id) WHERE ended_at IS NOT NULL AND NOT counted;

CREATE TABLE match_players (
    match_id  uuid NOT NULL,
    player    text NOT NULL,
    opened_at timestamptz NOT NULL,
    PRIMARY KEY (match_id, player)
);

COMMENT ON TABLE match_players IS 'The seated players of each match, for lists of a player''s matches.';

CREATE INDEX match_players_by_player ON match_players (player, opened_at, match_id);

GRANT SELECT, INSERT, UPDATE ON matches TO durak_app;
GRANT SELECT, INSERT, DELETE ON match_players TO durak_app;
