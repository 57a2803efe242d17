-- The seats of a player in matches that have not ended, for the limit on them.

ALTER TABLE match_players ADD COLUMN is_over boolean NOT NULL DEFAULT false;

UPDATE match_players p SET is_over = true FROM matches m WHERE m.match_id = p.match_id AND m.ended_at IS NOT NULL;

COMMENT ON COLUMN match_players.is_over IS 'Whether the match has ended.';

CREATE INDEX match_players_in_use ON match_players (player) WHERE NOT is_over;
