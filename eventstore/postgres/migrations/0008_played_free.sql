-- The coins of an opening balance can be staked after a number of free matches (R12.9). Matches that
-- ended before this migration are marked by `durak rebuild`.

ALTER TABLE matches ADD COLUMN played_free boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN matches.played_free IS 'The match had no stake and was played to the end: played out or drawn.';
