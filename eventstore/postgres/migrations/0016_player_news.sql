-- What concerns each player, in the order of the commits: an index for the players' feeds. It points to the streams and
-- has no content of its own.

CREATE TABLE player_news_heads (
    player text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL CHECK (number > 0)
) WITH (fillfactor = 80);

COMMENT ON TABLE player_news_heads IS 'The number of the last row of each player in player_news. A transaction that adds rows locks this row until its commit, so a row never becomes visible after one with a higher number.';

CREATE TABLE player_news (
    player    text COLLATE "C" NOT NULL,
    number    bigint NOT NULL CHECK (number > 0),
    kind      smallint NOT NULL,
    source_id uuid NOT NULL,
    version   integer NOT NULL CHECK (version >= 0),
    PRIMARY KEY (player, number)
);

COMMENT ON TABLE player_news IS 'One row for each stream that begins to concern a player, and for each event of a dispute or rating.';
COMMENT ON COLUMN player_news.kind IS 'The numbers of NewsKind. 1: the match concerns the player from this version on. 2: an invitation. 3: an event of a dispute. 4: the standings count a match.';

-- Matches that have not ended concern their players from now on.
INSERT INTO player_news
SELECT player, row_number() OVER (PARTITION BY player ORDER BY opened_at, match_id), 1, match_id, 1
FROM match_players WHERE NOT is_over;

INSERT INTO player_news_heads SELECT player, max(number) FROM player_news GROUP BY player;

GRANT SELECT, INSERT ON player_news TO durak_app;
GRANT SELECT, INSERT, UPDATE ON player_news_heads TO durak_app;
