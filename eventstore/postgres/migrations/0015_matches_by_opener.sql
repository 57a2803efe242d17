-- Lists of the matches that a player opened. The count of those that wait uses this index too.

DROP INDEX matches_by_opener;

CREATE INDEX matches_by_opener ON matches (opened_by, status, opened_at, match_id) WHERE opened_by IS NOT NULL;
