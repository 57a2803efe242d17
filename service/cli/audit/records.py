"""`durak audit records`, `state`, `export` and `report`: a match open, as data or drawn."""

import base64
import json
from pathlib import Path
from typing import BinaryIO, Final
from uuid import UUID

import click
from google.protobuf.json_format import MessageToDict

from durak.v1 import audit_service_pb2 as api
from service.checkpoints import signing_keys
from service.checkpoints.signing_keys import NoteKeyError
from service.cli.audit.source import Access, with_audit_access
from service.cli.options import load_config
from service.cli.verify import read_key
from service.render.table import open_table_lines
from service.render.texts import translator
from service.report.page import NoTranscriptError, report


def _no_terminal(_: click.Context, __: click.Parameter, output: BinaryIO) -> BinaryIO:
    if output.isatty():
        raise click.UsageError("this is nothing to read at a terminal: name a file with -o")
    return output


_MATCH: Final = click.argument("match_id", metavar="MATCH", type=click.UUID)
_OUTPUT: Final = click.option(
    "-o",
    "--output",
    type=click.File("wb"),
    default="-",
    callback=_no_terminal,
    help="The file. [default: standard output, where that is no terminal]",
)


@click.command("records", short_help="Write the stored records of a match as JSON lines.")
@_MATCH
@with_audit_access
def records_command(
    *,
    access: Access,
    match_id: UUID,
) -> None:
    """Write the stored records of MATCH as JSON lines: version, hash, bytes, and what they say."""
    for one in access.ask(lambda source: source.records(match_id)):
        click.echo(json.dumps(record_line(one), ensure_ascii=False))


def record_line(stored: api.StoredRecord) -> dict[str, object]:
    """A stored record for JSON; `record` is null where the bytes are none."""
    has_record = stored.HasField("record")
    return {
        "version": stored.version,
        "hash": stored.hash.hex(),
        "bytes": base64.b64encode(stored.stored).decode(),
        "record": MessageToDict(stored.record, preserving_proto_field_name=True)
        if has_record
        else None,
    }


@click.command("state", short_help="Show the table of a match at a version, all cards open.")
@_MATCH
@click.option("--at", type=click.IntRange(1), help="At this version instead of the last.")
@with_audit_access
def state_command(
    *,
    access: Access,
    match_id: UUID,
    at: int | None,
) -> None:
    """Show the table of MATCH at a version, with all hands and the stock."""
    state = access.ask(lambda source: source.state(match_id, at or 0))
    click.echo("\n".join(open_table_lines(state, translator(access.language))))
    for version in state.illegal_plays:
        click.echo(f"illegal play of this bout: version {version}")


@click.command("export", short_help="Write a match as one file for `durak verify`.")
@_MATCH
@_OUTPUT
@with_audit_access
def export_command(
    *,
    access: Access,
    match_id: UUID,
    output: BinaryIO,
) -> None:
    """Write the transcript of MATCH: one file that `durak verify` checks anywhere."""
    output.write(access.ask(lambda source: source.transcript(match_id)))


@click.command("report", short_help="Draw a match as one HTML file, move by move.")
@click.argument("match_id", metavar="[MATCH]", type=click.UUID, required=False)
@click.option("--transcript", type=click.File("rb"), help="Of this file instead, offline.")
@click.option(
    "--key",
    metavar="KEY|FILE",
    envvar="DURAK_VERIFIER_KEY",
    show_envvar=True,
    help="The service's public key. [default: that of the key file, for a match of the database]",
)
@_OUTPUT
@with_audit_access
def report_command(
    *,
    access: Access,
    match_id: UUID | None,
    transcript: BinaryIO | None,
    key: str | None,
    output: BinaryIO,
) -> None:
    """Draw a match as one HTML file: the table move by move, and what the audit found.

    It shows every hand: keep it from players while the match runs.
    """
    if (match_id is None) == (transcript is None):
        raise click.UsageError("name a match, or --transcript FILE")
    public_key = None if key is None else read_key(key)
    if match_id is not None:
        wanted = match_id
        data = access.ask(lambda source: source.transcript(wanted))
        public_key = public_key or _own_key(access.data_dir)
    else:
        assert transcript is not None
        data = transcript.read()
    try:
        page = report(data, public_key, access.language)
    except NoTranscriptError as error:
        raise click.ClickException(f"not a transcript: {error}") from error
    output.write(page.encode())


def _own_key(data_dir: Path | None) -> str | None:
    """The newest public key of the key file, where there is one."""
    try:
        return str(signing_keys.read(load_config(data_dir).note_key_file)[0].verifier)
    except NoteKeyError:
        return None
