"""The arena: each deal is played from every seat; estimates are checked by hand."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from domain.bots import BOTS
from domain.bots.arena import DealResult, estimate, play_deal
from durak.v1.settings_pb2 import BotLevel
from tests.domain.tables import settings

EASY = BOTS[BotLevel.BOT_LEVEL_EASY]
NORMAL = BOTS[BotLevel.BOT_LEVEL_NORMAL]


@pytest.mark.parametrize("seats", [2, 4])
def test_a_bot_against_itself_gets_the_results_of_all_seats(seats: int) -> None:
    """Against itself the challenger has each seat of the same match once."""
    for number in range(20):
        deal = play_deal(settings(seats=seats), EASY, EASY, seed=3, number=number)
        assert deal.matches == seats
        if deal.duraks:
            assert (deal.duraks, deal.draws) == (1, 0)
            assert deal.score == (seats - 1) / seats
        else:
            assert deal.draws >= 2


def test_a_deal_depends_on_its_seed_and_number() -> None:
    deals = [play_deal(settings(), NORMAL, EASY, seed=1, number=n) for n in (0, 0, 1, 2, 3, 4)]
    assert deals[0] == deals[1]
    assert len({astuple(deal) for deal in deals}) > 1


def test_a_draw_counts_half_in_the_score() -> None:
    assert DealResult(firsts=1, draws=1, duraks=0, matches=2).score == 0.75
    assert DealResult(firsts=0, draws=0, duraks=1, matches=4).score == 0.75


def test_an_estimate_has_its_confidence_interval_over_the_deals() -> None:
    # Mean 0.5; squares 4 · 0.25 over 4 − 1 is 1/3; √(1/3 / 4) = 0.28868; times 1.96 is 0.56581.
    found = estimate([0.0, 1.0, 0.0, 1.0])
    assert found.mean == 0.5
    assert found.margin == pytest.approx(0.56581, abs=1e-5)
    assert estimate([0.25]).margin == 0


def test_R14_the_normal_bot_beats_the_easy_one() -> None:
    """The share is about 0.62; less than 0.5 in 60 deals is more than 2 standard errors away.

    The deals are always the same, so the test is deterministic.
    """
    wins = [play_deal(settings(), NORMAL, EASY, seed=9, number=n).score for n in range(60)]
    assert estimate(wins).mean > 0.5
