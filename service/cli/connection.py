"""The options by which a command finds the service and says who calls."""

import getpass
from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import Any, Final

import click

from service.cli.client import Client
from service.cli.tokens import own_token
from service.config import Config
from service.localisation import LANGUAGES

ROLES: Final = ("player", "operator", "auditor")
PATIENCE_SECONDS: Final = 3.0
"""How long a command that asks once waits for a server that does not answer."""
NAMES: Final = ("server", "certificate", "token", "name", "data_dir", "language")
SERVER: Final = click.option(
    "--server",
    metavar="HOST:PORT",
    envvar="DURAK_SERVER",
    show_envvar=True,
    help="The server. [default: this machine's]",
)
OPTIONS: Final = (
    SERVER,
    click.option(
        "--ca",
        "certificate",
        type=click.Path(path_type=Path, exists=True),
        help="Trusted (PEM); turns TLS on.",
    ),
    click.option("--token", envvar="DURAK_TOKEN", show_envvar=True, help="Who you are."),
    click.option("--name", help="Call under this name, by the development key of the data folder."),
    click.option(
        "--data-dir", type=click.Path(path_type=Path), help="Where the server's key lies."
    ),
    click.option(
        "--language",
        type=click.Choice(LANGUAGES),
        default="en",
        envvar="DURAK_LANGUAGE",
        help="Of moves and refusals. [default: en]",
    ),
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
            patience_seconds=PATIENCE_SECONDS,
        )


def connecting(role: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options, and for what they say one argument, a `Connection`.

    Without a token it calls as --name, in `role` unless told otherwise, by the development key of a
    server on this machine.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:  # noqa: ANN401 - the options above and the command's own
            own = {name: given.pop(name) for name in (*NAMES, "role")}
            command(connection=connection_of(**own), **given)

        as_role = click.option(
            "--role",
            type=click.Choice(ROLES),
            default=role,
            show_default=True,
            help="With --name: in this role.",
        )
        decorated: Callable[..., None] = as_role(update_wrapper(run, command))
        for option in reversed(OPTIONS):
            decorated = option(decorated)
        return decorated

    return decorate


def connection_of(
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
    config = Config() if data_dir is None else Config(data_dir=data_dir)
    return Connection(
        server or f"{config.listen_host}:{config.listen_port}",
        token or own_token(config, name or getpass.getuser(), role),
        language,
        certificate,
    )
