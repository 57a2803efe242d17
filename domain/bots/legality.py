"""Finds illegal plays on tricky tables (R11.1) from the open cards alone."""

from collections.abc import Sequence

from domain.cards import BEATERS, BIT_OF, RANK_OF, Card
from domain.match.move_messages import challenge
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView


def sure_challenge(view: TableView, history: Sequence[Event]) -> Move | None:
    """Return a challenge of the oldest illegal play, or None if there is none."""
    illegal = illegal_plays(view, history)
    return challenge(illegal[0]) if illegal else None


def illegal_plays(view: TableView, history: Sequence[Event]) -> list[int]:
    """Return the versions of the illegal plays that the viewer may challenge, oldest first.

    ``history`` holds all events of the match up to the view, so that the event of version n is
    ``history[n - 1]``.
    """
    plays = _plays(view)
    may_challenge = view.moves.challenge
    return [version for version in may_challenge if _is_illegal(history, version, plays, view)]


def _plays(view: TableView) -> list[tuple[int, Card]]:
    """Return (version, card) for each card on the table, in the order of play."""
    plays = [(pair.attack_version, pair.attack_card) for pair in view.table]
    plays += [(pair.defence.version, pair.defence.card) for pair in view.table if pair.defence.card]
    return sorted(plays)


def _is_illegal(
    history: Sequence[Event], version: int, plays: list[tuple[int, Card]], view: TableView
) -> bool:
    event = history[version - 1]
    before = [card for play_version, card in plays if play_version < version]
    match event.WhichOneof("kind"):
        case "attacked":
            ranks = {RANK_OF[card] for card in before}
            return bool(before) and RANK_OF[event.attacked.card] not in ranks  # R4.1, R5.1
        case "defended":
            beaters = BEATERS[view.trump_suit - 1][event.defended.attack_card]
            return not beaters & BIT_OF[event.defended.card]  # R1.3
        case "transferred":
            # R6.1: no card may be beaten before, and the card must have the rank led.
            beaten = any(0 < pair.defence.version < version for pair in view.table)
            return beaten or RANK_OF[event.transferred.card] != RANK_OF[before[0]]
        case _:
            return False
