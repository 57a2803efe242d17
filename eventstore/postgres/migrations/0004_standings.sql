-- What ended matches came to for their players: series and ratings. Read models, computed from the
-- log: they can be emptied and made anew at any time (`durak rebuild`).

ALTER TABLE matches ADD COLUMN ended_at timestamptz;
COMMENT ON COLUMN matches.ended_at IS 'The time of the last event; null while there may be more.';
ALTER TABLE matches ADD COLUMN counted boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN matches.counted IS 'The standings have what the match came to.';
CREATE INDEX matches_not_counted ON matches (ended_at, match_id) WHERE ended_at IS NOT NULL AND NOT counted;

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

COMMENT ON TABLE standings IS 'Each seat of each match that counts. The order is that of ended_at, then match_id: it follows from the log alone.';
COMMENT ON COLUMN standings.player IS 'Null for a bot, whose numbers after the match are 0.';
COMMENT ON COLUMN standings.won IS 'Of this match, as lost is. From points on: the player''s numbers after it.';
COMMENT ON COLUMN standings.day IS 'The day of bot_points, which were won from bots, counted from 1970-01-01 (UTC).';

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

COMMENT ON TABLE ratings IS 'Each player''s numbers after their last match in standings.';

CREATE INDEX ratings_by_points ON ratings (points DESC, player);

GRANT SELECT, INSERT, DELETE ON standings TO durak_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ratings TO durak_app;
