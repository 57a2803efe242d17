"""Audit tools that AuditService and DisputeService share."""
