"""`durak serve` and `durak migrate`: what an operator runs."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from eventstore import EmbeddedPostgres, migrate
from service.cli.options import STORE_DATA
from service.config import Config
from service.rpc.telemetry import configure_logging
from service.server import Running, serve_forever


@click.command()
@click.option("--host", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port; 0 chooses a free one.")
@STORE_DATA
def serve(host: str | None, port: int | None, data_dir: Path | None) -> None:
    """Run the service until Ctrl-C or SIGTERM.

    Without DURAK_DATABASE_URL it runs a Postgres of its own in the data folder.
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
        click.echo("A token for it: durak token NAME", err=True)
    click.echo("Stop it with Ctrl-C.", err=True)


@click.command("migrate")
def migrate_command() -> None:
    """Bring the database to the newest schema.

    DURAK_DATABASE_URL must name a role that owns the schema. Without it the embedded Postgres is
    migrated, which `durak serve` also does by itself.
    """
    asyncio.run(_migrate(Config()))
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
