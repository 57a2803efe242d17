"""Connections to the database and their settings."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Any

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from eventstore.errors import StoreError, StoreMisconfigured, reason_of
from eventstore.limits import Limits
from eventstore.postgres.roles import APP_ROLE

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
    PooledConnection = Connection | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

OWNER_CONNECT_SECONDS_MAX = 10.0
"""How long the connection for migrations may take."""
CLIENT_TIMEOUT_MARGIN_SECONDS = 2.0
"""How much longer the client waits than the server's own timeout. After that the server is lost."""

_POOLER = (
    "the address leads through a pooler such as PgBouncer, which drops the role and the timeouts "
    "of the service: give the address of PostgreSQL itself. The service has a pool of its own"
)
_REFUSED_LOGIN = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
"""The role, the password, the database or the right to connect is wrong."""


def _server_settings(limits: Limits, *, for_appends: bool = False) -> dict[str, str]:
    """Return the server settings of a connection.

    With `for_appends` every batch uses the same plan, whatever the size of the tables: the input
    is read in its order, and each stream is found by its key. The fixed order also prevents
    deadlocks between the batches of two replicas.
    """
    timeout = f"{int(limits.statement_timeout_seconds * 1000)}ms"
    settings = {
        "application_name": "durak",
        "role": APP_ROLE,  # a connection of any user has only the rights of the service
        "synchronous_commit": "on",
        "jit": "off",
        "statement_timeout": timeout,
        "idle_in_transaction_session_timeout": timeout,
    }
    if for_appends:
        settings |= {
            "plan_cache_mode": "force_generic_plan",
            "enable_seqscan": "off",
            "enable_hashjoin": "off",
            "enable_mergejoin": "off",
        }
    return settings


def _wanted_server(dsn: str) -> SessionAttribute | None:
    """Return the kind of server to look for: a primary, unless the operator asks for another."""
    if "target_session_attrs" in dsn or "PGTARGETSESSIONATTRS" in os.environ:
        return None
    return SessionAttribute.read_write


CLOSE_SECONDS_MAX = 2.0
"""How long the server gets to answer when a connection is closed."""


async def disconnect(connection: Connection | asyncpg.Pool[asyncpg.Record]) -> None:
    """Close a connection or a pool. If the server does not answer, only the own side is closed."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS_MAX):
            await connection.close()
    except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        _expect_lost_connections(asyncio.get_running_loop())
        connection.terminate()


def _expect_lost_connections(loop: asyncio.AbstractEventLoop) -> None:
    """Do not report the tasks of asyncpg that fail because their connection is closed here.

    They give connections back to the pool, and nobody awaits them any more.
    """
    previous = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        lost = (asyncpg.PostgresConnectionError, asyncpg.InterfaceError)
        if isinstance(context.get("exception"), lost):
            return
        if previous is None:
            loop.default_exception_handler(context)
        else:
            previous(loop, context)

    loop.set_exception_handler(handle)


async def connect(dsn: str, limits: Limits, *, for_appends: bool = False) -> Connection:
    """Open one connection with the role of the service, to a server that takes writes.

    Raises StoreMisconfigured if `dsn` is not valid, leads through a pooler, or to a server that
    lacks the role; StoreError if the server refuses the login.
    """
    settings = _server_settings(limits, for_appends=for_appends)
    timeout = limits.statement_timeout_seconds + CLIENT_TIMEOUT_MARGIN_SECONDS
    connection = await _open(dsn, settings, limits.connect_seconds_max, timeout)
    _watch_network(connection, limits)
    return connection


async def connect_as_owner(dsn: str) -> Connection:
    """Open one connection with the role of `dsn` and without a time limit for statements.

    Raises the errors of `connect`.
    """
    settings = {
        "application_name": "durak migrate",
        "statement_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
    }
    return await _open(dsn, settings, OWNER_CONNECT_SECONDS_MAX, None)


async def _open(
    dsn: str, settings: dict[str, str], connect_seconds_max: float, command_timeout: float | None
) -> Connection:
    try:
        connection = await asyncpg.connect(
            dsn,
            server_settings=settings,
            target_session_attrs=_wanted_server(dsn),
            timeout=connect_seconds_max,
            command_timeout=command_timeout,
        )
    except ValueError as error:  # of asyncpg or urllib
        raise StoreMisconfigured(f"the database address is not valid: {error}") from error
    except asyncpg.InvalidParameterValueError as error:
        raise StoreMisconfigured(f"{reason_of(error)}: run `durak migrate`") from error
    except asyncpg.ProtocolViolationError as error:
        raise StoreMisconfigured(f"{reason_of(error)}: {_POOLER}") from error
    except _REFUSED_LOGIN as error:
        raise StoreError(f"the database refused the login: {reason_of(error)}") from error
    try:
        await _check_session(connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _check_session(connection: Connection) -> None:
    """Check that the session is one of PostgreSQL itself. Raises StoreMisconfigured.

    A pooler invents the process id that it reports at the start. It may drop our role and timeouts,
    and lend the session to others between two transactions.
    """
    if await connection.fetchval("SELECT pg_backend_pid()") != connection.get_server_pid():
        raise StoreMisconfigured(_POOLER)


def _watch_network(connection: Connection, limits: Limits) -> None:
    """Let the system find out that the other side is unreachable, also while nothing is sent."""
    connected = network_socket(connection)
    if connected.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    seconds = max(1, round(limits.idle_connection_seconds_max / 3))
    options = {
        "TCP_KEEPIDLE": seconds,
        "TCP_KEEPINTVL": seconds,
        "TCP_KEEPCNT": 2,
        "TCP_USER_TIMEOUT": round(limits.unacknowledged_seconds_max * 1000),
    }
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in options.items():
        if hasattr(socket, name):  # not every system has all of them
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def network_socket(connection: Connection) -> socket.socket:
    """Return the socket of a connection."""
    transport: asyncio.BaseTransport = connection._transport  # type: ignore[attr-defined]  # noqa: SLF001 - asyncpg shows it nowhere else
    found: socket.socket = transport.get_extra_info("socket")
    return found
