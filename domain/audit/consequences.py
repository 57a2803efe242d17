"""Consequences: the events that the rules force, one type of plain values for each kind.

`domain.audit.state` derives the next one from the rules, and `read_consequence` reads one from the
log. The log is right where the two are equal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from domain.audit.deck import Deal, labels
from domain.audit.records import Entry
from domain.audit.score import Score
from durak.v1.events_pb2 import (
    TOOK_REASON_CHEAT,
    TOOK_REASON_DECLARED,
    TOOK_REASON_FALSE_ACCUSATION,
    Dealt,
    Discarded,
    Drew,
    Took,
    WentOut,
)

_REASONS: Final[Mapping[int, str]] = MappingProxyType(
    {
        TOOK_REASON_DECLARED: "declared",
        TOOK_REASON_CHEAT: "caught cheating",
        TOOK_REASON_FALSE_ACCUSATION: "accused falsely",
    }
)


@dataclass(frozen=True, slots=True)
class UnknownDeal:
    """A deal that cannot be derived: no seed in the log fits the published hash."""

    def __str__(self) -> str:
        return "dealt"


@dataclass(frozen=True, slots=True)
class Discard:
    """The table goes to the discard pile (R7.1)."""

    cards: list[int]

    def __str__(self) -> str:
        return f"discarded {labels(self.cards)}"


@dataclass(frozen=True, slots=True)
class PickUp:
    """A seat picks up the table (R7.2, R11.4)."""

    seat: int
    cards: list[int]
    reason: int
    """`TookReason` by number."""

    def __str__(self) -> str:
        why = _REASONS.get(self.reason, f"reason {self.reason}")
        return f"seat {self.seat} took {labels(self.cards)} ({why})"


class SeatDraw(NamedTuple):
    """The cards that one seat draws, in order."""

    seat: int
    cards: list[int]


@dataclass(frozen=True, slots=True)
class Draws:
    """Hands are filled from the stock, in drawing order (R8)."""

    draws: list[SeatDraw]

    def __str__(self) -> str:
        return "drew: " + "; ".join(f"seat {it.seat} {labels(it.cards)}" for it in self.draws)


@dataclass(frozen=True, slots=True)
class GoingOut:
    """Seats without cards are out, once the stock is empty (R9.1, R9.2)."""

    seats: list[int]
    place: int

    def __str__(self) -> str:
        return f"seats {', '.join(map(str, self.seats))} went out on place {self.place}"


Consequence = Deal | Discard | PickUp | Draws | GoingOut | Score


KIND_OF: Final[Mapping[type[Consequence | UnknownDeal], str]] = MappingProxyType(
    {
        UnknownDeal: "dealt",
        Deal: "dealt",
        Discard: "discarded",
        PickUp: "took",
        Draws: "drew",
        GoingOut: "went_out",
        Score: "finished",
    }
)
"""The names of these events in the contract. mypyc supports no class variables of data classes."""
KINDS: Final = frozenset(KIND_OF.values())


class Expected(NamedTuple):
    """The consequence that must be the next event, and the rule that forces it."""

    clause: str
    event: Consequence | UnknownDeal


def read_consequence(entry: Entry) -> Consequence:
    """Return the consequence that an entry of the log holds. Its kind must be one of `READERS`."""
    return READERS[entry.kind](entry.body)


def _deal(body: Dealt) -> Deal:
    hands = [list[int](hand.cards) for hand in body.hands]
    return Deal(hands, body.trump_card, list(body.stock), body.first_attacker)


def _discard(body: Discarded) -> Discard:
    return Discard(list(body.cards))


def _pick_up(body: Took) -> PickUp:
    return PickUp(body.seat, list(body.cards), body.reason)


def _draws(body: Drew) -> Draws:
    return Draws([SeatDraw(draw.seat, list(draw.cards)) for draw in body.draws])


def _going_out(body: WentOut) -> GoingOut:
    return GoingOut(list(body.seats), body.place)


READERS: Final[Mapping[str, Callable[[Any], Consequence]]] = MappingProxyType(
    {
        "dealt": _deal,
        "discarded": _discard,
        "took": _pick_up,
        "drew": _draws,
        "went_out": _going_out,
    }
)
"""By the names in the contract. The result is read by `Comparison.judge_result`."""
