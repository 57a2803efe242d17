"""`durak show`, `replay` and `export`: what the log says of a match.

They read the database itself, past all roles: they are for whoever runs the service.
"""

import asyncio
import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import click
from google.protobuf.json_format import MessageToDict

from domain.cards import cards_in
from domain.match import Match
from domain.view import Viewer, redact, table_view
from durak.v1.events_pb2 import Record
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_PLAYING, Phase, TableView
from eventstore import StoredRecord, first_hash
from service.cli.database import opened_store
from service.cli.text import (
    card_text,
    cards_text,
    names_of,
    result_text,
    settings_text,
    transcript_line,
)
from service.config import Config
from service.records import read_records

_MATCH: Final = click.argument("match_id", metavar="MATCH", type=click.UUID)
_AT: Final = click.option(
    "--at", type=click.IntRange(1), help="Stop at this version instead of the last."
)
_DATA: Final = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Data of the embedded Postgres."
)


@dataclass(frozen=True, slots=True)
class Log:
    """The records of one match as stored, and as read."""

    stored: Sequence[StoredRecord]
    records: Sequence[Record]

    def fold(self) -> Match:
        """The match that they make."""
        match = Match()
        for record in self.records:
            match.apply(record)
        return match


def _read(match_id: UUID, at: int | None, data_dir: Path | None) -> Log:
    config = Config() if data_dir is None else Config(data_dir=data_dir)
    stored = asyncio.run(_stored(config, match_id))
    if not stored:
        raise click.ClickException(f"there is no match {match_id} in this database")
    if at is not None and at > len(stored):
        raise click.ClickException(f"the match has {len(stored)} versions only")
    return Log(stored[:at], read_records(stored, first_hash(match_id))[:at])


async def _stored(config: Config, match_id: UUID) -> list[StoredRecord]:
    async with opened_store(config) as store:
        return await store.read(match_id)


@click.command()
@_MATCH
@_AT
@click.option("--as", "seat", type=click.IntRange(0, 5), help="As the player on this seat sees it.")
@click.option("--spectator", is_flag=True, help="As a spectator sees it.")
@_DATA
def show(
    *, match_id: UUID, at: int | None, seat: int | None, spectator: bool, data_dir: Path | None
) -> None:
    """Show the table of MATCH at a version, with all hands unless told otherwise."""
    match = _read(match_id, at, data_dir).fold()
    if seat is not None and seat >= len(match.table.seats):
        raise click.ClickException(f"the table has {len(match.table.seats)} seats only")
    view = table_view(match, seat)
    for line in _table_lines(view):
        click.echo(line)
    for number, hand in enumerate(match.hands):
        if not spectator and seat in (None, number):
            click.echo(f"hand of seat {number}: {cards_text(cards_in(hand))}")
    if not spectator and seat is None and match.stock:
        click.echo(f"stock, next first: {cards_text(reversed(match.stock))}")


def _table_lines(view: TableView) -> list[str]:
    names = names_of(view)
    phase = Phase.Name(view.phase).removeprefix("PHASE_").lower()
    lines = [
        f"match {view.match_id}, version {view.version}, {phase}",
        settings_text(view.settings),
    ]
    for seat, name in zip(view.seats, names, strict=True):
        marks = [f"{seat.card_count} cards"] if view.bout else []
        if view.phase == PHASE_PLAYING:
            marks += ["attacks"] if seat.seat == view.attacker else []
            marks += ["defends"] if seat.seat == view.defender else []
            marks += ["on the clock"] if seat.seat in view.on_clock else []
        marks += ["passed"] if seat.passed else []
        marks += [f"place {seat.place}"] if seat.place else []
        lines.append(f"seat {seat.seat}: {name}{' - ' if marks else ''}{', '.join(marks)}")
    if view.bout:
        lines.append(
            f"bout {view.bout}: trump {card_text(view.trump_card)}, {view.stock_count} in the "
            f"stock, {view.discard_count} discarded, {view.attacks_left} more attack cards allowed"
        )
    for card in view.table:
        beaten = f" beaten by {card_text(card.defence_card)}" if card.defence_card else ""
        lines.append(f"on the table: {card_text(card.attack_card)}{beaten}")
    if view.taking:
        lines.append("the defender takes")
    if view.phase == PHASE_ENDED:
        lines.append(f"result: {result_text(view.result, names)}")
    return lines


@click.command()
@_MATCH
@_AT
@click.option("--as", "seat", type=click.IntRange(0, 5), help="As the player on this seat saw it.")
@click.option("--spectator", is_flag=True, help="As a spectator saw it.")
@_DATA
def replay(
    *, match_id: UUID, at: int | None, seat: int | None, spectator: bool, data_dir: Path | None
) -> None:
    """Tell MATCH move by move, with all cards unless told otherwise."""
    log = _read(match_id, at, data_dir)
    match = log.fold()
    names = names_of(table_view(match, None))
    viewer: Viewer = None if spectator else seat
    for record in log.records:
        event = record.event
        if spectator or seat is not None:
            event = redact(event, viewer, match.trump_card)
        click.echo(transcript_line(record.version, event, names))
    if match.phase != PHASE_ENDED:
        sizes = (
            f"{name} {hand.bit_count()}" for name, hand in zip(names, match.hands, strict=False)
        )
        click.echo(f"cards in hand: {', '.join(sizes)}" if match.hands else "not dealt yet")


@click.command()
@_MATCH
@_AT
@_DATA
def export(match_id: UUID, at: int | None, data_dir: Path | None) -> None:
    """Write the stored records of MATCH as JSON lines.

    Each line has the version, the hash of the chain (hex), the record's bytes as stored (base64),
    and the record itself in the JSON mapping of Protobuf.
    """
    log = _read(match_id, at, data_dir)
    for stored, record in zip(log.stored, log.records, strict=True):
        line = {
            "version": stored.version,
            "hash": stored.hash.hex(),
            "bytes": base64.b64encode(stored.record).decode(),
            "record": MessageToDict(record, preserving_proto_field_name=True),
        }
        click.echo(json.dumps(line, ensure_ascii=False))
