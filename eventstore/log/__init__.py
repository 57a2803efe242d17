"""The log: the hash chain of streams, and appends to them in batches."""
