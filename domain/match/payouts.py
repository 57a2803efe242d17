"""What a match comes to: places and shares of the bank (R9, R12)."""

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
    """How a match ended; ``durak`` and ``leaver`` are seats, -1 where there is none."""

    outcome: Outcome.ValueType
    durak: int = -1
    leaver: int = -1


def finished_event(
    table: Table, result: MatchResult, places: Sequence[tuple[int, int]]
) -> Finished:
    """The `Finished` event of a result.

    ``places`` are (place, seat) of the seats that went out, in the order of R12.4: by place, seats
    that share one in the drawing order of their bout.
    """
    taken = [seat for seat, occupant in enumerate(table.seats) if occupant is not None]
    shares = bank_shares(table.settings.stake_coins, taken, result, places)
    place_of = _places(taken, result, places)
    return Finished(
        outcome=result.outcome,
        results=[
            SeatResult(seat=seat, place=place_of.get(seat, 0), share_coins=shares[seat])
            for seat in taken
        ],
        durak=result.durak if result.durak >= 0 else None,
        leaver=result.leaver if result.leaver >= 0 else None,
        server_seed=table.server_seed,
    )


def _places(
    taken: Sequence[int], result: MatchResult, places: Sequence[tuple[int, int]]
) -> dict[int, int]:
    """Seat to place. Empty where the match was no card result (R9.6)."""
    if result.outcome not in (OUTCOME_PLAYED_OUT, OUTCOME_DRAW):
        return {}
    place_of = {seat: place for place, seat in places}
    last = len(places) + 1  # the durak's, or shared by those in play when R9.5 ends the match
    return {seat: place_of.get(seat, last) for seat in taken}


def bank_shares(
    stake: int, taken: Sequence[int], result: MatchResult, places: Sequence[tuple[int, int]]
) -> dict[int, int]:
    """Coins that each seat gets back; they always sum to the bank, ``stake * len(taken)``."""
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
    share[0] += bank - sum(share)  # R12.3: what rounding leaves over
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
    """Split a pool evenly; the odd coins go one each to the first of these seats."""
    even, odd = divmod(pool, len(seats))
    for at, seat in enumerate(seats):
        shares[seat] += even + (1 if at < odd else 0)
