"""The namespace of the contract."""
