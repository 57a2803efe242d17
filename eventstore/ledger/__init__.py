"""The double-entry ledger of coins."""
