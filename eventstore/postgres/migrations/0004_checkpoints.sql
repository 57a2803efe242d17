-- The Merkle tree of ended matches and its signed heads. All matches share one tree, so these tables
-- are not distributed by match. One process at a time writes them.

CREATE TABLE tree_leaves (
    leaf_index bigint PRIMARY KEY CHECK (leaf_index >= 0),
    match_id   uuid NOT NULL UNIQUE,
    version    integer NOT NULL CHECK (version > 0),
    head_hash  bytea NOT NULL CHECK (octet_length(head_hash) = 32)
);
COMMENT ON TABLE tree_leaves IS 'The ended matches. Indexes start at 0 and have no gaps.';

CREATE TABLE tree_nodes (
    level      smallint NOT NULL CHECK (level >= 0),
    node_index bigint NOT NULL CHECK (node_index >= 0),
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (level, node_index)
);
COMMENT ON TABLE tree_nodes IS 'The hash of each complete subtree. It has 2^level leaves and starts at leaf node_index * 2^level.';

CREATE TABLE checkpoints (
    number    bigint PRIMARY KEY CHECK (number > 0),
    tree_size bigint NOT NULL CHECK (tree_size >= 0),
    note      text NOT NULL,
    signed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE checkpoints IS 'The signed heads of the tree. One size can be signed again with another key.';
CREATE INDEX checkpoints_by_size ON checkpoints (tree_size, number);

CREATE TRIGGER tree_leaves_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON tree_leaves
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER tree_nodes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON tree_nodes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoints_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON checkpoints
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

GRANT SELECT, INSERT ON tree_leaves, tree_nodes, checkpoints TO durak_app;
