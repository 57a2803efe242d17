-- The ledger of coins. Every transfer has a player on one side. The other side is new coins, a match
-- or a dispute. So no row can move coins from player to player or remove them from the game (R12.1).

CREATE TABLE accounts (
    player          text COLLATE "C" PRIMARY KEY,
    available_coins bigint NOT NULL CHECK (available_coins >= 0),
    escrow_coins    bigint NOT NULL CHECK (escrow_coins >= 0),
    transfers       bigint NOT NULL CHECK (transfers >= 0)
) WITH (fillfactor = 80);

COMMENT ON TABLE accounts IS 'The balances of players: the sums of their transfers.';
COMMENT ON COLUMN accounts.escrow_coins IS 'Stakes at matches that have not ended.';
COMMENT ON COLUMN accounts.transfers IS 'The number of the player''s last transfer. Numbers start at 1 and have no gaps.';

-- There is no row for the house, for issued coins or for the bank of a match. Their sums follow from
-- the transfers, and all matches would wait for each other to update such a row.
CREATE TABLE transfers (
    source_id       uuid NOT NULL,
    version         integer NOT NULL CHECK (version >= 0),
    ordinal         smallint NOT NULL CHECK (ordinal >= 0),
    kind            smallint NOT NULL CHECK (kind BETWEEN 1 AND 7),
    player          text COLLATE "C" NOT NULL,
    number          bigint NOT NULL CHECK (number > 0),
    coins           bigint NOT NULL CHECK (coins > 0),
    available_after bigint NOT NULL CHECK (available_after >= 0),
    stake_version   integer,
    stake_ordinal   smallint,
    actor           text NOT NULL DEFAULT '',
    recorded_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, version, ordinal),
    CHECK ((kind IN (3, 4)) = (stake_version IS NOT NULL)),
    CHECK ((stake_version IS NULL) = (stake_ordinal IS NULL))
);

COMMENT ON TABLE transfers IS 'The transfers, append-only. Their key is the event that caused them, so a repeated command stores them once.';
COMMENT ON COLUMN transfers.source_id IS 'The match. For issued coins (version 0) the grant. For corrections the dispute.';
COMMENT ON COLUMN transfers.kind IS
    'The numbers of TransferKind. 1 issue: new coins to player. 2 stake: player to escrow. 3 refund: escrow to player. 4 post: escrow to bank. 5 payout: bank to player. 6 correction in: dispute to player. 7 correction out: player to dispute.';
COMMENT ON COLUMN transfers.stake_version IS 'With stake_ordinal: the stake of the same match that this refund or post ends.';

CREATE UNIQUE INDEX transfers_end_a_stake_once ON transfers (source_id, stake_version, stake_ordinal)
    WHERE stake_version IS NOT NULL;
CREATE INDEX transfers_by_player ON transfers (player, number);

CREATE TRIGGER transfers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON transfers
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER accounts_no_delete BEFORE DELETE OR TRUNCATE ON accounts
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

GRANT SELECT, INSERT ON transfers TO durak_app;
GRANT SELECT, INSERT, UPDATE ON accounts TO durak_app;
