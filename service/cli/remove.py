"""`durak remove`: remove a seated player from a table that waits for players."""

from uuid import UUID

import click

from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from service.cli.client import new_request_id
from service.cli.connection import Connection, with_connection
from service.cli.options import MATCH
from service.cli.terminal import new_console
from service.render.table import seat_names
from service.render.texts import translator


@click.command("remove")
@MATCH
@click.argument("player")
@with_connection("player")
def remove_command(*, connection: Connection, match_id: UUID, player: str) -> None:
    """Remove PLAYER (a player id) from MATCH, a table that you opened.

    Only before the cards are dealt. The player gets the stake back and cannot sit down at this
    table again.
    """
    request = api.RemovePlayerRequest(
        match_id=str(match_id), request_id=new_request_id(), player_id=player
    )
    view = connection.call(MatchServiceStub, lambda stub: stub.RemovePlayer, request).view
    names = seat_names(view.seats, translator(connection.language))
    new_console().print(names.join(seat.seat for seat in view.seats))
