"""`durak audit export` and `report`: a match as a transcript file or an HTML file."""

from pathlib import Path
from typing import BinaryIO
from uuid import UUID

import click

from service.checkpoints import signing_keys
from service.checkpoints.signing_keys import NoteKeyError
from service.cli.audit.source import Access, with_audit_access
from service.cli.exits import CommandError
from service.cli.options import MATCH, load_config
from service.cli.output_file import OUTPUT, write_output
from service.cli.verify import read_key
from service.report.page import NoTranscriptError, render_report


@click.command("export")
@MATCH
@OUTPUT
@with_audit_access
def export_command(*, access: Access, match_id: UUID, output: Path | None) -> None:
    """Write the transcript of MATCH, for `durak verify`."""
    write_output(output, access.query(lambda source: source.transcript(match_id)))


@click.command("report", short_help="Write a match as an HTML file.")
@click.argument("match_id", metavar="[MATCH]", type=click.UUID, required=False)
@click.option("--transcript", type=click.File("rb"), help="Transcript file to draw instead.")
@click.option(
    "--key",
    metavar="KEY|FILE",
    envvar="DURAK_VERIFIER_KEY",
    help="Public key of the service, or a file with it.  "
    "[env var: DURAK_VERIFIER_KEY; default for MATCH: the key in the data folder]",
)
@OUTPUT
@with_audit_access
def report_command(
    *,
    access: Access,
    match_id: UUID | None,
    transcript: BinaryIO | None,
    key: str | None,
    output: Path | None,
) -> None:
    """Write a match as an HTML file: the table move by move, with the findings of the audit.

    The file shows every hand. Do not give it to players during the match.
    """
    public_key = None if key is None else read_key(key)
    if match_id is not None and transcript is None:
        data = access.query(lambda source: source.transcript(match_id))
        public_key = public_key or _own_key(access.data_dir)
    elif match_id is None and transcript is not None:
        data = transcript.read()
    else:
        raise click.UsageError("give either MATCH or --transcript")
    try:
        page = render_report(data, public_key, access.language)
    except NoTranscriptError as error:
        raise CommandError(f"not a transcript: {error}") from error
    write_output(output, page.encode())


def _own_key(data_dir: Path | None) -> str | None:
    """Return the newest public key of the key file; None if there is no usable key file."""
    try:
        return str(signing_keys.read(load_config(data_dir).note_key_file)[0].verifier)
    except NoteKeyError:
        return None
