"""AuditService: open, verify and export matches, and check the ledger."""
