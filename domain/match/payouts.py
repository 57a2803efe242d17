"""The result of a match: places and shares of the bank (R9, R12).

Three seats with a stake of 10 play to the end. Seat 2 went out first, seat 0 second, and seat 1 is
the durak:

>>> result = MatchResult(OUTCOME_PLAYED_OUT, durak=1)
>>> bank_shares(10, taken=[0, 1, 2], result=result, places=[(1, 2), (2, 0)])
{0: 10, 1: 0, 2: 20}
"""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from domain.match.table import Table
from durak.v1.events_pb2 import (
    OUTCOME_ABANDONED,
    OUTCOME_DRAW,
    OUTCOME_PLAYED_OUT,
    Finished,
    Outcome,
    SeatResult,
)


class MatchResult(NamedTuple):
    """The end of a match. ``durak`` and ``leaver`` are seats, or -1 for no seat.

    ``prevented_by`` are the seats that prevented the deal (R3.6).
    """

    outcome: Outcome.ValueType
    durak: int = -1
    leaver: int = -1
    prevented_by: tuple[int, ...] = ()


def finished_event(
    table: Table, result: MatchResult, places: Sequence[tuple[int, int]]
) -> Finished:
    """Return the `Finished` event of a result.

    ``places`` has (place, seat) for each seat that went out, in the order of R12.4: by place, and
    for a shared place in the drawing order of its bout.
    """
    taken = [seat for seat, occupant in enumerate(table.seats) if occupant is not None]
    shares = bank_shares(table.settings.stake_coins, taken, result, places)
    place_of = _places(taken, result, places)
    return Finished(
        outcome=result.outcome,
        results=[
            SeatResult(seat=seat, place=place_of.get(seat), share_coins=shares[seat])
            for seat in taken
        ],
        durak=result.durak if result.durak >= 0 else None,
        leaver=result.leaver if result.leaver >= 0 else None,
        server_seed=table.server_seed,
        prevented_by=result.prevented_by,
    )


def _places(
    taken: Sequence[int], result: MatchResult, places: Sequence[tuple[int, int]]
) -> dict[int, int]:
    """Return the place by seat. Empty if the outcome is not a card result (R9.6)."""
    if result.outcome not in (OUTCOME_PLAYED_OUT, OUTCOME_DRAW):
        return {}
    place_of = {seat: place for place, seat in places}
    last = len(places) + 1  # of the durak, or of all seats in play if R9.5 ends the match
    return {seat: place_of.get(seat, last) for seat in taken}


def bank_shares(
    stake: int, taken: Sequence[int], result: MatchResult, places: Sequence[tuple[int, int]]
) -> dict[int, int]:
    """Return the coins that each seat gets back.

    The sum is always the bank, ``stake * len(taken)``.

    Args:
        stake: coins per seat, 0 for a free table.
        taken: the seats that are taken.
        result: the end of the match.
        places: as for `finished_event`.
    """
    if not stake:
        return dict.fromkeys(taken, 0)
    if result.outcome == OUTCOME_PLAYED_OUT:
        return _shares_by_place(stake * len(taken), taken, places)
    if result.outcome == OUTCOME_ABANDONED:
        return _shares_of_abandoned(stake, taken, result.leaver)
    return dict.fromkeys(taken, stake)  # R12.5


def _shares_by_place(
    bank: int, taken: Sequence[int], places: Sequence[tuple[int, int]]
) -> dict[int, int]:
    last = len(taken)
    weights = sum(range(1, last))
    share = [bank * (last - place) // weights for place in range(1, last)]
    share[0] += bank - sum(share)  # R12.3: the coins left over by rounding
    shares = dict.fromkeys(taken, 0)
    for place, group in groupby(places, key=itemgetter(0)):
        seats = [seat for _, seat in group]
        pool = sum(share[place - 1 : place - 1 + len(seats)])
        _split(pool, seats, shares)  # R12.4
    return shares


def _shares_of_abandoned(stake: int, taken: Sequence[int], leaver: int) -> dict[int, int]:
    others = [seat for seat in sorted(taken) if seat != leaver]
    shares = dict.fromkeys(taken, stake)
    shares[leaver] = 0
    _split(stake, others, shares)  # R12.6
    return shares


def _split(pool: int, seats: Sequence[int], shares: dict[int, int]) -> None:
    """Split a pool evenly. The first seats get the odd coins, one each."""
    even, odd = divmod(pool, len(seats))
    for at, seat in enumerate(seats):
        shares[seat] += even + (1 if at < odd else 0)
