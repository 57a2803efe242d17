"""`durak rebuild`: makes the read models anew from the log."""

import asyncio
from pathlib import Path

import click

from service.cli.database import open_store
from service.cli.options import STORE_DATA, load_config
from service.config import Config
from service.rebuild import Rebuilt
from service.rebuild import rebuild as rebuild_store


@click.command("rebuild")
@STORE_DATA
@click.pass_context
def rebuild(context: click.Context, data_dir: Path | None) -> None:
    """Make the lists of matches, series and ratings anew from the log.

    Services may run meanwhile; until it is done, series and ratings lack what is yet to be counted.
    The ratings are counted by the numbers that are set now (DURAK_RATING_...): give this command
    the same settings as the service. Coins are no read model: the ledger is left alone.
    """
    config = load_config(data_dir)
    done = asyncio.run(_rebuild(config))
    click.echo(f"{done.matches} matches in the lists, {done.counted} ended ones counted.")
    for match_id in done.corrupt:
        click.echo(f"durak: match {match_id} is damaged and was left as it was", err=True)
    if done.corrupt:
        context.exit(1)


async def _rebuild(config: Config) -> Rebuilt:
    async with open_store(config) as store:
        return await rebuild_store(store, config)
