"""R5 Throwing in and passing."""

from typing import Any

import pytest

from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import Table, dealt, kinds

NEIGHBOURS, ALL = 1, 2


def four(throw_in: int = ALL, **wanted: Any) -> Table:
    """Four seats with a seven or a six each. A leads, B defends."""
    return dealt(
        "6♠ 6♥ 8♦ 9♦ 10♦ J♦",
        "7♥ 8♥ 9♥ 7♠ Q♣ K♣",
        "6♦ 7♦ 8♣ 9♣ 10♣ J♣",
        "6♣ 7♣ Q♦ K♦ Q♥ K♥",
        trump="A♠",
        throw_in=throw_in,
        **wanted,
    )


def test_R5_1_a_rank_among_the_attack_cards_can_be_thrown_in_before_anything_is_beaten() -> None:
    table = four()
    table.play("A: 6♥", "C: 6♦", "D: 6♣")
    assert table.on_table == "6♥ 6♦ 6♣"


def test_R5_1_a_rank_among_the_defence_cards_can_be_thrown_in() -> None:
    table = four()
    table.play("A: 6♥")
    assert table.refused("C: 7♦") == "RANK_NOT_ON_TABLE R5.1"
    table.play("B: 7♥ beats 6♥", "C: 7♦")
    assert table.refused("D: Q♦") == "RANK_NOT_ON_TABLE R5.1"


def test_R5_1_nothing_is_thrown_in_before_the_lead() -> None:
    assert four().refused("C: 6♦") == "NOT_YOUR_TURN R4.1"


def test_R5_1_the_defender_does_not_throw_in() -> None:
    table = four()
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert table.refused("B: 7♠") == "NOT_YOUR_TURN R5.2"


def test_R5_1_first_come_first_served_up_to_the_cap() -> None:
    table = endgame_table("6♥ 10♣", "7♥ 9♣", "6♦ 10♦", "6♣ 10♥", trump="♠")
    table.play("A: 6♥", "D: 6♣")
    assert table.refused("C: 6♦") == "CAP_REACHED R4.3"


def test_C15_two_seats_throw_in_one_after_the_other_on_the_same_table() -> None:
    table = four()
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.play("C: 7♦", "D: 7♣")  # D decided before it saw 7♦; both are legal
    assert table.on_table == "6♥ 7♥ 7♦ 7♣"


def test_R5_2_neighbours_are_the_seats_on_either_side_of_the_defender() -> None:
    table = four(NEIGHBOURS)
    assert table.throwers == "AC"
    table.play("A: 6♥", "C: 6♦")
    assert table.refused("D: 6♣") == "NOT_A_NEIGHBOUR R5.2"
    assert table.refused("D: pass") == "PASS_TOO_EARLY R5.3"


def test_R5_2_all_means_every_seat_but_the_defender() -> None:
    assert four(ALL).throwers == "ACD"


def test_R5_2_neighbours_are_counted_among_the_seats_in_play() -> None:
    table = endgame_table(
        "6♥",
        "7♥ 6♣ K♥",
        "7♣ 6♦ K♣ A♣",
        "7♦ 8♥ K♦",
        "9♥ Q♥ A♥",
        trump="♠",
        throw_in=NEIGHBOURS,
    )
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.pass_all()
    assert table.match.in_play == 0b11110, "A is out"
    table.play("B: 6♣", "C: 7♣ beats 6♣")
    table.pass_all()
    table.play("C: 6♦", "D: 7♦ beats 6♦")
    table.pass_all()
    table.play("D: 8♥")
    assert (table.defender, table.throwers) == ("E", "BD"), "with A out, B is E's neighbour"
    assert table.refused("C: K♣") == "NOT_A_NEIGHBOUR R5.2"
    assert table.refused("A: 8♥") == "SEAT_IS_OUT R9.1"


@pytest.mark.parametrize("transfer", [False, True])
@pytest.mark.parametrize(("throw_in", "throwers"), [(NEIGHBOURS, "AC"), (ALL, "ACD")])
def test_C07_the_circle_and_the_transfer_are_independent(
    throw_in: int, throwers: str, transfer: bool
) -> None:
    table = four(throw_in, transfer=transfer)
    table.play("A: 6♥")
    assert table.throwers == throwers
    table.play("B: take")
    assert table.on_clock == throwers


def test_C07_after_a_transfer_the_circle_is_around_the_new_defender() -> None:
    hands = ("6♠ 6♥ 8♦ 9♦ 10♦ J♦", "6♦ 8♥ 9♥ 7♠ Q♣ K♣", "7♥ 7♦ 8♣ 9♣ 10♣ J♣")
    for throw_in, throwers in ((NEIGHBOURS, "BD"), (ALL, "ABD")):
        table = dealt(*hands, "6♣ 7♣ Q♦ K♦ Q♥ K♥", trump="A♠", throw_in=throw_in, transfer=True)
        table.play("A: 6♥", "B: transfer 6♦")
        assert (table.attacker, table.defender, table.throwers) == ("B", "C", throwers)


def test_R5_3_no_seat_passes_while_a_card_is_unbeaten_and_take_is_not_declared() -> None:
    table = four()
    table.play("A: 6♥")
    assert table.refused("A: pass") == "PASS_TOO_EARLY R5.3"
    table.play("B: 7♥ beats 6♥", "A: pass")
    assert table.refused("A: pass") == "ALREADY_PASSED R5.3"


def test_R5_3_the_defender_does_not_pass() -> None:
    table = four()
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert table.refused("B: pass") == "NOT_YOUR_TURN R5.3"


def test_R5_3_a_seat_that_may_not_throw_in_cannot_pass() -> None:
    table = four(NEIGHBOURS)
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert table.refused("D: pass") == "NOTHING_TO_PASS R5.3"


def test_R5_3_a_seat_without_cards_cannot_pass() -> None:
    table = endgame_table("6♥", "7♥ 8♥ K♣", "9♦ 10♦", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert table.on_clock == "C"
    assert table.refused("A: pass") == "NOTHING_TO_PASS R5.3"


def test_R5_3_a_card_thrown_in_withdraws_all_passes() -> None:
    table = four()
    table.play("A: 6♥", "B: 7♥ beats 6♥", "A: pass", "C: pass")
    assert table.on_clock == "D"
    table.play("D: 7♣", "B: take")
    assert table.on_clock == "ACD"


def test_R5_3_a_defence_withdraws_all_passes() -> None:
    table = four()
    table.play("A: 6♥", "B: 7♥ beats 6♥", "A: pass", "D: 7♣", "B: Q♣ beats 7♣")
    assert table.on_clock == "ACD"


def test_R5_3_a_card_thrown_in_after_take_withdraws_all_passes() -> None:
    table = four()
    table.play("A: 6♥", "B: take", "A: pass", "D: pass", "C: 6♦")
    assert table.on_clock == "ACD"
    assert kinds(table.play("A: pass", "C: pass", "D: pass")) == ["passed", "took", "drew"]
    assert table.hand("B") == "Q♣ K♣ 6♦ 6♥ 7♥ 8♥ 9♥ 7♠"
