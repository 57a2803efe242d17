"""`durak matches`, `show`, `replay` and `export`: what the log says of a match.

They read the database itself, past all roles: they are for whoever runs the service.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import click

from domain.match.fold import CorruptLogError, Match, fold
from domain.match.view import redact, table_view
from durak.v1.events_pb2 import Record
from durak.v1.match_service_pb2 import MatchSummary
from durak.v1.table_pb2 import PHASE_PLAYING, PHASE_WAITING, Phase
from eventstore import StoredRecord, first_hash
from eventstore.read_models.lobby import ListedMatch
from service.cli.audit.records import record_line
from service.cli.database import open_store
from service.cli.options import LANGUAGE, STORE_DATA, load_config
from service.cli.terminal import new_console
from service.config import Config
from service.judging.messages import open_state, record_message
from service.matches.records import read_records
from service.render.cards import colour_cards
from service.render.narration import Narrator
from service.render.table import open_table_lines, seat_names, table_lines, trump_suit
from service.render.texts import settings_line, translator

_Command = TypeVar("_Command", bound=Callable[..., Any])

_MATCH: Final = click.argument("match_id", metavar="MATCH", type=click.UUID)
_AT: Final = click.option(
    "--at", type=click.IntRange(1), help="Stop at this version instead of the last."
)


def _viewer(command: _Command) -> _Command:
    """Options for whose eyes to see through; without them all cards are open."""
    seat = click.option("--as", "seat", type=click.IntRange(0, 5), help="As this seat sees it.")
    return seat(click.option("--spectator", is_flag=True, help="As a spectator sees it.")(command))


@dataclass(frozen=True, slots=True)
class Log:
    """The records of one match as stored, and as read, up to the version asked for."""

    stored: Sequence[StoredRecord]
    records: Sequence[Record]

    def fold(self, seat: int | None) -> Match:
        """The match that they make. `seat` must be one of its seats, or None."""
        try:
            match = fold(self.records)
        except CorruptLogError as error:
            raise click.ClickException(f"the log is corrupt: {error}") from error
        if seat is not None and seat >= len(match.table.seats):
            raise click.ClickException(f"the table has {len(match.table.seats)} seats only")
        return match


def _read(match_id: UUID, at: int | None, data_dir: Path | None) -> Log:
    stored = asyncio.run(_stored(load_config(data_dir), match_id))
    if not stored:
        raise click.ClickException(f"there is no match {match_id} in this database")
    if at is not None and at > len(stored):
        raise click.ClickException(f"the match has {len(stored)} versions only")
    try:
        records = read_records(stored, first_hash(match_id))
    except CorruptLogError as error:
        raise click.ClickException(f"the log is corrupt: {error}") from error
    return Log(stored[:at], records[:at])


async def _stored(config: Config, match_id: UUID) -> list[StoredRecord]:
    async with open_store(config) as store:
        return await store.read(match_id)


@click.command()
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@STORE_DATA
@LANGUAGE
def matches(limit: int, data_dir: Path | None, language: str) -> None:
    """List the matches of the database, newest first."""
    translate = translator(language)
    for row in asyncio.run(_listed(load_config(data_dir), limit)):
        match = MatchSummary.FromString(row.summary)
        phase = translate(
            "match-phase", phase=Phase.Name(match.phase).removeprefix("PHASE_").lower()
        )
        players = seat_names(match.seats, translate).join(seat.seat for seat in match.seats)
        opened = f"{row.opened_at.astimezone():%Y-%m-%d %H:%M}"
        settings = settings_line(match.settings, translate)
        click.echo(f"{row.match_id}  {opened}  {phase:8}  {players}  ({settings})")


async def _listed(config: Config, limit: int) -> list[ListedMatch]:
    async with open_store(config) as store:
        return await store.lobby.list_matches(limit=limit)


@click.command()
@_MATCH
@_AT
@_viewer
@STORE_DATA
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
    """Show the table of MATCH at a version, with all hands unless told otherwise."""
    match = _read(match_id, at, data_dir).fold(seat)
    view = table_view(match, None if spectator else seat)
    translate, trumps = translator(language), trump_suit(view)
    settings = settings_line(view.settings, translate)
    lines = [translate("table-match", match=view.match_id, version=view.version, settings=settings)]
    if seat is None and not spectator:
        lines += open_table_lines(open_state(match), translate)
    else:
        lines += table_lines(view, translate)
    _print(lines, trumps)


@click.command()
@_MATCH
@_AT
@_viewer
@STORE_DATA
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
    """Tell MATCH move by move and bout by bout, with all cards unless told otherwise."""
    log = _read(match_id, at, data_dir)
    match = log.fold(seat)
    translate = translator(language)
    narrator = Narrator(translate)
    lines = []
    for record in log.records:
        event = record.event
        if spectator or seat is not None:
            event = redact(event, None if spectator else seat, match.trump_card)
        lines += narrator.transcript(event)
    if match.phase in (PHASE_WAITING, PHASE_PLAYING):
        lines += ["", *table_lines(table_view(match, None if spectator else seat), translate)]
    _print(lines, narrator.trump_suit)


def _print(lines: Sequence[str], trumps: int) -> None:
    console = new_console()
    for line in lines:
        console.print(colour_cards(line, trumps))


@click.command()
@_MATCH
@_AT
@STORE_DATA
def export(match_id: UUID, at: int | None, data_dir: Path | None) -> None:
    """Write the stored records of MATCH as JSON lines.

    Each line has the version, the hash of the chain (hex), the record's bytes as stored (base64),
    and the record itself in the JSON mapping of Protobuf.
    """
    for stored in _read(match_id, at, data_dir).stored:
        click.echo(json.dumps(record_line(record_message(stored)), ensure_ascii=False))
