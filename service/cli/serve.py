"""`durak serve` and `durak migrate`."""

import asyncio
import sys
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import click

from eventstore import EmbeddedPostgres, migrate
from service.cli.errors import explain_error
from service.cli.options import DATA_DIR, load_config
from service.config import PROCESSES_MAX, Config
from service.processes.link import ParentLink
from service.processes.parent import PARENT, count_processes, settings_of
from service.rpc.logs import configure_logging
from service.server import serve_forever, serve_processes
from service.workers.parent_watch import exit_with_parent


@click.command()
@click.option(
    "--host",
    metavar="ADDRESS",
    help="Address to listen on.  [env var: DURAK_LISTEN_HOST; default: 127.0.0.1]",
)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65_535),
    help="Port to listen on; 0 for any free one.  [env var: DURAK_LISTEN_PORT; default: 50051]",
)
@click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(0, PROCESSES_MAX),
    help="Processes behind the port; 0 for one a core.  [env var: DURAK_PROCESSES; default: 1]",
)
@DATA_DIR
def serve(host: str | None, port: int | None, processes: int | None, data_dir: Path | None) -> None:
    """Run the service until Ctrl-C or SIGTERM.

    Without DURAK_DATABASE_URL, also runs an embedded Postgres in the data folder.
    """
    given = {
        "listen_host": host,
        "listen_port": port,
        "processes": processes,
        "data_dir": data_dir,
    }
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if sys.stderr.isatty():
        chosen.setdefault("log_format", "console")
    config = Config(**chosen)
    count = count_processes(config)
    if count == 1:
        config = settings_of(config, 1, 1)
        configure_logging(config)
        asyncio.run(serve_forever(config, lambda server: _announce(config, server.address)))
        return
    configure_logging(config, PARENT)
    asyncio.run(serve_processes(config, _serve_child, partial(_announce, config)))


def _serve_child(
    config: Config, number: int, connection: Connection, parent_gone: Connection
) -> None:
    """Run one of several processes. Its parent exits with its exit code if it does not start."""
    exit_with_parent(parent_gone)
    configure_logging(config, number)
    try:
        asyncio.run(serve_forever(config, parent=ParentLink(number, connection)))
    except Exception as error:
        explained = explain_error(error)
        if explained is None:
            raise
        messages, code = explained
        for message in messages:
            click.echo(f"durak: {message}", err=True)
        sys.exit(code)


def _announce(config: Config, address: str) -> None:
    click.echo(f"durak listens on {address}", err=True)
    if config.token_jwks is None:
        click.echo("Make a token with: durak token NAME", err=True)
    click.echo("Stop with Ctrl-C.", err=True)


@click.command("migrate")
@DATA_DIR
def migrate_command(data_dir: Path | None) -> None:
    """Update the database to the newest schema.

    DURAK_DATABASE_URL must name a role that owns the schema. Without it, updates the embedded
    Postgres, as `durak serve` does at every start.
    """
    asyncio.run(_migrate(load_config(data_dir)))
    click.echo("The database has the newest schema.")


async def _migrate(config: Config) -> None:
    if config.database_url is not None:
        await migrate(config.database_url.get_secret_value())
        return
    postgres = EmbeddedPostgres(config.data_dir / "postgres")
    await asyncio.to_thread(postgres.start)
    try:
        await migrate(postgres.owner_dsn())
    finally:
        await asyncio.to_thread(postgres.release)
