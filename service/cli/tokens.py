"""Tokens of the development key: `durak token`, and what `durak play` uses without one."""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import click

from service.cli.options import KEY_DATA, load_config
from service.config import Config
from service.rpc.token_keys import DEVELOPMENT_KEY_FILE, DevelopmentKey


def development_token(
    config: Config, name: str, *, roles: Iterable[str] = ("player",), hours: int = 24
) -> str:
    """A token for a name by the key of the data folder, which is made where it is missing.

    The player's id is the name, percent-encoded where a `sub` could not hold it.
    """
    return DevelopmentKey.in_folder(config.data_dir).mint(
        quote(name, safe="@:+"),
        name=name,
        roles=roles,
        issuer=config.token_issuer,
        audience=config.token_audience,
        lifetime_seconds=hours * 3600,
    )


def local_token(config: Config, name: str, role: str = "player") -> str:
    """As `development_token`, but only where a server of this folder has made the key."""
    if not (config.data_dir / DEVELOPMENT_KEY_FILE).exists():
        raise click.ClickException(
            f"no token, and no key to make one with in {config.data_dir}: start a server with "
            "`durak serve`, name its --data-dir, or give --token"
        )
    return development_token(config, name, roles=(role,))


@click.command("token")
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice(["player", "operator", "auditor"]),
    help="May be given several times; player if not given.",
)
@click.option("--hours", type=click.IntRange(1, 24 * 366), default=24, show_default=True)
@KEY_DATA
def token_command(name: str, roles: tuple[str, ...], hours: int, data_dir: Path | None) -> None:
    """Print a token for NAME, signed with the development key of the data folder.

    For development: a server with DURAK_TOKEN_JWKS takes its issuer's tokens alone.
    """
    config = load_config(data_dir)
    click.echo(development_token(config, name, roles=roles or ("player",), hours=hours))
