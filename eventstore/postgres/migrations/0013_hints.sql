-- Replicas no longer read a tail of all events in the order of transactions. They send each other hints.

DROP INDEX events_tail;
ALTER TABLE events DROP COLUMN transaction_id;
