"""`durak matches`, `show`, `replay` and `export`: matches read from the database itself.

These commands check no role, so they are for operators.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import click

from domain.match.fold import CorruptLogError, Match, fold
from domain.match.view import redact, table_view
from durak.v1.events_pb2 import Record
from durak.v1.match_service_pb2 import MatchSummary
from durak.v1.table_pb2 import PHASE_ENDED, Phase
from eventstore import StoredRecord, first_hash
from eventstore.read_models.lobby import ListedMatch
from service.cli.audit.records import record_json
from service.cli.database import open_store
from service.cli.exits import CommandError
from service.cli.options import AT_VERSION, DATA_DIR, LANGUAGE, MATCH, load_config, with_options
from service.cli.terminal import new_console, print_fields
from service.config import Config
from service.judging.messages import open_state, record_message
from service.render.cards import colour_cards
from service.render.narration import Narrator
from service.render.table import open_table_lines, seat_names, table_lines, trump_suit
from service.render.texts import settings_line, translator
from service.stored_records import read_records
from service.text.localisation import Translate

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _viewer_options(command: _Command) -> _Command:
    """Add the options for the viewer. Without them, all cards are shown."""
    return with_options(
        click.option(
            "--as",
            "seat",
            metavar="SEAT",
            type=click.IntRange(0, 5),
            help="Show what this seat sees.",
        ),
        click.option("--spectator", is_flag=True, help="Show what a spectator sees."),
    )(command)


@dataclass(frozen=True, slots=True)
class Log:
    """The records of a match up to a version, stored and parsed."""

    stored: Sequence[StoredRecord]
    records: Sequence[Record]

    def fold(self, seat: int | None) -> Match:
        """Return the match. Raises CommandError if the log is corrupt or has no such seat."""
        try:
            match = fold(self.records)
        except CorruptLogError as error:
            raise CommandError(f"the log is corrupt: {error}") from error
        if seat is not None and seat >= len(match.table.seats):
            raise CommandError(f"the table has {len(match.table.seats)} seats, so no seat {seat}")
        return match


def _read(match_id: UUID, at: int | None, data_dir: Path | None) -> Log:
    stored = asyncio.run(_stored(load_config(data_dir), match_id))
    if not stored:
        raise CommandError(f"there is no match {match_id} in this database")
    if at is not None and at > len(stored):
        raise CommandError(f"the match has no version {at}: the last is {len(stored)}")
    try:
        records = read_records(stored, first_hash(match_id))
    except CorruptLogError as error:
        raise CommandError(f"the log is corrupt: {error}") from error
    return Log(stored[:at], records[:at])


async def _stored(config: Config, match_id: UUID) -> list[StoredRecord]:
    async with open_store(config) as store:
        return await store.read(match_id)


@click.command()
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="Number of matches to list.",
)
@DATA_DIR
@LANGUAGE
def matches(limit: int, data_dir: Path | None, language: str) -> None:
    """List the matches of the database, newest first."""
    translate = translator(language)
    console = new_console()
    for listed in asyncio.run(_list(load_config(data_dir), limit)):
        print_fields(console, _summary_fields(listed, translate))


async def _list(config: Config, limit: int) -> list[ListedMatch]:
    async with open_store(config) as store:
        return await store.lobby.list_matches(limit=limit)


def _summary_fields(listed: ListedMatch, translate: Translate) -> list[str]:
    match = MatchSummary.FromString(listed.summary)
    phase = Phase.Name(match.phase).removeprefix("PHASE_").lower()
    return [
        str(listed.match_id),
        f"{listed.opened_at.astimezone():%Y-%m-%d %H:%M}",
        f"{translate('match-phase', phase=phase):8}",
        seat_names(match.seats, translate).join(seat.seat for seat in match.seats),
        f"({settings_line(match.settings, translate)})",
    ]


@click.command()
@MATCH
@AT_VERSION
@_viewer_options
@DATA_DIR
@LANGUAGE
def show(
    *,
    match_id: UUID,
    at: int | None,
    seat: int | None,
    spectator: bool,
    data_dir: Path | None,
    language: str,
) -> None:
    """Show the table of MATCH at a version, by default with all hands."""
    match = _read(match_id, at, data_dir).fold(seat)
    view = table_view(match, None if spectator else seat)
    translate = translator(language)
    settings = settings_line(view.settings, translate)
    lines = [translate("table-match", match=view.match_id, version=view.version, settings=settings)]
    if seat is None and not spectator:
        lines += open_table_lines(open_state(match), translate)
    else:
        lines += table_lines(view, translate)
    _print(lines, trump_suit(view))


@click.command()
@MATCH
@AT_VERSION
@_viewer_options
@DATA_DIR
@LANGUAGE
def replay(
    *,
    match_id: UUID,
    at: int | None,
    seat: int | None,
    spectator: bool,
    data_dir: Path | None,
    language: str,
) -> None:
    """Print MATCH move by move and bout by bout, by default with all cards."""
    log = _read(match_id, at, data_dir)
    match = log.fold(seat)
    translate = translator(language)
    narrator = Narrator(translate)
    lines = []
    for record in log.records:
        event = record.event
        if spectator or seat is not None:
            event = redact(event, None if spectator else seat, match.trump_card)
        lines += narrator.numbered_lines(event)
    if match.phase != PHASE_ENDED:
        lines += ["", *table_lines(table_view(match, None if spectator else seat), translate)]
    _print(lines, narrator.trump_suit)


def _print(lines: Sequence[str], trumps: int) -> None:
    console = new_console()
    for line in lines:
        console.print(colour_cards(line, trumps))


@click.command()
@MATCH
@AT_VERSION
@DATA_DIR
def export(match_id: UUID, at: int | None, data_dir: Path | None) -> None:
    """Print the stored records of MATCH, one JSON object on a line.

    Each has the version, the chain hash (hex), the stored bytes (base64), and the record in the
    JSON mapping of Protobuf.
    """
    for stored in _read(match_id, at, data_dir).stored:
        click.echo(json.dumps(record_json(record_message(stored)), ensure_ascii=False))
