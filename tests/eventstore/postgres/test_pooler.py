"""Case O07: PgBouncer is refused at start with the reason, in every mode."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from eventstore import EmbeddedPostgres, EventStore, migrate
from eventstore.errors import StoreMisconfigured
from eventstore.postgres.server_port import choose_free_port, is_listening

PGBOUNCER = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
DEADLINE_S = 30.0
IGNORED = (
    "application_name, role, synchronous_commit, jit, statement_timeout, plan_cache_mode, "
    "idle_in_transaction_session_timeout, enable_seqscan, enable_hashjoin, enable_mergejoin"
)
pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed")


@asynccontextmanager
async def pgbouncer(
    postgres: EmbeddedPostgres, dsn: str, mode: str, ignored: str, folder: Path
) -> AsyncIterator[str]:
    """PgBouncer in front of a database. Yields the address through it."""
    assert PGBOUNCER is not None
    parts = urlsplit(dsn)
    password, port = unquote(parts.password or ""), choose_free_port()
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        "[databases]\n"
        f"* = host=127.0.0.1 port={parse_qs(parts.query)['port'][0]} password={password}\n"
        "[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        f"pool_mode = {mode}\nignore_startup_parameters = {ignored}\n"
        f"logfile = {folder / 'log'}\n"
    )
    for path in (folder, settings):
        postgres.user.own(path)
    process = await asyncio.create_subprocess_exec(
        PGBOUNCER, "-q", settings, user=postgres.user.uid, group=postgres.user.gid, cwd="/"
    )
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not is_listening(port, 1.0):
                assert process.returncode is None
                await asyncio.sleep(0.05)
        yield f"postgresql://{parts.username}:any@127.0.0.1:{port}{parts.path}"
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.parametrize("ignored", ["", IGNORED], ids=["defaults", "ignored_parameters"])
@pytest.mark.parametrize("mode", ["session", "transaction"])
async def test_O07_pgbouncer_is_refused_at_start_with_the_reason(
    own_postgres: EmbeddedPostgres, mode: str, ignored: str
) -> None:
    folder = own_postgres.folder / "pgbouncer"
    folder.mkdir()
    dsn = own_postgres.owner_dsn()
    async with pgbouncer(own_postgres, dsn, mode, ignored, folder) as through:
        with pytest.raises(StoreMisconfigured, match="pooler such as PgBouncer"):
            await EventStore.open(through)
        with pytest.raises(StoreMisconfigured, match="pooler such as PgBouncer"):
            await migrate(through)
