-- Who opened each match, so that the tables which somebody has waiting can be counted. What the status of those is,
-- the caller knows; matches that have ended, of which there are ever more, stay out of the index.

ALTER TABLE matches ADD COLUMN opened_by text COLLATE "C";
COMMENT ON COLUMN matches.opened_by IS
    'The actor of the first record. Null where the row is older than the column, until the lobby is rebuilt.';
CREATE INDEX matches_by_opener ON matches (opened_by, status) WHERE opened_by IS NOT NULL AND ended_at IS NULL;
