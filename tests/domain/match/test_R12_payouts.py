"""R12 Stakes: the share of each seat. The store takes the stakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest

from domain.match.payouts import MatchResult, bank_shares
from durak.v1.events_pb2 import Outcome
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import dealt

PLAYED_OUT = Outcome.OUTCOME_PLAYED_OUT
STAKES = (1, 2, 7, 100, 999_999_937)


def groupings(seats: Sequence[int]) -> Iterator[list[list[int]]]:
    """Every order in which these seats can go out, with every combination of shared places."""
    if not seats:
        yield []
        return
    for picked in range(1, 1 << len(seats)):
        group = [seat for at, seat in enumerate(seats) if picked >> at & 1]
        for rest in groupings([seat for seat in seats if seat not in group]):
            yield [group, *rest]


def places_of(groups: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """The place of each seat that went out, from the first group to the last."""
    places: list[tuple[int, int]] = []
    for group in groups:
        place = len(places) + 1
        places += [(place, seat) for seat in group]
    return places


def shares(
    stake: int, result: MatchResult, groups: Sequence[Sequence[int]], seats: int
) -> list[int]:
    """The shares by seat."""
    by_seat = bank_shares(stake, range(seats), result, places_of(groups))
    assert sorted(by_seat) == list(range(seats))
    return [by_seat[seat] for seat in range(seats)]


@pytest.mark.parametrize(("seats", "results"), [(2, 2), (3, 9), (4, 52), (5, 375), (6, 3246)])
def test_C20_R12_3_R12_4_for_all_places_the_shares_sum_to_the_bank(
    seats: int, results: int
) -> None:
    count = 0
    for durak in range(seats):
        others = [seat for seat in range(seats) if seat != durak]
        for groups in groupings(others):
            count += 1
            for stake in STAKES:
                for order in (groups, [group[::-1] for group in groups]):
                    got = shares(stake, MatchResult(PLAYED_OUT, durak=durak), order, seats)
                    assert sum(got) == stake * seats
                    assert min(got) >= 0
                    assert got[durak] == 0
                    ahead = [got[seat] for group in order for seat in group]
                    assert ahead == sorted(ahead, reverse=True), "no earlier place gets less"
    # n duraks times the ordered partitions of the others: 1, 3, 13, 75, 541
    assert count == results


def stages(seats: Sequence[int]) -> Iterator[list[list[int]]]:
    """Every order in which some of these seats can have gone out so far."""
    for count in range(len(seats) + 1):
        for out in combinations(seats, count):
            yield from groupings(out)


@pytest.mark.parametrize("seats", [2, 3, 4, 5, 6])
def test_R12_5_draws_and_cancelled_tables_return_every_stake(seats: int) -> None:
    assert shares(7, MatchResult(Outcome.OUTCOME_CANCELLED), [], seats) == [7] * seats
    for groups in stages(range(seats)):
        still_in = seats - sum(map(len, groups))
        # A draw is between the seats that went out last (R9.4) or the seats in play (R9.5).
        if len(groups[-1] if groups and not still_in else range(still_in)) > 1:
            for stake in STAKES:
                draw = shares(stake, MatchResult(Outcome.OUTCOME_DRAW), groups, seats)
                assert draw == [stake] * seats


@pytest.mark.parametrize("taken", [[], [1], [0, 2], [0, 1, 2, 3, 4]])
def test_R12_5_a_cancelled_table_pays_the_seats_that_were_taken(taken: list[int]) -> None:
    assert bank_shares(7, taken, MatchResult(Outcome.OUTCOME_CANCELLED), []) == dict.fromkeys(
        taken, 7
    )


@pytest.mark.parametrize("seats", [2, 3, 4, 5, 6])
def test_R12_6_for_any_leaver_at_any_stage_the_shares_sum_to_the_bank(seats: int) -> None:
    for leaver in range(seats):
        others = [seat for seat in range(seats) if seat != leaver]
        for groups in stages(others):
            for stake in STAKES:
                result = MatchResult(Outcome.OUTCOME_ABANDONED, leaver=leaver)
                got = shares(stake, result, groups, seats)
                assert sum(got) == stake * seats
                assert got[leaver] == 0
                assert min(got[seat] for seat in others) >= stake


@pytest.mark.parametrize(
    ("stake", "groups", "expected"),
    [
        # two seats: the winner takes the bank
        (5, [[1]], [0, 10]),
        # three seats, bank 300, weights 2 1 of 3
        (100, [[0], [1]], [200, 100, 0]),
        # bank 21: 14 and 7
        (7, [[2], [0]], [7, 0, 14]),
        # bank 3: 2 and 1; pooled 3, split 2 and 1, the odd coin to the seat that draws earlier
        (1, [[2, 0]], [1, 0, 2]),
        (1, [[0, 2]], [2, 0, 1]),
        # four seats, bank 400, weights 3 2 1 of 6: 200, 133, 66, and the coin left over: 201
        (100, [[3], [2], [1]], [0, 66, 133, 201]),
        # the second place shared by two: 133 + 66 = 199, 100 and 99
        (100, [[3], [2, 1]], [0, 99, 100, 201]),
        (100, [[3], [1, 2]], [0, 100, 99, 201]),
        # the first place shared by two: 201 + 133 = 334, 167 each; then 66
        (100, [[1, 2], [0]], [66, 167, 167, 0]),
        # all three: 400, split 134 133 133
        (100, [[2, 3, 1]], [0, 133, 134, 133]),
        # five seats, bank 5, weights 4 3 2 1 of 10: 2, 1 (1.5), 1, 0 (0.5), left over 1: 3
        (1, [[0], [1], [2], [3]], [3, 1, 1, 0, 0]),
        # bank 50: 20, 15, 10, 5
        (10, [[4], [0], [3], [1]], [15, 5, 0, 10, 20]),
        # the middle two shared: 15 + 10 = 25, 13 and 12
        (10, [[4], [3, 0], [1]], [12, 5, 0, 13, 20]),
        # six seats, bank 60, weights 5 4 3 2 1 of 15: 20, 16, 12, 8, 4
        (10, [[5], [4], [3], [2], [1]], [0, 4, 8, 12, 16, 20]),
        # bank 42: 14, 11 (11.2), 8 (8.4), 5 (5.6), 2 (2.8): 40, left over 2: 16
        (7, [[0], [1], [2], [3], [4]], [16, 11, 8, 5, 2, 0]),
        # all five share 42: 9 9 8 8 8
        (7, [[4, 3, 2, 1, 0]], [8, 8, 8, 9, 9, 0]),
    ],
)
def test_R12_3_R12_4_values_worked_out_by_hand(
    stake: int, groups: list[list[int]], expected: list[int]
) -> None:
    out = {seat for group in groups for seat in group}
    (durak,) = set(range(len(expected))) - out
    assert shares(stake, MatchResult(PLAYED_OUT, durak=durak), groups, len(expected)) == expected


@pytest.mark.parametrize(
    ("stake", "leaver", "expected"),
    [
        (5, 0, [0, 10]),
        (5, 1, [8, 0, 7]),  # 5 between A and C: 3 and 2
        (10, 3, [14, 13, 13, 0]),  # 10 between three: 4 3 3
        (7, 0, [0, 9, 9, 9, 8]),  # 7 between four: 2 2 2 1
        (1, 2, [2, 1, 0, 1, 1, 1]),  # 1 between five
    ],
)
def test_R12_6_values_worked_out_by_hand(stake: int, leaver: int, expected: list[int]) -> None:
    result = MatchResult(Outcome.OUTCOME_ABANDONED, leaver=leaver)
    assert shares(stake, result, [], len(expected)) == expected


# --- whole matches ------------------------------------------------------------------------------


def test_R12_3_the_result_of_a_match_carries_the_shares() -> None:
    table = endgame_table("6♥", "7♥ K♣", "9♣", trump="♠", stake_coins=100)
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.pass_all()
    table.play("B: K♣", "C: take")
    assert (table.places, table.shares) == ([1, 2, 3], [200, 100, 0])


# Three stakes of one coin: the pool of the first two places is 3, 1 for each and an odd coin.


def test_R12_4_the_odd_coin_goes_to_the_attacker_of_the_bout() -> None:
    table = endgame_table("7♥ 7♦ 8♦ 8♣", "6♦", "6♥", trump="♠", attacker="C", stake_coins=1)
    table.play("C: 6♥", "B: 6♦", "A: 7♥ beats 6♥", "A: 7♦ beats 6♦")
    table.pass_all()
    assert table.outcome == "durak A"
    assert (table.places, table.shares) == ([3, 1, 1], [0, 1, 2])


def test_R12_4_the_odd_coin_goes_to_the_seat_that_transferred_because_it_draws_first() -> None:
    table = endgame_table(
        "7♥ 7♦ 8♦ 8♣", "6♥", "6♦", trump="♠", attacker="B", transfer=True, stake_coins=1
    )
    table.play("B: 6♥", "C: transfer 6♦", "A: 7♥ beats 6♥", "A: 7♦ beats 6♦")
    assert table.outcome == "durak A"
    assert (table.places, table.shares) == ([3, 1, 1], [0, 1, 2])


def test_R12_5_a_draw_returns_all_stakes_also_to_seats_that_went_out_earlier() -> None:
    table = endgame_table("6♥", "7♥ K♣", "A♣", trump="♠", stake_coins=9)
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.pass_all()
    table.play("B: K♣", "C: A♣ beats K♣")
    assert (table.places, table.shares) == ([1, 2, 2], [9, 9, 9])


def test_R12_6_the_leaver_pays_all_others_also_a_seat_that_is_out() -> None:
    table = endgame_table("6♥", "7♥ K♣", "9♣", trump="♠", stake_coins=9)
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.pass_all()  # A is out
    table.play("C: leave")
    assert (table.places, table.shares) == ([0, 0, 0], [14, 13, 0])


def test_free_tables_have_no_shares() -> None:
    table = dealt("6♠ 6♥ 7♦ 8♦ 9♦ 10♦", "6♦ 7♥ 8♥ 9♥ 7♠ Q♣", trump="A♠")
    table.play("A: leave")
    assert table.shares == [0, 0]
