-- Matches that a player left are counted and shown with the rating (R13.3). Matches that were counted
-- before this migration are counted again by `durak rebuild`.

ALTER TABLE standings ADD COLUMN abandoned smallint NOT NULL DEFAULT 0;
ALTER TABLE standings ADD COLUMN times_left integer NOT NULL DEFAULT 0;
COMMENT ON TABLE standings IS 'Each seat of each match that counts, and the seat that left each abandoned match, ordered by ended_at, then match_id. This order follows from the log alone.';
COMMENT ON COLUMN standings.won IS 'won, lost and abandoned are of this match. The columns from points on are the player''s numbers after the match.';
COMMENT ON COLUMN standings.series_id IS 'Null: the match has no series, or does not count for it because it was abandoned.';

ALTER TABLE ratings ADD COLUMN times_left integer NOT NULL DEFAULT 0;
