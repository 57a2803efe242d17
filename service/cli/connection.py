"""The options by which a command finds the service and says who calls."""

import getpass
from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import Any, Final

import click

from service.cli.client import Client
from service.cli.options import (
    CERTIFICATE,
    KEY_DATA,
    LANGUAGE,
    SERVER,
    TOKEN,
    load_config,
    server_address,
    with_options,
)
from service.cli.tokens import local_token

ROLES: Final = ("player", "operator", "auditor")
RETRY_SECONDS: Final = 3.0
"""How long a command that asks once waits for a server that does not answer."""
NAMES: Final = ("server", "certificate", "token", "name", "data_dir", "language")
OPTIONS: Final = (
    SERVER,
    CERTIFICATE,
    TOKEN,
    click.option("--name", help="Call under this name, by the development key of the data folder."),
    KEY_DATA,
    LANGUAGE,
)


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the service is, and who calls."""

    address: str
    token: str
    language: str
    certificate: Path | None

    def client(self) -> Client:
        """A client, to be used as ``async with connection.client() as client:``."""
        return Client(
            self.address,
            self.token,
            language=self.language,
            certificate=self.certificate,
            retry_seconds=RETRY_SECONDS,
        )


def with_connection(role: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options, and for what they say one argument, a `Connection`.

    Without a token it calls as --name, in `role` unless told otherwise, by the development key of a
    server on this machine.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:  # noqa: ANN401 - the options above and the command's own
            own = {name: given.pop(name) for name in (*NAMES, "role")}
            command(connection=make_connection(**own), **given)

        as_role = click.option(
            "--role",
            type=click.Choice(ROLES),
            default=role,
            show_default=True,
            help="With --name: in this role.",
        )
        return with_options(*OPTIONS, as_role)(update_wrapper(run, command))

    return decorate


def make_connection(
    *,
    server: str | None,
    certificate: Path | None,
    token: str | None,
    name: str | None,
    data_dir: Path | None,
    language: str,
    role: str,
) -> Connection:
    """The connection that the values of the options make. Raises click.ClickException."""
    config = load_config(data_dir)
    return Connection(
        server_address(server, config),
        token or local_token(config, name or getpass.getuser(), role),
        language,
        certificate,
    )
