-- The administrative log has leaves too, as a dispute has.

COMMENT ON COLUMN tree_leaves.kind IS 'The numbers of LeafKind. 1: a match. 2: a dispute. 3: the administrative log.';

-- Replicas look for new revocations of tokens all the time, and the checkpointer for the newest keys.
CREATE INDEX administrative_events_by_kind ON administrative_events (kind, version);
