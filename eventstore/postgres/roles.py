"""The roles of the database."""

OWNER_ROLE = "durak_owner"
"""The role of the embedded server that owns the tables and runs migrations."""
APP_ROLE = "durak_app"
"""The role of the service. It may append to the log and read it, but not change it."""
