"""`durak key`: the keys that sign checkpoints."""

from pathlib import Path
from typing import Final

import click

from durak.v1 import administration_service_pb2 as api
from durak.v1.administration_service_pb2_grpc import AdministrationServiceStub
from service.checkpoints import signing_keys
from service.cli.client import new_request_id
from service.cli.connection import Connection, with_connection
from service.cli.options import DATA_DIR, load_config

_FILE: Final = click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="Key file.  [env var: DURAK_CHECKPOINT_KEY; default: checkpoint-key in the data folder]",
)


@click.group("key")
def key_command() -> None:
    """Manage the keys that sign checkpoints."""


@key_command.command("new")
@click.argument("name")
@_FILE
@DATA_DIR
def new(name: str, file: Path | None, data_dir: Path | None) -> None:
    """Create the first key and print its public key.

    NAME is the permanent name of the log, such as durak.example/log: a domain that is yours and a
    path, without spaces or +.
    """
    click.echo(signing_keys.make(_path(file, data_dir), name).verifier)


@key_command.command("rotate", short_help="Add a new key that signs together with the old ones.")
@_FILE
@DATA_DIR
def rotate(file: Path | None, data_dir: Path | None) -> None:
    """Add a new key that signs together with the old ones, and print its public key.

    Then put the change on record with `durak key record`.
    """
    click.echo(signing_keys.rotate(_path(file, data_dir)).verifier)


@key_command.command("retire")
@_FILE
@DATA_DIR
def retire(file: Path | None, data_dir: Path | None) -> None:
    """Remove all keys but the newest, and print their public keys.

    Keep these public keys: they verify older checkpoints and transcripts. Then put the change on
    record with `durak key record`.
    """
    for key in signing_keys.retire(_path(file, data_dir)):
        click.echo(key.verifier)


@key_command.command("public")
@_FILE
@DATA_DIR
def public(file: Path | None, data_dir: Path | None) -> None:
    """Print the public keys for `durak verify --key`, newest first."""
    for key in signing_keys.read(_path(file, data_dir)):
        click.echo(key.verifier)


@key_command.command("record")
@click.option("--reason", required=True, metavar="TEXT", help="Why the keys change.")
@_FILE
@with_connection("operator")
def record(*, connection: Connection, reason: str, file: Path | None) -> None:
    """Put a change of the keys on record, as an operator.

    After `rotate` and `retire` the service signs nothing until the new keys are on record. The
    first keys need no record: the service writes it.
    """
    keys = signing_keys.read(_path(file, connection.data_dir))
    request = api.ChangeSigningKeysRequest(
        request_id=new_request_id(),
        verifier_keys=[str(key.verifier) for key in keys],
        reason=reason,
    )
    connection.call(AdministrationServiceStub, lambda stub: stub.ChangeSigningKeys, request)
    for key in keys:
        click.echo(key.verifier)


def _path(file: Path | None, data_dir: Path | None) -> Path:
    return file or load_config(data_dir).note_key_file
