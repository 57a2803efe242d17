"""Rating (R13.2): by the strength of opponents, from played-out matches, limited against bots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.rating import Rating, RatingSettings, SeatOccupant, has_lost, has_won, is_rated, rate
from durak.v1.events_pb2 import Finished, Outcome, SeatResult
from durak.v1.settings_pb2 import BotLevel

EASY, HARD = BotLevel.BOT_LEVEL_EASY, BotLevel.BOT_LEVEL_HARD
NUMBERS = RatingSettings(
    initial_points=1000,
    match_points=32,
    scale_points=400,
    bot_points={EASY: 800, BotLevel.BOT_LEVEL_NORMAL: 1000, HARD: 1200},
    bot_day_points=50,
)
ANN, BOB, CID = SeatOccupant("ann"), SeatOccupant("bob"), SeatOccupant("cid")


def played_out(*places: int) -> Finished:
    """A match with these places, by seat; the last place is the durak's."""
    results = [SeatResult(seat=seat, place=place) for seat, place in enumerate(places)]
    durak = places.index(max(places))
    return Finished(outcome=Outcome.OUTCOME_PLAYED_OUT, results=results, durak=durak)


def points(after: dict[str, Rating]) -> dict[str, int]:
    return {player: rating.points for player, rating in after.items()}


def test_equals_exchange_half_of_what_a_match_can_move() -> None:
    after = rate(played_out(1, 2), [ANN, BOB], {}, 0, NUMBERS)
    assert after == {
        "ann": Rating(1016, matches=1, wins=1),
        "bob": Rating(984, matches=1, losses=1),
    }


def test_a_stronger_opponent_is_worth_more() -> None:
    # 400 points apart: expected are 10/11 and 1/11 of the 32 points, 29.09 and 2.91.
    before = {"ann": Rating(1400), "bob": Rating(1000)}
    assert points(rate(played_out(1, 2), [ANN, BOB], before, 0, NUMBERS)) == {
        "ann": 1403, "bob": 997,
    }  # fmt: skip
    assert points(rate(played_out(2, 1), [ANN, BOB], before, 0, NUMBERS)) == {
        "ann": 1371, "bob": 1029,
    }  # fmt: skip


def test_with_more_seats_each_pair_is_a_game() -> None:
    # 16 points for each of two opponents: the middle seat has won one and lost one.
    assert points(rate(played_out(1, 2, 3), [ANN, BOB, CID], {}, 0, NUMBERS)) == {
        "ann": 1016, "bob": 1000, "cid": 984,
    }  # fmt: skip
    # A shared first place: half a game against each other, and one won.
    assert points(rate(played_out(1, 1, 3), [ANN, BOB, CID], {}, 0, NUMBERS)) == {
        "ann": 1008, "bob": 1008, "cid": 984,
    }  # fmt: skip


@pytest.mark.parametrize(("level", "gain", "loss"), [(EASY, 8, -24), (HARD, 24, -8)])
def test_R13_2_a_bot_counts_by_its_level(level: BotLevel.ValueType, gain: int, loss: int) -> None:
    # 200 points apart: 1 / (1 + 10^0.5) = 0.24 of 32 points is 7.69.
    seats = [ANN, SeatOccupant("", level)]
    assert points(rate(played_out(1, 2), seats, {}, 0, NUMBERS)) == {"ann": 1000 + gain}
    assert points(rate(played_out(2, 1), seats, {}, 0, NUMBERS)) == {"ann": 1000 + loss}


def test_R13_2_on_one_day_bots_give_only_so_many_points() -> None:
    seats = [ANN, SeatOccupant("", HARD)]
    ratings: dict[str, Rating] = {}
    gained = []
    for day in (7, 7, 7, 7, 8):
        before = ratings["ann"].points if ratings else 1000
        ratings = rate(played_out(1, 2), seats, ratings, day, NUMBERS)
        gained.append(ratings["ann"].points - before)
    # 24.31, then less as the player gets stronger: 23.47 from 1024 on, of which 3 are left to 50.
    # The next day 22.51 from 1050 on.
    assert gained == [24, 23, 3, 0, 23]
    assert ratings["ann"] == Rating(1073, matches=5, wins=5, day=8, bot_points=23)


def test_R13_2_losses_to_bots_count_in_full_and_people_are_not_limited() -> None:
    full = {"ann": Rating(1000, day=7, bot_points=50)}
    assert points(rate(played_out(2, 1), [ANN, SeatOccupant("", EASY)], full, 7, NUMBERS)) == {
        "ann": 976
    }
    mixed = [ANN, BOB, SeatOccupant("", EASY)]
    after = rate(played_out(1, 3, 2), mixed, full, 7, NUMBERS)
    # Of 16 points for each opponent: 8 from bob, and from the bot nothing more today.
    assert after["ann"] == Rating(1008, matches=1, wins=1, day=7, bot_points=50)


def test_R13_1_a_draw_is_played_and_gives_nothing() -> None:
    draw = Finished(
        outcome=Outcome.OUTCOME_DRAW,
        results=[SeatResult(seat=seat, place=1) for seat in range(2)],
    )
    before = {"ann": Rating(1400, 3, 1, 1)}
    assert rate(draw, [ANN, BOB], before, 0, NUMBERS) == {
        "ann": Rating(1400, 4, 1, 1), "bob": Rating(1000, 1),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome.OUTCOME_PLAYED_OUT, True),
        (Outcome.OUTCOME_DRAW, True),
        (Outcome.OUTCOME_CANCELLED, False),
        (Outcome.OUTCOME_ABANDONED, False),
    ],
)
def test_R9_6_C22_what_is_no_card_result_does_not_count(
    outcome: Outcome.ValueType, expected: bool
) -> None:
    assert is_rated(Finished(outcome=outcome)) is expected


def test_R13_1_a_win_to_each_of_the_first_place_and_a_loss_to_the_durak() -> None:
    shared = played_out(1, 3, 1)
    assert [has_won(shared, result) for result in shared.results] == [True, False, True]
    assert [has_lost(shared, result) for result in shared.results] == [False, True, False]


@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=6),
    st.lists(st.integers(-3000, 5000), min_size=6, max_size=6),
)
def test_no_match_moves_a_player_further_than_set(places: list[int], strengths: list[int]) -> None:
    seats = [SeatOccupant(f"player-{seat}") for seat in range(len(places))]
    before = {seat.player_id: Rating(strengths[at]) for at, seat in enumerate(seats)}
    after = rate(played_out(*places), seats, before, 0, NUMBERS)
    moved = [after[player].points - rating.points for player, rating in before.items()]
    assert all(-32 <= points <= 32 for points in moved)
    assert abs(sum(moved)) <= len(places) / 2  # what rounding makes
