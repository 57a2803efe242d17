"""Examine a database: one finding for each thing that the service needs of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from eventstore.errors import StoreError, StoreUnavailable
from eventstore.limits import Limits
from eventstore.postgres.connect import connect, disconnect
from eventstore.postgres.requirements import (
    check_durability,
    check_migrations,
    check_rights,
    check_settings,
    check_version,
    check_writable,
)
from eventstore.postgres.retry import retry

if TYPE_CHECKING:
    from eventstore.postgres.connect import Connection

    Check = Callable[[Connection], Awaitable[None]]


class Finding(NamedTuple):
    """The result of one check. `problem` names the fault and the remedy; None: no fault."""

    subject: str
    problem: str | None
    is_advice: bool = False
    """The service works in spite of the problem."""


CONNECTION: Final = "connection, role and primary"


def _checks() -> dict[str, Check]:
    return {
        "version of PostgreSQL": check_version,
        "durability": check_durability,
        "schema": check_migrations,
        "rights": check_rights,
        "writes": check_writable,
        "settings": check_settings,
    }


async def examine(dsn: str, limits: Limits | None = None) -> list[Finding]:
    """Return the findings about a database. After a failed connection there is only that one.

    Raises StoreUnavailable if the database does not answer.
    """
    try:
        connection = await retry(0.0, partial(connect, dsn, limits or Limits()))
    except StoreUnavailable:
        raise
    except StoreError as error:
        return [Finding(CONNECTION, str(error))]
    try:
        findings = [Finding(CONNECTION, None)]
        for subject, check in _checks().items():
            findings.append(Finding(subject, await _find_problem(connection, check)))
        return findings
    finally:
        await disconnect(connection)


async def _find_problem(connection: Connection, check: Check) -> str | None:
    try:
        await retry(0.0, partial(check, connection))
    except StoreUnavailable:
        raise
    except StoreError as error:
        return str(error)
    return None
