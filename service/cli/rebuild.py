"""`durak rebuild`: rebuild the read models from the log."""

import asyncio
from pathlib import Path

import click

from service.cli.database import open_store
from service.cli.exits import EXIT_FAILED
from service.cli.options import DATA_DIR, load_config
from service.config import Config
from service.rebuild import Rebuilt
from service.rebuild import rebuild as rebuild_store


@click.command("rebuild")
@DATA_DIR
@click.pass_context
def rebuild(context: click.Context, data_dir: Path | None) -> None:
    """Rebuild the match lists, series and ratings from the log.

    Services may run meanwhile; series and ratings are incomplete until the rebuild ends. Give this
    command the same settings as the service, since ratings depend on DURAK_RATING_…. The ledger of
    coins is not rebuilt.
    """
    done = asyncio.run(_rebuild(load_config(data_dir)))
    click.echo(f"{done.matches} matches listed, {done.counted} ended matches counted.")
    for match_id in done.corrupt:
        click.echo(f"durak: match {match_id} is corrupt and was left unchanged", err=True)
    if done.corrupt:
        context.exit(EXIT_FAILED)


async def _rebuild(config: Config) -> Rebuilt:
    async with open_store(config) as store:
        return await rebuild_store(store, config)
