"""Connections, migrations and the embedded PostgreSQL server."""
