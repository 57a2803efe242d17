"""The administrative log: records the acts of operators and auditors with their reasons."""
