"""The options that say which service a command calls, and as which caller."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import jwt
from google.protobuf.message import Message
from grpc import aio

from service.cli.client import CallRefused, Client
from service.cli.endpoint import Endpoint, endpoint_of
from service.cli.exits import CommandError
from service.cli.options import (
    CERTIFICATE,
    DATA_DIR,
    LANGUAGE,
    NAME,
    PLAINTEXT,
    SERVER,
    TOKEN,
    load_config,
    with_options,
)
from service.cli.tokens import local_token

ROLES: Final = ("player", "operator", "auditor")
RETRY_SECONDS: Final = 3.0
"""How long a command that is not interactive retries a call."""
OPTION_NAMES: Final = (
    "server",
    "certificate",
    "plaintext",
    "token",
    "name",
    "data_dir",
    "language",
)
OPTIONS: Final = (SERVER, CERTIFICATE, PLAINTEXT, TOKEN, NAME, DATA_DIR, LANGUAGE)
_WRONG_CALLER: Final = frozenset({"NOT_SEATED", "NOT_OWNER", "ROLE_REQUIRED"})
"""Reasons for which another caller would get another answer."""


_Stub = TypeVar("_Stub")
_Response = TypeVar("_Response", bound=Message)


@dataclass(frozen=True, slots=True)
class LocalCaller:
    """A caller whose token was made with the development key."""

    name: str
    role: str
    is_default_name: bool
    """The name is the login name, because `--name` was not given."""
    key_folder: Path

    def hint(self, reason: str) -> str | None:
        """Return advice on a refused call, if the caller could be the cause."""
        if reason == "TOKEN_INVALID":
            return (
                f"The token was signed with the development key in {self.key_folder.absolute()}. "
                "Give the --data-dir of this service, or --token."
            )
        if reason in _WRONG_CALLER and self.is_default_name:
            return (
                f"You called as {self.name}, your login name, in the role {self.role}. "
                "Call as somebody else with --name."
            )
        return None


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to call the service, and the caller."""

    endpoint: Endpoint
    token: str
    language: str
    caller: LocalCaller | None
    """None if the token was given."""
    data_dir: Path

    @property
    def player_id(self) -> str:
        """The `sub` of the token. Empty if the token has none: the service then refuses it."""
        try:
            claims = jwt.decode(self.token, options={"verify_signature": False})
        except jwt.InvalidTokenError:
            return ""
        return str(claims.get("sub", ""))

    def client(self) -> Client:
        """Return a client that retries for `RETRY_SECONDS`.

        ``async with connection.client() as client:``
        """
        return Client(
            self.endpoint,
            self.token,
            language=self.language,
            retry_seconds=RETRY_SECONDS,
        )

    def interactive_client(self, on_connection_change: Callable[[bool], None]) -> Client:
        """Return a client that retries for minutes, and reports lost connections."""
        return Client(
            self.endpoint,
            self.token,
            language=self.language,
            on_connection_change=on_connection_change,
        )

    def call(
        self,
        stub: Callable[[aio.Channel], _Stub],
        method: Callable[[_Stub], Callable[..., Awaitable[_Response]]],
        request: Message,
    ) -> _Response:
        """Call one method, from outside an event loop. Raises as `Client.call` does.

        ``connection.call(WalletServiceStub, lambda stub: stub.GetBalance, request)``
        """

        async def run() -> _Response:
            async with self.client() as client:
                return await client.call(method(stub(client.channel)), request)

        return asyncio.run(run())

    @contextmanager
    def explaining_refusals(self) -> Iterator[None]:
        """Add advice about the caller to a CallRefused that passes."""
        try:
            yield
        except CallRefused as refusal:
            if self.caller is not None and (hint := self.caller.hint(refusal.reason)):
                refusal.add_note(hint)
            raise


def with_connection(role: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that replaces these options by one argument, a `Connection`.

    Without a token, the command calls as --name in `role`, or in the role of --role.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:  # noqa: ANN401 - the options above and the command's own
            own = {name: given.pop(name) for name in OPTION_NAMES}
            connection = make_connection(own, given.pop("role"))
            with connection.explaining_refusals():
                command(connection=connection, **given)

        role_option = click.option(
            "--role",
            type=click.Choice(ROLES),
            default=role,
            show_default=True,
            help="Role of the caller, with --name.",
        )
        return with_options(*OPTIONS, role_option)(update_wrapper(run, command))

    return decorate


def make_connection(given: Mapping[str, Any], role: str) -> Connection:
    """Return the connection for the values of `OPTIONS`. Raises click.ClickException."""
    config = load_config(given["data_dir"])
    caller, token = None, given["token"]
    if not token:
        name = given["name"]
        caller = LocalCaller(name or _login_name(), role, not name, config.data_dir)
        token = local_token(config, caller.name, role)
    endpoint = endpoint_of(given, config)
    return Connection(endpoint, token, given["language"], caller, config.data_dir)


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as error:  # which one depends on Python's version
        raise CommandError("you have no login name: give --name") from error
