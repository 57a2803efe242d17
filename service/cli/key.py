"""`durak key`: the keys that checkpoints are signed with."""

from pathlib import Path
from typing import Final

import click

from service.checkpoints import signing_keys
from service.cli.options import load_config

_FILE: Final = click.option(
    "--file", "file", type=click.Path(path_type=Path), help="The key file. [default: as set]"
)
_DATA: Final = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="The data folder where it lies by default."
)


@click.group("key")
def key_command() -> None:
    """Make, rotate and show the keys that checkpoints are signed with.

    They lie in the file DURAK_CHECKPOINT_KEY, or in checkpoint-key in the data folder.
    """


@key_command.command("new")
@click.argument("name")
@_FILE
@_DATA
def new(name: str, file: Path | None, data_dir: Path | None) -> None:
    """Make the first key and print its public half.

    NAME names the log for good, as in durak.example/log: a name that is yours, without spaces or +.
    """
    click.echo(signing_keys.make(_path(file, data_dir), name).verifier)


@key_command.command("rotate", short_help="Begin a rotation: make a new key besides the old.")
@_FILE
@_DATA
def rotate(file: Path | None, data_dir: Path | None) -> None:
    """Make a new key, which signs besides the old ones, and print its public half."""
    click.echo(signing_keys.rotate(_path(file, data_dir)).verifier)


@key_command.command("retire")
@_FILE
@_DATA
def retire(file: Path | None, data_dir: Path | None) -> None:
    """End a rotation: drop the old keys, and print their public halves.

    Keep those: older checkpoints and transcripts are verified with them.
    """
    for key in signing_keys.retire(_path(file, data_dir)):
        click.echo(key.verifier)


@key_command.command("public", short_help="Print the public keys, the newest first.")
@_FILE
@_DATA
def public(file: Path | None, data_dir: Path | None) -> None:
    """Print the public keys, the newest first, as `durak verify --key` takes them."""
    for key in signing_keys.read(_path(file, data_dir)):
        click.echo(key.verifier)


def _path(file: Path | None, data_dir: Path | None) -> Path:
    return file or load_config(data_dir).note_key_file
