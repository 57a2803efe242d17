"""Options that several commands have, and what they stand for: the service, who calls, a table."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

import click

from domain.match.presets import PRESETS
from durak.v1.settings_pb2 import BotLevel, Settings, ThrowIn
from service.config import Config
from service.text.localisation import LANGUAGES

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Command], Command]

LEVELS: Final = MappingProxyType(
    {
        name.removeprefix("BOT_LEVEL_").lower(): level
        for name, level in BotLevel.items()
        if level != BotLevel.BOT_LEVEL_UNSPECIFIED
    }
)
_CIRCLES: Final = MappingProxyType(
    {"all": ThrowIn.THROW_IN_ALL, "neighbours": ThrowIn.THROW_IN_NEIGHBOURS}
)
# What a table has where neither the person nor the preset says otherwise.
_DEFAULTS: Final = MappingProxyType(
    {"deck": 36, "seats": 2, "throw_in": ThrowIn.THROW_IN_ALL, "draw_allowed": True}
)


def with_options(*options: Option[Any]) -> Callable[[Command], Command]:
    """Give a command these options; its help lists them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


SERVER: Final = click.option(
    "--server",
    metavar="HOST:PORT",
    envvar="DURAK_SERVER",
    show_envvar=True,
    help="The server. [default: this machine's]",
)
CERTIFICATE: Final = click.option(
    "--ca",
    "certificate",
    type=click.Path(path_type=Path, exists=True),
    help="Trusted (PEM); turns TLS on.",
)
TOKEN: Final = click.option("--token", envvar="DURAK_TOKEN", show_envvar=True, help="Who you are.")
KEY_DATA: Final = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Where the server's key lies."
)
LANGUAGE: Final = click.option(
    "--language",
    type=click.Choice(LANGUAGES),
    default="en",
    envvar="DURAK_LANGUAGE",
    show_envvar=True,
    show_default=True,
    help="Of texts and refusals.",
)
STORE_DATA: Final = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Data of the embedded Postgres."
)
GAME: Final = (
    click.option("--deck", type=click.Choice(["24", "36", "52"]), help="Cards. [default: 36]"),
    click.option("--seats", type=click.IntRange(2, 6), help="Seats. [default: 2]"),
    click.option(
        "--throw-in", type=click.Choice(list(_CIRCLES)), help="Who throws in. [default: all]"
    ),
    click.option(
        "--transfer/--no-transfer", default=None, help="Perevodnoy, or podkidnoy (default)."
    ),
    click.option("--draws/--no-draws", default=None, help="Can it be a draw? [default: yes]"),
    click.option("--five-card-opening", is_flag=True, default=None, help="Five cards at first."),
)
"""How the cards are played."""
TABLE: Final = (
    *GAME,
    click.option(
        "--tricky", is_flag=True, default=None, help="Illegal cards stand until challenged."
    ),
    click.option(
        "--timer", type=click.IntRange(0, 86_400), help="Seconds for a move. [default: none]"
    ),
    click.option(
        "--stake", type=click.IntRange(0, 10**9), help="Coins of each seat. [default: none]"
    ),
    click.option("--preset", type=click.Choice(list(PRESETS)), help="A table by its name."),
)
"""All that a table can have."""


def load_config(data_dir: Path | None) -> Config:
    """The settings of the service, with the data folder of the command line if there is one."""
    return Config() if data_dir is None else Config(data_dir=data_dir)


def server_address(server: str | None, config: Config) -> str:
    """Where to call: the server of the command line, or that of this machine."""
    return server or f"{config.listen_host}:{config.listen_port}"


def table_settings(given: Mapping[str, Any]) -> Settings:
    """The settings that `GAME` or `TABLE` ask for; what a preset locks is left to the server."""
    asked = {
        "deck": None if given["deck"] is None else int(given["deck"]),
        "seats": given["seats"],
        "throw_in": _CIRCLES.get(given["throw_in"]),
        "transfer": given["transfer"],
        "draw_allowed": given["draws"],
        "five_card_opening": given["five_card_opening"],
        "tricky": given.get("tricky"),
        "turn_timer_seconds": given.get("timer"),
        "stake_coins": given.get("stake"),
        "preset": given.get("preset"),
    }
    locked = PRESETS.get(asked["preset"] or "", {})
    free = {name: value for name, value in _DEFAULTS.items() if name not in locked}
    return Settings(**free | {name: value for name, value in asked.items() if value is not None})
