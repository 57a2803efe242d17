-- The standings: a read model of the results of ended matches. It is computed from the log and can be
-- rebuilt from it at any time (`durak rebuild`).

CREATE TABLE standings (
    match_id   uuid NOT NULL,
    seat       smallint NOT NULL CHECK (seat >= 0),
    ended_at   timestamptz NOT NULL,
    series_id  uuid,
    player     text COLLATE "C",
    won        smallint NOT NULL,
    lost       smallint NOT NULL,
    points     integer NOT NULL,
    matches    integer NOT NULL,
    wins       integer NOT NULL,
    losses     integer NOT NULL,
    day        integer NOT NULL,
    bot_points integer NOT NULL,
    PRIMARY KEY (match_id, seat)
);

COMMENT ON TABLE standings IS 'Each seat of each match that counts, ordered by ended_at, then match_id. This order follows from the log alone.';
COMMENT ON COLUMN standings.player IS 'Null: a bot. Its points and later columns are 0.';
COMMENT ON COLUMN standings.won IS 'won and lost are of this match. The columns from points on are the player''s numbers after the match.';
COMMENT ON COLUMN standings.day IS 'The day on which bot_points were won from bots, counted from 1970-01-01 (UTC).';

CREATE INDEX standings_by_time ON standings (ended_at, match_id);
CREATE INDEX standings_by_player ON standings (player, ended_at, match_id) WHERE player IS NOT NULL;
CREATE INDEX standings_by_series ON standings (series_id) WHERE series_id IS NOT NULL;

CREATE TABLE ratings (
    player     text COLLATE "C" PRIMARY KEY,
    points     integer NOT NULL,
    matches    integer NOT NULL,
    wins       integer NOT NULL,
    losses     integer NOT NULL,
    day        integer NOT NULL,
    bot_points integer NOT NULL
) WITH (fillfactor = 80);

COMMENT ON TABLE ratings IS 'The numbers of each player after their last match in standings.';

CREATE INDEX ratings_by_points ON ratings (points DESC, player);

GRANT SELECT, INSERT, DELETE ON standings TO durak_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ratings TO durak_app;
