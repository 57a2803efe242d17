"""Envelopes: a command, its actor, its ids and the version that it expects."""

from typing import NamedTuple

from domain.match.commands import Actor, Command, OpenTable, Rematch
from domain.match.fold import Match


class Envelope(NamedTuple):
    """A command on its way to its match. Ids are 16 bytes.

    Commands of bots and the clock have no `request_id` and no `trace_id`. With `expected_version`
    the command is decided on that version of the match or refused. With `omit_view` the answer has
    only the version of the match.
    """

    match_id: bytes
    actor: Actor
    command: Command
    request_id: bytes = b""
    trace_id: bytes = b""
    expected_version: int | None = None
    omit_view: bool = False

    @property
    def opens(self) -> bool:
        """The command may be the first of its match."""
        return isinstance(self.command, OpenTable | Rematch)


def payload_of(command: Command) -> tuple[object, ...]:
    """Return what the client chose in a command, without what the server adds to it."""
    if isinstance(command, OpenTable | Rematch):
        command = command._replace(server_seed=b"")
    fields = [part.match_id if isinstance(part, Match) else part for part in command]
    return (type(command), *fields)


def with_server_seed(command: Command, server_seed: bytes) -> Command:
    """Return the command with another server seed, if it is one that opens a table.

    A command that was stored is decided again with the seed that it was stored with.
    """
    if isinstance(command, OpenTable | Rematch):
        return command._replace(server_seed=server_seed)
    return command
