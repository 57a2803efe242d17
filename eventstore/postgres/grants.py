"""The rights of the service: those that the migrations grant. One truth for repairs and checks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from eventstore.postgres.roles import APP_ROLE

if TYPE_CHECKING:
    from eventstore.postgres.connect import PooledConnection

_GRANT = re.compile(rf"^GRANT ([A-Z, ]+) ON ([a-z_, ]+) TO {APP_ROLE};", re.MULTILINE)
_LACKING = """
SELECT name, privilege
FROM unnest($1::text[], $2::text[]) AS needed(name, privilege)
WHERE NOT coalesce(has_table_privilege($3, to_regclass(name), privilege), false)
ORDER BY name, privilege
"""


def read_grants(scripts: Iterable[str]) -> dict[str, list[str]]:
    """Return the privileges that migrations grant to the service, by table.

    >>> scripts = ["GRANT SELECT ON a, b TO durak_app;", "GRANT UPDATE ON b TO durak_app;"]
    >>> read_grants(scripts)
    {'a': ['SELECT'], 'b': ['SELECT', 'UPDATE']}
    """
    granted: dict[str, list[str]] = {}
    for script in scripts:
        for privileges, tables in _GRANT.findall(script):
            for table in tables.split(", "):
                granted.setdefault(table, []).extend(privileges.split(", "))
    return granted


async def repair_grants(connection: PooledConnection, grants: dict[str, list[str]]) -> None:
    """Give the service exactly these rights on these tables.

    A dump that is restored without roles lacks them, and default privileges can add others.
    """
    for table, privileges in grants.items():
        if await connection.fetchval("SELECT to_regclass($1)", table) is not None:
            await connection.execute(
                f"REVOKE ALL ON {table} FROM {APP_ROLE};"
                f"GRANT {', '.join(privileges)} ON {table} TO {APP_ROLE}"
            )


async def find_lacking(
    connection: PooledConnection, grants: dict[str, list[str]]
) -> list[tuple[str, str]]:
    """Return the tables and privileges of `grants` that the role of the service lacks."""
    pairs = [(table, each) for table, privileges in grants.items() for each in privileges]
    rows = await connection.fetch(
        _LACKING, [table for table, _ in pairs], [privilege for _, privilege in pairs], APP_ROLE
    )
    return [(row["name"], row["privilege"]) for row in rows]
