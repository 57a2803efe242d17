"""Leaving a lost position: the expectations are worked out by hand from RULES.md."""

from __future__ import annotations

import pytest

from domain.endgame.forecast import is_losing, left_losing
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import Table, dealt

A, B = 0, 1


def losing(table: Table) -> list[bool]:
    return [is_losing(table.match, seat) for seat in range(len(table.match.hands))]


def test_a_seat_that_the_other_can_beat_is_losing() -> None:
    # Trumps are spades. A must lead A♥ (R4.1) and the trump 6♠ beats it: both go out, a draw.
    assert losing(endgame_table("A♥", "6♠", trump="♠")) == [False, False]
    # With 8♣ and 9♦ left, A is the durak.
    table = endgame_table("A♥ 8♣ 9♦", "6♠", trump="♠")
    assert losing(table) == [True, False]
    # B, who wins, leaves; and so does A.
    for seat in "AB":
        left = endgame_table("A♥ 8♣ 9♦", "6♠", trump="♠")
        left.play(f"{seat}: leave")
        assert left_losing(left.records) is (seat == "A")


def test_the_defender_is_judged_at_its_own_move() -> None:
    # K♦ cannot be beaten: B takes it, and 6♣ is A's last card (R7.2, R9.1).
    table = endgame_table("6♣ K♦", "9♣ K♥", trump="♠")
    table.play("A: K♦")
    assert losing(table) == [False, True]


def test_nobody_is_losing_while_there_is_a_stock() -> None:
    table = dealt("6♣ 7♣ 8♣ 9♣ 10♣ J♣", "6♠ 7♠ 8♠ 9♠ 10♠ J♠", trump="A♠")
    assert table.match.stock
    assert losing(table) == [False, False]
    table.play("A: leave")
    assert not left_losing(table.records)


def test_of_three_seats_the_one_with_most_of_all_cards_is_losing() -> None:
    table = endgame_table("6♣ 7♣ 8♣ 9♦ 10♦", "A♠", "K♠ Q♦", trump="♠")
    assert losing(table) == [True, False, False]  # 5 of 8 cards
    table = endgame_table("6♣ 7♣ 8♣", "A♠", "K♠ Q♦", trump="♠")
    assert losing(table) == [False, False, False]  # 3 of 6


@pytest.mark.parametrize(("other", "expected"), [("A♠", True), ("A♠ K♠ Q♠", False)])
def test_at_a_tricky_table_only_the_cards_count(other: str, expected: bool) -> None:
    """A cheat can change what the hands alone decide (R11.1)."""
    table = endgame_table("6♣ 7♣ 8♣", other, trump="♠", tricky=True)
    assert losing(table) == [expected, False]


def test_a_match_that_nobody_left_is_not_left() -> None:
    table = endgame_table("A♥", "6♠", trump="♠")
    table.play("A: A♥", "B: take")
    assert not left_losing(table.records)
