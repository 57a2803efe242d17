"""The transparency log of matches and disputes: Merkle tree and signed checkpoints."""
