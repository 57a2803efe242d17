"""Tokens made with the development key: `durak token`, and those of other commands."""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import click

from service.cli.exits import CommandError
from service.cli.options import DATA_DIR, load_config
from service.config import Config
from service.rpc.authentication import SUBJECT
from service.rpc.token_keys import DEVELOPMENT_KEY_FILE, DevelopmentKey


def development_token(
    config: Config, name: str, *, roles: Iterable[str] = ("player",), hours: int = 24
) -> str:
    """Return a token for a name, signed with the development key. Makes the key if missing.

    The player's id is the name, percent-encoded. Raises click.BadParameter for a name that is too
    long, and KeySetError.
    """
    return DevelopmentKey.in_folder(config.data_dir).mint(
        _player_id(name),
        name=name,
        roles=roles,
        issuer=config.token_issuer,
        audience=config.token_audience,
        lifetime_seconds=hours * 3600,
    )


def _player_id(name: str) -> str:
    try:
        player_id = quote(name, safe="@:+")
    except UnicodeEncodeError as error:
        raise click.BadParameter("the name is not valid UTF-8") from error
    if not player_id:
        raise click.BadParameter("the name is empty")
    if not SUBJECT.fullmatch(player_id):
        raise click.BadParameter(
            f"the name is too long: as a percent-encoded id it has {len(player_id)} characters, at "
            "most 255 are allowed. A Cyrillic or Greek letter counts as 6, so 42 of them fit"
        )
    return player_id


def local_token(config: Config, name: str, role: str = "player") -> str:
    """Return a token as `development_token` does, if a service has made the key."""
    if not (config.data_dir / DEVELOPMENT_KEY_FILE).exists():
        raise CommandError(
            f"no token, and no development key in {config.data_dir.absolute()}: start a server "
            "with `durak serve`, or give the --data-dir of a running one, or --token"
        )
    return development_token(config, name, roles=(role,))


@click.command("token")
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice(["player", "operator", "auditor"]),
    help="Role of the token; repeatable.  [default: player]",
)
@click.option(
    "--hours",
    metavar="N",
    type=click.IntRange(1, 24 * 366),
    default=24,
    show_default=True,
    help="Lifetime in hours.",
)
@DATA_DIR
def token_command(name: str, roles: tuple[str, ...], hours: int, data_dir: Path | None) -> None:
    """Print a token for the player NAME, signed with the development key.

    For development only. A service with DURAK_TOKEN_JWKS accepts only the tokens of its issuer.
    """
    config = load_config(data_dir)
    click.echo(development_token(config, name, roles=roles or ("player",), hours=hours))
