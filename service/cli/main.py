"""The command line `durak`.

Exit codes: 0 all is well; 1 it was refused or has failed; 2 the command was written wrongly;
3 the server or the database cannot be reached; 4 `durak verify` found no fault and no proof;
130 a person has left with Ctrl-C.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

import click
from pydantic import ValidationError

from eventstore import (
    EmbeddedPostgres,
    EmbeddedPostgresError,
    StoreError,
    StoreUnavailable,
    migrate,
)
from service.cli.arena import arena
from service.cli.audit import audit_command
from service.cli.client import CallRefused, ServerUnreachable
from service.cli.demo import demo
from service.cli.dispute import dispute_command
from service.cli.key import key_command
from service.cli.log import export, matches, replay, show
from service.cli.play import play
from service.cli.practice import practice
from service.cli.rebuild import rebuild
from service.cli.rules import rules
from service.cli.tokens import development_token
from service.cli.verify import verify_command
from service.config import Config
from service.keys import KeySetError
from service.note_keys import NoteKeyError
from service.server import Running, StartError, serve_forever
from service.telemetry import configure_logging

EXIT_FAILED: Final = 1
EXIT_UNREACHABLE: Final = 3


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="durak")
def durak() -> None:
    """Durak (дурак): a match service you can check.

    Start with `durak demo`; `durak serve` runs the service for your client.
    Settings are environment variables DURAK_…; docs/operator.md lists them.
    """


@durak.command()
@click.option("--host", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port; 0 chooses a free one.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Data of the embedded Postgres.")
def serve(host: str | None, port: int | None, data_dir: Path | None) -> None:
    """Run the service until Ctrl-C or SIGTERM.

    Without DURAK_DATABASE_URL it runs a Postgres of its own in the data folder.
    """
    given = {"listen_host": host, "listen_port": port, "data_dir": data_dir}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if sys.stderr.isatty():
        chosen.setdefault("log_format", "console")
    config = Config(**chosen)
    configure_logging(config)
    asyncio.run(serve_forever(config, _announce))


def _announce(running: Running) -> None:
    click.echo(f"durak listens on {running.address}", err=True)
    if running.development_key is not None:
        click.echo("A token for it: durak token NAME", err=True)
    click.echo("Stop it with Ctrl-C.", err=True)


@durak.command()
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice(["player", "operator", "auditor"]),
    help="May be given several times; player if not given.",
)
@click.option("--hours", type=click.IntRange(1, 24 * 366), default=24, show_default=True)
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where the server's key lies.")
def token(name: str, roles: tuple[str, ...], hours: int, data_dir: Path | None) -> None:
    """Print a token for NAME, signed with the development key of the data folder.

    For development: a server with DURAK_TOKEN_JWKS takes its issuer's tokens alone.
    """
    config = Config() if data_dir is None else Config(data_dir=data_dir)
    click.echo(development_token(config, name, roles=roles or ("player",), hours=hours))


@durak.command("migrate")
def migrate_command() -> None:
    """Bring the database to the newest schema.

    DURAK_DATABASE_URL must name a role that owns the schema. Without it the embedded Postgres is
    migrated, which `durak serve` also does by itself.
    """
    asyncio.run(_migrate(Config()))
    click.echo("The database has the newest schema.")


async def _migrate(config: Config) -> None:
    if config.database_url is not None:
        await migrate(config.database_url.get_secret_value())
        return
    postgres = EmbeddedPostgres(config.data_dir / "postgres")
    await asyncio.to_thread(postgres.start)
    try:
        await migrate(postgres.owner_dsn())
    finally:
        await asyncio.to_thread(postgres.release)


for _command in (
    play, demo, arena, matches, show, replay, export, practice, rules, audit_command,
    verify_command, key_command, dispute_command, rebuild,
):  # fmt: skip
    durak.add_command(_command)


def main() -> None:
    """Run the command line, and turn foreseeable faults into one sentence and an exit code."""
    try:
        durak.main(prog_name="durak")
    except ValidationError as error:
        for fault in error.errors():
            setting = "_".join(map(str, fault["loc"])) or "settings"
            click.echo(f"durak: setting {setting}: {fault['msg']}", err=True)
        sys.exit(2)
    except (StoreUnavailable, EmbeddedPostgresError) as error:
        click.echo(f"durak: the database cannot be reached: {error}", err=True)
        sys.exit(EXIT_UNREACHABLE)
    except ServerUnreachable as error:
        click.echo(f"durak: {error}: is it running? `durak serve` starts one", err=True)
        sys.exit(EXIT_UNREACHABLE)
    except (CallRefused, StoreError, StartError, KeySetError, NoteKeyError) as error:
        click.echo(f"durak: {error}", err=True)
        sys.exit(EXIT_FAILED)
