"""The transparency log of ended matches: Merkle tree and signed checkpoints."""
