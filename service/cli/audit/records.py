"""`durak audit records` and `state`: the stored records of a match, and its table."""

import base64
import json
from uuid import UUID

import click
from google.protobuf.json_format import MessageToDict

from durak.v1 import audit_service_pb2 as api
from service.cli.audit.source import Access, with_audit_access
from service.cli.options import AT_VERSION, MATCH
from service.render.table import open_table_lines
from service.render.texts import translator


@click.command("records", short_help="Print the stored records of a match as JSON.")
@MATCH
@with_audit_access
def records_command(*, access: Access, match_id: UUID) -> None:
    """Print the stored records of MATCH, one JSON object on a line.

    Each has the version, the chain hash (hex), the stored bytes (base64), and the record in the
    JSON mapping of Protobuf.
    """
    for stored in access.query(lambda source: source.records(match_id)):
        click.echo(json.dumps(record_json(stored), ensure_ascii=False))


def record_json(stored: api.StoredRecord) -> dict[str, object]:
    """Return a stored record for JSON. `record` is null if the bytes cannot be parsed."""
    has_record = stored.HasField("record")
    return {
        "version": stored.version,
        "hash": stored.hash.hex(),
        "bytes": base64.b64encode(stored.stored).decode(),
        "record": MessageToDict(stored.record, preserving_proto_field_name=True)
        if has_record
        else None,
    }


@click.command("state")
@MATCH
@AT_VERSION
@with_audit_access
def state_command(*, access: Access, match_id: UUID, at: int | None) -> None:
    """Show the table of MATCH at a version, with all hands and the stock."""
    state = access.query(lambda source: source.state(match_id, at or 0))
    click.echo("\n".join(open_table_lines(state, translator(access.language))))
    for version in state.illegal_play_versions:
        click.echo(f"illegal play of this bout: version {version}")
