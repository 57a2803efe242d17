"""Make docs/vectors: matches as their viewers receive them, with the views that must result.

    python -m tests.domain.match.vectors

A client that folds events tests itself with these files (docs/clients.md). The same code makes the
same files.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from google.protobuf.json_format import MessageToDict

from domain.match.fold import Match
from domain.match.view import Viewer, redact, table_view
from durak.v1.match_service_pb2 import MatchEvent
from tests.domain.audit.audit_matches import PlayedMatch, random_match

FOLDER: Final = Path(__file__).resolve().parents[3] / "docs" / "vectors"


class Chosen(NamedTuple):
    """A match of the vectors, by its seed and settings."""

    name: str
    seed: int
    seats: int
    deck: int
    transfer: int = 0
    tricky: int = 0
    stake_coins: int = 0

    def play(self) -> PlayedMatch:
        _, seed, *values = self
        return random_match(seed, **dict(zip(self._fields[2:], values, strict=True)))


CHOSEN: Final = (
    Chosen("podkidnoy-2", seed=149, seats=2, deck=24),
    Chosen("perevodnoy-staked-3", seed=14, seats=3, deck=36, transfer=1, stake_coins=50),
    Chosen("tricky-4", seed=27, seats=4, deck=36, tricky=1),
    Chosen("left-6", seed=35, seats=6, deck=52, transfer=1),
)
VIEWERS: Final[tuple[tuple[str, Viewer], ...]] = (("seat-0", 0), ("spectator", None))


def files() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file."""
    for chosen in CHOSEN:
        for label, viewer in VIEWERS:
            yield f"{chosen.name}-{label}.json", _text(chosen, viewer)


def _text(chosen: Chosen, viewer: Viewer) -> str:
    """Return a file with one step a line, so that differences are easy to read."""
    lines = (json.dumps(step, separators=(",", ":")) for step in _steps(chosen, viewer))
    head = json.dumps({"viewer": viewer})[1:-1]
    return f'{{{head},"steps":[\n' + ",\n".join(lines) + "\n]}\n"


def _steps(chosen: Chosen, viewer: Viewer) -> Iterator[dict[str, Any]]:
    """Yield each event, with the view after the first event of each kind and after the last."""
    records = chosen.play().records
    match, seen = Match(), set[str | None]()
    for record in records:
        match.apply(record)
        event = redact(record.event, viewer, match.trump_card)
        sent = MatchEvent(version=record.version, event_time=record.event_time, event=event)
        step = {"event": MessageToDict(sent)}
        kind = event.WhichOneof("kind")
        if kind not in seen or record is records[-1]:
            step["view"] = MessageToDict(table_view(match, viewer))
        seen.add(kind)
        yield step


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in files():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
