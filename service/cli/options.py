"""Options that several commands share, and the settings that their values give."""

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
# Settings of a table that neither the options nor the preset give.
_DEFAULTS: Final = MappingProxyType(
    {"deck": 36, "seats": 2, "throw_in": ThrowIn.THROW_IN_ALL, "draw_allowed": True}
)


def with_options(*options: Option[Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds options to a command. Its help lists them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _check_certificate(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
    if file is not None and b"-----BEGIN CERTIFICATE-----" not in file.read_bytes():
        raise click.BadParameter(f"{file} has no certificate in PEM format")
    return file


SERVER: Final = click.option(
    "--server",
    metavar="HOST:PORT",
    envvar="DURAK_SERVER",
    help="Address of the service.  [env var: DURAK_SERVER; default: 127.0.0.1:50051]",
)
CERTIFICATE: Final = click.option(
    "--ca",
    "certificate",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    callback=_check_certificate,
    help="PEM file of the certificate authorities to trust.  [default: the system's; none on this "
    "machine]",
)
PLAINTEXT: Final = click.option(
    "--plaintext",
    is_flag=True,
    envvar="DURAK_PLAINTEXT",
    help="Call another machine without TLS. Everybody on the way can read the token.  "
    "[env var: DURAK_PLAINTEXT]",
)
TOKEN: Final = click.option(
    "--token",
    envvar="DURAK_TOKEN",
    help="Token (JWT) of the caller.  [env var: DURAK_TOKEN; default: made for --name]",
)
NAME: Final = click.option(
    "--name",
    help="Name of the caller; makes a token with the development key in the data folder.  "
    "[default: your login name]",
)
DATA_DIR: Final = click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    envvar="DURAK_DATA_DIR",
    help="Data folder of the service.  [env var: DURAK_DATA_DIR; default: .durak]",
)
LANGUAGE: Final = click.option(
    "--language",
    type=click.Choice(LANGUAGES),
    default="en",
    envvar="DURAK_LANGUAGE",
    help="Language of the output.  [env var: DURAK_LANGUAGE; default: en]",
)
MATCH: Final = click.argument("match_id", metavar="MATCH", type=click.UUID)
AT_VERSION: Final = click.option(
    "--at",
    metavar="VERSION",
    type=click.IntRange(1),
    help="Version to stop at.  [default: the last]",
)
GAME: Final = (
    click.option(
        "--deck", type=click.Choice(["24", "36", "52"]), help="Cards in the deck.  [default: 36]"
    ),
    click.option(
        "--seats", metavar="N", type=click.IntRange(2, 6), help="Number of seats.  [default: 2]"
    ),
    click.option(
        "--throw-in",
        type=click.Choice(list(_CIRCLES)),
        help="Players who may throw in: all, or the defender's neighbours.  [default: all]",
    ),
    click.option(
        "--transfer/--no-transfer",
        default=None,
        help="Allow the defender to transfer the attack (perevodnoy).  [default: no]",
    ),
    click.option("--draws/--no-draws", default=None, help="Allow draws.  [default: yes]"),
    click.option(
        "--five-card-opening",
        is_flag=True,
        default=None,
        help="Limit attacks to five cards until the first successful defence.",
    ),
)
"""Options for the rules of the game."""
TABLE: Final = (
    *GAME,
    click.option(
        "--tricky",
        is_flag=True,
        default=None,
        help="Let illegal cards stand until a player challenges them.",
    ),
    click.option(
        "--timer",
        metavar="SECONDS",
        type=click.IntRange(0, 86_400),
        help="Time for each move.  [default: none]",
    ),
    click.option(
        "--stake",
        metavar="COINS",
        type=click.IntRange(0, 10**9),
        help="Coins that each seat pays.  [default: 0]",
    ),
    click.option("--preset", type=click.Choice(list(PRESETS)), help="Preset of rules to play by."),
)
"""Options for all settings of a table."""


def load_config(data_dir: Path | None) -> Config:
    """Return the settings of the service, with the data folder of `--data-dir` if given."""
    return Config() if data_dir is None else Config(data_dir=data_dir)


def table_settings(given: Mapping[str, Any]) -> Settings:
    """Return the settings that the values of `GAME` or `TABLE` ask for.

    Settings that the preset locks are left out unless given; the service checks them.
    """
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
