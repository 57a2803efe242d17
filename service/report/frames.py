"""The table after each record of a match, with all cards, and what the record tells."""

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
    """One record: the heading of the bout that it opens, if any, its lines, and the table after it.

    `table` is made for JSON and is None where the records up to this one make no match; `card` is
    the card that is played, 0 where none is.
    """

    version: int
    bout: str
    lines: list[str]
    table: dict[str, Any] | None
    card: int


def frames(stored: Iterable[bytes], translate: Translate) -> Iterator[Frame]:
    """A frame for each record. Never raises.

    From where the records make no match on, each is told without a table: as the story goes, or as
    it stands where that cannot go on.
    """
    match: Match | None = Match()
    narrator = Narrator(translate)
    for version, data in enumerate(stored, start=1):
        record = _read(data)
        match = _applied(match, record)
        bout, lines = ("", [data.hex()]) if record is None else _told(narrator, record)
        card = 0 if record is None else _card(record.event)
        yield Frame(version, bout, lines, None if match is None else table(match), card)


def table(match: Match) -> dict[str, Any]:
    """The table with all cards: short names, since there is one for each record."""
    plays = match.phase == PHASE_PLAYING
    return {
        "hands": [sort_by_strength(cards_in(hand), match.trump_suit) for hand in match.hands],
        "table": [[card, match.beaten_by.get(card, 0)] for card in match.attacks],
        "trump": match.trump_card,
        "stock": match.stock[::-1],
        "discard": match.discard.bit_count(),
        "attacker": match.attacker if plays else -1,
        "defender": match.defender if plays else -1,
        "clock": seats_in(match.on_clock()) if plays else [],
        "passed": seats_in(match.passed),
        "taking": match.taking,
        "places": [[seat, place] for place, seat in match.places],
    }


def _read(data: bytes) -> Record | None:
    try:
        return Record.FromString(data)
    except DecodeError:
        return None


def _applied(match: Match | None, record: Record | None) -> Match | None:
    if match is None or record is None:
        return None
    try:
        match.apply(record)
    except CorruptLogError:
        return None
    return match


def _told(narrator: Narrator, record: Record) -> tuple[str, list[str]]:
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
