-- Streams other than matches are leaves of the tree too. A dispute grows after its first leaf, so it
-- has a leaf for each version that was the newest when the tree grew.

ALTER TABLE tree_leaves RENAME COLUMN match_id TO stream_id;
ALTER TABLE tree_leaves ADD COLUMN kind smallint NOT NULL DEFAULT 1 CHECK (kind > 0);
ALTER TABLE tree_leaves ALTER COLUMN kind DROP DEFAULT;
ALTER TABLE tree_leaves DROP CONSTRAINT tree_leaves_match_id_key;
ALTER TABLE tree_leaves ADD UNIQUE (stream_id, kind, version);
COMMENT ON TABLE tree_leaves IS 'The leaves of the tree: one for each ended match, and one for each head of another stream. Indexes start at 0 and have no gaps.';
COMMENT ON COLUMN tree_leaves.kind IS 'The numbers of LeafKind. 1: a match. 2: a dispute.';

CREATE UNIQUE INDEX tree_leaves_one_per_match ON tree_leaves (stream_id) WHERE kind = 1;

ALTER TABLE disputes ADD COLUMN leaf_version integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN disputes.leaf_version IS 'The version in the newest leaf of the dispute. 0: it has no leaf.';

CREATE INDEX disputes_not_in_tree ON disputes (dispute_id) WHERE leaf_version < version;
