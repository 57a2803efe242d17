"""`durak serve` and `durak migrate`."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from eventstore import EmbeddedPostgres, migrate
from service.cli.options import DATA_DIR, load_config
from service.config import Config
from service.rpc.logs import configure_logging
from service.server import Running, serve_forever


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
@DATA_DIR
def serve(host: str | None, port: int | None, data_dir: Path | None) -> None:
    """Run the service until Ctrl-C or SIGTERM.

    Without DURAK_DATABASE_URL, also runs an embedded Postgres in the data folder.
    """
    given = {"listen_host": host, "listen_port": port, "data_dir": data_dir}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if sys.stderr.isatty():
        chosen.setdefault("log_format", "console")
    config = Config(**chosen)
    configure_logging(config)
    asyncio.run(serve_forever(config, _announce))


def _announce(running: Running) -> None:
    click.echo(f"durak listens on {running.address}", err=True)
    if running.development_key is not None:
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
