-- Matches that a player left in a lost position are counted apart, and shown with the rating (R13.3).
-- Matches that were counted before this migration are counted again by `durak rebuild`.

ALTER TABLE standings ADD COLUMN left_losing smallint NOT NULL DEFAULT 0;
ALTER TABLE standings ADD COLUMN times_left_losing integer NOT NULL DEFAULT 0;
ALTER TABLE ratings ADD COLUMN times_left_losing integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN standings.won IS 'won, lost, abandoned and left_losing are of this match. The columns from points on are the player''s numbers after the match.';
