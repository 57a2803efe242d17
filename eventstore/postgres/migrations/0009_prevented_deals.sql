-- The deals that a player prevented: by not revealing a promised secret, or by leaving meanwhile.

ALTER TABLE match_players ADD COLUMN prevented_at timestamptz;

COMMENT ON COLUMN match_players.prevented_at IS 'When the player prevented the deal of this match. Null: they did not.';

CREATE INDEX match_players_prevented ON match_players (player, prevented_at) WHERE prevented_at IS NOT NULL;

GRANT UPDATE ON match_players TO durak_app;
