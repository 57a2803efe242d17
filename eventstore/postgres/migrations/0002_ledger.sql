-- Coins. Every transfer has one player on one side and, on the other, the issue of coins or one
-- match: a row that would move coins from player to player, or out of the game, cannot be written
-- (R12.1).

CREATE TABLE accounts (
    player          text COLLATE "C" PRIMARY KEY,
    available_coins bigint NOT NULL CHECK (available_coins >= 0),
    escrow_coins    bigint NOT NULL CHECK (escrow_coins >= 0),
    transfers       bigint NOT NULL CHECK (transfers >= 0)
) WITH (fillfactor = 80);

COMMENT ON TABLE accounts IS 'Balances: the fold of each player''s transfers, kept beside them.';
COMMENT ON COLUMN accounts.escrow_coins IS 'Stakes at matches that have not ended.';
COMMENT ON COLUMN accounts.transfers IS 'The number of the player''s last transfer; they count from 1 without gaps.';

-- There is no row for the house, the issue or a match's bank: what they hold follows from the
-- transfers, and a row that every match updates would make them all wait for each other.
CREATE TABLE transfers (
    source_id       uuid NOT NULL,
    version         integer NOT NULL CHECK (version >= 0),
    ordinal         smallint NOT NULL CHECK (ordinal >= 0),
    kind            smallint NOT NULL CHECK (kind BETWEEN 1 AND 5),
    player          text COLLATE "C" NOT NULL,
    number          bigint NOT NULL CHECK (number > 0),
    coins           bigint NOT NULL CHECK (coins > 0),
    available_after bigint NOT NULL CHECK (available_after >= 0),
    stake_version   integer,
    stake_ordinal   smallint,
    actor           text NOT NULL DEFAULT '',
    recorded_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, version, ordinal),
    CHECK (CASE WHEN kind IN (3, 4) THEN stake_version IS NOT NULL AND stake_ordinal IS NOT NULL
                ELSE stake_version IS NULL AND stake_ordinal IS NULL END)
);

COMMENT ON TABLE transfers IS 'The ledger: append only. The id is the match and version that caused it, so that a repeat is recorded once.';
COMMENT ON COLUMN transfers.source_id IS 'The match; for issued coins (version 0) the id of the grant.';
COMMENT ON COLUMN transfers.kind IS
    '1 issue: issue to player. 2 stake: player to escrow, pending. 3 void: escrow to player. 4 post: escrow to bank. 5 payout: bank to player.';
COMMENT ON COLUMN transfers.stake_version IS 'With stake_ordinal: the pending stake of the same match that this voids or posts.';

CREATE UNIQUE INDEX transfers_end_a_stake_once ON transfers (source_id, stake_version, stake_ordinal) WHERE kind IN (3, 4);
CREATE INDEX transfers_by_player ON transfers (player, number);

CREATE TRIGGER transfers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON transfers
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER accounts_stay BEFORE DELETE OR TRUNCATE ON accounts
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

GRANT SELECT, INSERT ON transfers TO durak_app;
GRANT SELECT, INSERT, UPDATE ON accounts TO durak_app;
