"""Readiness is the truth: it says whether a command could be stored, in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from eventstore import EmbeddedPostgres, EventStore
from eventstore.limits import Limits
from eventstore.postgres.roles import APP_ROLE
from service.lifecycle import HEADS_SECONDS_MAX, readiness
from service.rpc.failures import Failures
from service.rpc.health import Health
from service.shared_clock import SharedClock
from service.supervisor import Supervisor
from service.watchdog import Watchdog
from tests.conftest import Database, execute

DEADLINE_S = 30.0
INTERVAL_S = 0.2


@asynccontextmanager
async def watched(
    dsn: str,
    postgres: EmbeddedPostgres | None = None,
    behind: Callable[[], float] = lambda: 0.0,
) -> AsyncIterator[Health]:
    """A health service that follows the database."""
    limits = Limits(retry_timeout_seconds=0.2)
    async with await EventStore.open(dsn, limits) as store:
        health = Health(["durak.v1.MatchService"])
        supervisor = Supervisor(Failures(), Watchdog(0.0))
        clock = SharedClock(2.0)
        async with readiness(store, postgres, health, INTERVAL_S, supervisor, clock, behind):
            yield health


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - the health service has no event to wait for
            await asyncio.sleep(INTERVAL_S)


async def becomes(health: Health, *, ready: bool) -> None:
    await until(lambda: health.is_ready is ready)


@pytest.mark.parametrize(
    ("breaking", "repairing", "reason", "kind"),
    [
        (
            "ALTER DATABASE {name} SET default_transaction_read_only = on",
            "ALTER DATABASE {name} RESET default_transaction_read_only",
            "the database takes no writes",
            "unavailable",
        ),
        (
            f"REVOKE INSERT ON events FROM {APP_ROLE}",
            f"GRANT INSERT ON events TO {APP_ROLE}",
            "lacks INSERT on events",
            "misconfigured",
        ),
        (
            "ALTER TABLE transfers RENAME TO gone",
            "ALTER TABLE gone RENAME TO transfers",
            "refused",
            "unavailable",
        ),
        (
            "DELETE FROM schema_migrations WHERE version = 6",
            None,
            "lacks migrations",
            "misconfigured",
        ),
    ],
    ids=["O04_read_only", "right", "table", "schema"],
)
async def test_a_database_that_takes_no_command_is_reported_and_its_repair_too(
    database: Database, breaking: str, repairing: str | None, reason: str, kind: str
) -> None:
    async with watched(database.app_dsn) as health:
        assert health.is_ready
        with capture_logs() as lines:
            await execute(database.owner_dsn, breaking.format(name=database.name))
            await disconnect(database)
            await until(lambda: any(reason in line.get("reason", "") for line in lines))
            await becomes(health, ready=False)
            assert health.not_ready == kind
        if repairing is not None:
            await execute(
                database.owner_dsn,
                "SET default_transaction_read_only = off",
                repairing.format(name=database.name),
            )
            await becomes(health, ready=True)


async def test_a_replica_that_does_not_compare_heads_is_not_ready(database: Database) -> None:
    """It could answer from a state that other replicas have left behind."""
    seconds = 0.0
    async with watched(database.app_dsn, behind=lambda: seconds) as health:
        assert health.is_ready
        seconds = HEADS_SECONDS_MAX + 1
        await becomes(health, ready=False)
        assert health.not_ready == "heads_behind"
        seconds = 0.0
        await becomes(health, ready=True)


async def disconnect(database: Database) -> None:
    """End the connections of the service, so that new ones get the settings of the database."""
    await execute(
        database.owner_dsn,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


async def test_O01_a_role_that_is_refused_after_a_restart_is_reported_until_it_is_well(
    own_postgres: EmbeddedPostgres,
) -> None:
    async with watched(own_postgres.app_dsn()) as health:
        await asyncio.to_thread(own_postgres.stop)
        await becomes(health, ready=False)
        await asyncio.to_thread(own_postgres.start)
        await execute(own_postgres.owner_dsn(), f"ALTER ROLE {APP_ROLE} NOLOGIN")
        await disconnect(Database("", own_postgres.owner_dsn(), ""))
        with capture_logs() as lines:
            await until(lambda: any("refused" in line.get("reason", "") for line in lines))
        assert not health.is_ready
        await execute(own_postgres.owner_dsn(), f"ALTER ROLE {APP_ROLE} LOGIN")
        await becomes(health, ready=True)


async def test_O02_a_database_that_is_renamed_and_comes_back(
    database: Database, postgres: EmbeddedPostgres
) -> None:
    admin = postgres.owner_dsn("postgres")
    other = f"{database.name}_other"
    name = database.name
    async with watched(database.app_dsn) as health:
        await execute(
            admin,
            f"ALTER DATABASE {name} ALLOW_CONNECTIONS false",  # or the service would be back first
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
            f"ALTER DATABASE {name} RENAME TO {other}",
        )
        await becomes(health, ready=False)
        await execute(
            admin,
            f"ALTER DATABASE {other} RENAME TO {name}",
            f"ALTER DATABASE {name} ALLOW_CONNECTIONS true",
        )
        await becomes(health, ready=True)
