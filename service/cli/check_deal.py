"""`durak check-deal`: check the deal of a finished match with the player's own secret."""

import asyncio
import sys
from uuid import UUID

import click

from durak.v1 import match_service_pb2 as api
from durak.v1.table_pb2 import PHASE_ENDED
from service.cli.connection import Connection, with_connection
from service.cli.exits import EXIT_FAILED, EXIT_UNPROVEN, CommandError
from service.cli.options import MATCH
from service.cli.play.fair_deal import FairDeal, Message
from service.cli.play.promises import PromiseFolder
from service.render.texts import translator


@click.command("check-deal")
@MATCH
@with_connection(role="player")
def check_deal_command(*, match_id: UUID, connection: Connection) -> None:
    """Check the deal of the finished MATCH with the secret that you promised.

    `durak play` keeps the secret in the data folder, with the promises of the server and of all
    seats as they were before the secret was revealed. This command reads the events as you may see
    them, recomputes the deck, and compares every card. `durak play` does the same at the end.

    Exit codes: 0 the deal is verified; 1 it is false; 4 there is no secret to check it with.
    """
    message = asyncio.run(_check(connection, str(match_id)))
    translate = translator(connection.language)
    if message is None:
        click.echo(translate("deal-unchecked"))
        sys.exit(EXIT_UNPROVEN)
    click.echo(translate(message.key, **message.variables))
    sys.exit(EXIT_FAILED if message.key == "deal-false" else 0)


async def _check(connection: Connection, match_id: str) -> Message | None:
    async with connection.client() as client:
        request = api.GetMatchRequest(match_id=match_id)
        view = (await client.call(client.stub.GetMatch, request)).view
        if view.phase != PHASE_ENDED:
            raise CommandError("the match has not ended: its server seed is still secret")
        messages = [message async for message in client.watch(match_id)]
        events = [it.event.event for it in messages if it.HasField("event")]
        folder = PromiseFolder(connection.data_dir)
        return FairDeal(client, folder, connection.player_id).check(match_id, events)
