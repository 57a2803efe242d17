"""Outcome, places and shares of a match (R9, R12.3 to R12.6), counted coin by coin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from durak.v1.events_pb2 import (
    OUTCOME_ABANDONED,
    OUTCOME_CANCELLED,
    OUTCOME_DRAW,
    OUTCOME_PLAYED_OUT,
)


@dataclass(frozen=True, slots=True)
class Score:
    """The result of a match. ``places`` and ``shares`` are by seat, for the seats taken.

    A place is None if the match was cancelled or abandoned.
    """

    outcome: int
    durak: int | None
    leaver: int | None
    places: Mapping[int, int | None]
    shares: dict[int, int]
    prevented_by: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Name the event; its parts are compared one by one."""
        return "finished"


def cancelled(stake: int, seats: Sequence[int], prevented_by: Sequence[int] = ()) -> Score:
    """R9.6, R12.5: every seat taken gets its stake back.

    ``prevented_by`` are the seats that prevented the deal (R3.6).
    """
    shares = dict.fromkeys(seats, stake)
    places = dict.fromkeys(seats)
    return Score(OUTCOME_CANCELLED, None, None, places, shares, tuple(prevented_by))


def abandoned(stake: int, seats: Sequence[int], leaver: int) -> Score:
    """R12.6: the other seats get their own stake back, and the leaver's stake is split."""
    stayed = sorted(seat for seat in seats if seat != leaver)
    shares = {leaver: 0, **dict.fromkeys(stayed, stake)}
    _split(stake, stayed, shares)
    return Score(OUTCOME_ABANDONED, None, leaver, dict.fromkeys(seats), shares)


def settled(
    stake: int, seats: Sequence[int], went_out: Sequence[Sequence[int]], left: Sequence[int]
) -> Score:
    """Return a card result (R9.2 to R9.5).

    Args:
        stake: coins per seat.
        seats: all seats of the table.
        went_out: the seats that are out, by bout, each bout in its drawing order (R12.4).
        left: the seats still in play: one is the durak, none or several make a draw.
    """
    places: dict[int, int] = {}
    for group in went_out:
        place = len(places) + 1
        places.update(dict.fromkeys(group, place))
    last = len(places) + 1
    places.update(dict.fromkeys(left, last))
    if len(left) == 1:
        shares = _shares_by_place(stake * len(seats), len(seats), went_out)
        shares[left[0]] = 0
        return Score(OUTCOME_PLAYED_OUT, left[0], None, places, shares)
    return Score(OUTCOME_DRAW, None, None, places, dict.fromkeys(seats, stake))


def _shares_by_place(bank: int, seats: int, went_out: Sequence[Sequence[int]]) -> dict[int, int]:
    weights = list(range(seats - 1, 0, -1))  # R12.3: n - 1 for the first place ... 1
    shares_of_places = [bank * weight // sum(weights) for weight in weights]
    shares_of_places[0] = bank - sum(shares_of_places[1:])
    shares: dict[int, int] = {}
    for group in went_out:
        pool = sum(shares_of_places[len(shares) : len(shares) + len(group)])
        shares.update(dict.fromkeys(group, 0))
        _split(pool, group, shares)
    return shares


def _split(coins: int, seats: Sequence[int], shares: dict[int, int]) -> None:
    """Add coins evenly to the shares of these seats; odd coins go to the first ones."""
    for at, seat in enumerate(seats):
        shares[seat] += (coins - at + len(seats) - 1) // len(seats)
