"""The frames of the report: for each record its sentences, and the table after it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.text_format import MessageToString

from domain.cards import cards_in
from domain.match.fold import CorruptLogError, Match
from domain.match.view import seats_in
from durak.v1.events_pb2 import Event, Record
from durak.v1.table_pb2 import PHASE_PLAYING
from service.render.cards import sort_by_strength
from service.render.narration import LineKind, Narrator
from service.render.texts import printable
from service.text.localisation import Translate


@dataclass(frozen=True, slots=True)
class Frame:
    """A record as the report shows it."""

    version: int
    bout: str
    """The heading of the bout that the record opens, or an empty string."""
    lines: list[str]
    table: dict[str, Any] | None
    """The table with all cards, for JSON; None if the records so far do not make a match."""
    card: int
    """The card that is played, or 0."""


def make_frames(stored: Iterable[bytes], translate: Translate) -> Iterator[Frame]:
    """Yield a frame for each record. Never raises.

    Once the records no longer make a match, frames have no table. Their lines are the sentences
    if the narrator can follow, or else the raw text of the record.
    """
    match: Match | None = Match()
    narrator = Narrator(translate)
    for version, data in enumerate(stored, start=1):
        record = _parse(data)
        match = _apply(match, record)
        bout, lines = ("", [data.hex()]) if record is None else _narrate(narrator, record)
        card = 0 if record is None else _card(record.event)
        yield Frame(version, bout, lines, None if match is None else _table_data(match), card)


def _table_data(match: Match) -> dict[str, Any]:
    """Return the table with all cards. The keys are short, since every frame has them."""
    is_playing = match.phase == PHASE_PLAYING
    return {
        "hands": [sort_by_strength(cards_in(hand), match.trump_suit) for hand in match.hands],
        "table": [[card, match.beaten_by.get(card, 0)] for card in match.attacks],
        "trump": match.trump_card,
        "stock": match.stock[::-1],
        "discard": match.discard.bit_count(),
        "attacker": match.attacker if is_playing else -1,
        "defender": match.defender if is_playing else -1,
        "clock": seats_in(match.on_clock()) if is_playing else [],
        "passed": seats_in(match.passed),
        "taking": match.taking,
        "places": [[seat, place] for place, seat in match.places],
    }


def _parse(data: bytes) -> Record | None:
    try:
        return Record.FromString(data)
    except DecodeError:
        return None


def _apply(match: Match | None, record: Record | None) -> Match | None:
    if match is None or record is None:
        return None
    try:
        match.apply(record)
    except CorruptLogError:
        return None
    return match


def _narrate(narrator: Narrator, record: Record) -> tuple[str, list[str]]:
    try:
        lines = narrator.describe(record.event)
    except (LookupError, ValueError, ArithmeticError):
        return "", [printable(MessageToString(record.event, as_one_line=True))]
    bout = "".join(line.text for line in lines if line.kind is LineKind.BOUT)
    return bout, [line.text for line in lines if line.kind is not LineKind.BOUT]


def _card(event: Event) -> int:
    match event.WhichOneof("kind"):
        case "attacked":
            return event.attacked.card
        case "defended":
            return event.defended.card
        case "transferred":
            return event.transferred.card
        case _:
            return 0
