"""What was illegal among the plays of a bout on a tricky table (R11.1), from open cards alone."""

from collections.abc import Sequence

from domain.cards import BEATERS, BIT_OF, RANK_OF, Card
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import TableView


def illegal_plays(view: TableView, history: Sequence[Event]) -> list[int]:
    """The versions of the illegal plays that this seat may challenge, the oldest first.

    ``history`` are all events of the match up to the view, so the event of version n is
    ``history[n - 1]``.
    """
    laid = _laid(view)
    may_challenge = view.moves.challenge
    return [version for version in may_challenge if _is_illegal(history, version, laid, view)]


def _laid(view: TableView) -> list[tuple[int, Card]]:
    """(version, card) for each card on the table, in the order of play."""
    laid = [(card.attack_version, card.attack_card) for card in view.table]
    laid += [(card.defence.version, card.defence.card) for card in view.table if card.defence.card]
    return sorted(laid)


def _is_illegal(
    history: Sequence[Event], version: int, laid: list[tuple[int, Card]], view: TableView
) -> bool:
    event = history[version - 1]
    before = [card for laid_version, card in laid if laid_version < version]
    match event.WhichOneof("kind"):
        case "attacked":
            ranks = {RANK_OF[card] for card in before}
            return bool(before) and RANK_OF[event.attacked.card] not in ranks  # R4.1, R5.1
        case "defended":
            beaters = BEATERS[view.trump_suit - 1][event.defended.attack_card]
            return not beaters & BIT_OF[event.defended.card]  # R1.3
        case "transferred":
            # R6.1: nothing beaten before, and the rank led.
            beaten = any(0 < card.defence.version < version for card in view.table)
            return beaten or RANK_OF[event.transferred.card] != RANK_OF[before[0]]
        case _:
            return False
