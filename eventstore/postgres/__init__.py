"""Connections, retries, migrations, and the embedded PostgreSQL server."""
