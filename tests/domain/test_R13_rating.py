"""Rating (R13.2): points by the strength of the opponents, with a daily limit against bots."""

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
    """A match with these places, by seat. The durak has the last place."""
    results = [SeatResult(seat=seat, place=place) for seat, place in enumerate(places)]
    durak = places.index(max(places))
    return Finished(outcome=Outcome.OUTCOME_PLAYED_OUT, results=results, durak=durak)


def points(after: dict[str, Rating]) -> dict[str, int]:
    return {player: rating.points for player, rating in after.items()}


def test_equal_players_exchange_half_of_the_points_of_a_match() -> None:
    after = rate(played_out(1, 2), [ANN, BOB], {}, 0, NUMBERS)
    assert after == {
        "ann": Rating(1016, matches=1, wins=1),
        "bob": Rating(984, matches=1, losses=1),
    }


def test_a_stronger_opponent_is_worth_more() -> None:
    # 400 points apart: the expected shares of the 32 points are 10/11 and 1/11, 29.09 and 2.91.
    before = {"ann": Rating(1400), "bob": Rating(1000)}
    assert points(rate(played_out(1, 2), [ANN, BOB], before, 0, NUMBERS)) == {
        "ann": 1403, "bob": 997,
    }  # fmt: skip
    assert points(rate(played_out(2, 1), [ANN, BOB], before, 0, NUMBERS)) == {
        "ann": 1371, "bob": 1029,
    }  # fmt: skip


def test_with_more_seats_each_pair_of_seats_is_a_game() -> None:
    # 16 points for each of two opponents. The middle seat wins one game and loses one.
    assert points(rate(played_out(1, 2, 3), [ANN, BOB, CID], {}, 0, NUMBERS)) == {
        "ann": 1016, "bob": 1000, "cid": 984,
    }  # fmt: skip
    # A shared first place: a drawn game against each other and a win against the third.
    assert points(rate(played_out(1, 1, 3), [ANN, BOB, CID], {}, 0, NUMBERS)) == {
        "ann": 1008, "bob": 1008, "cid": 984,
    }  # fmt: skip


@pytest.mark.parametrize(("level", "gain", "loss"), [(EASY, 8, -24), (HARD, 24, -8)])
def test_R13_2_a_bot_has_the_strength_of_its_level(
    level: BotLevel.ValueType, gain: int, loss: int
) -> None:
    # 200 points apart: 1 / (1 + 10^0.5) = 0.24, and 0.24 of 32 points is 7.69.
    seats = [ANN, SeatOccupant("", level)]
    assert points(rate(played_out(1, 2), seats, {}, 0, NUMBERS)) == {"ann": 1000 + gain}
    assert points(rate(played_out(2, 1), seats, {}, 0, NUMBERS)) == {"ann": 1000 + loss}


def test_R13_2_points_won_from_bots_are_limited_per_day() -> None:
    seats = [ANN, SeatOccupant("", HARD)]
    ratings: dict[str, Rating] = {}
    gained = []
    for day in (7, 7, 7, 7, 8):
        before = ratings["ann"].points if ratings else 1000
        ratings = rate(played_out(1, 2), seats, ratings, day, NUMBERS)
        gained.append(ratings["ann"].points - before)
    # 24.31 at 1000 points, 23.47 at 1024, then only the 3 points that are left to the limit of 50.
    # 22.51 at 1050 points on the next day.
    assert gained == [24, 23, 3, 0, 23]
    assert ratings["ann"] == Rating(1073, matches=5, wins=5, day=8, bot_points=23)


def test_R13_2_losses_to_bots_count_in_full_and_wins_against_people_have_no_limit() -> None:
    full = {"ann": Rating(1000, day=7, bot_points=50)}
    assert points(rate(played_out(2, 1), [ANN, SeatOccupant("", EASY)], full, 7, NUMBERS)) == {
        "ann": 976
    }
    mixed = [ANN, BOB, SeatOccupant("", EASY)]
    after = rate(played_out(1, 3, 2), mixed, full, 7, NUMBERS)
    # Of 16 points for each opponent: 8 from bob, and none from the bot because of the limit.
    assert after["ann"] == Rating(1008, matches=1, wins=1, day=7, bot_points=50)


def test_R13_1_a_draw_counts_as_a_match_and_gives_no_points() -> None:
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
def test_R9_6_C22_only_card_results_count(outcome: Outcome.ValueType, expected: bool) -> None:
    assert is_rated(Finished(outcome=outcome)) is expected


def test_R13_1_each_first_place_wins_and_the_durak_loses() -> None:
    shared = played_out(1, 3, 1)
    assert [has_won(shared, result) for result in shared.results] == [True, False, True]
    assert [has_lost(shared, result) for result in shared.results] == [False, True, False]


@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=6),
    st.lists(st.integers(-3000, 5000), min_size=6, max_size=6),
)
def test_no_match_moves_a_player_by_more_than_the_match_points(
    places: list[int], strengths: list[int]
) -> None:
    seats = [SeatOccupant(f"player-{seat}") for seat in range(len(places))]
    before = {seat.player_id: Rating(strengths[at]) for at, seat in enumerate(seats)}
    after = rate(played_out(*places), seats, before, 0, NUMBERS)
    moved = [after[player].points - rating.points for player, rating in before.items()]
    assert all(-32 <= points <= 32 for points in moved)
    assert abs(sum(moved)) <= len(places) / 2  # the effect of rounding
