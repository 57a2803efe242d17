"""R6 Transfer (perevodnoy)."""

from typing import Any

import pytest

from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import Table, dealt

TABLE_OF_THREE = ("6♠ 6♥ 7♦ 8♦ 9♦ 10♦", "6♦ 7♥ 8♥ 9♥ 7♠ Q♣", "6♣ 7♣ 8♣ 9♣ 10♣ J♣")


def three(transfer: bool = True, **wanted: Any) -> Table:
    """Three seats. B and C hold a six each, A two. A leads."""
    return dealt(*TABLE_OF_THREE, trump="A♠", transfer=transfer, **wanted)


def test_R6_podkidnoy_has_no_transfers() -> None:
    table = three(transfer=False)
    table.play("A: 6♥")
    assert table.refused("B: transfer 6♦") == "TRANSFER_OFF R6"


@pytest.mark.parametrize("five_card_opening", [False, True])
def test_R6_1_R6_3_R6_4_the_defender_transfers_in_the_first_bout(five_card_opening: bool) -> None:
    table = three(five_card_opening=five_card_opening)
    table.play("A: 6♥", "B: transfer 6♦")
    assert table.on_table == "6♥ 6♦"
    assert (table.attacker, table.defender, table.on_clock) == ("B", "C", "C")
    assert table.refused("B: 7♥ beats 6♥") == "NOT_YOUR_TURN R4.2"


def test_R6_1_only_the_defender_transfers() -> None:
    table = three()
    assert table.refused("B: transfer 6♦") == "NOTHING_LED R4.1"
    table.play("A: 6♥")
    assert table.refused("A: transfer 6♠") == "NOT_YOUR_TURN R6.1"
    assert table.refused("C: transfer 6♣") == "NOT_YOUR_TURN R6.1"


def test_R6_1_a_transfer_needs_the_rank_led() -> None:
    table = three()
    table.play("A: 6♥")
    assert table.refused("B: transfer 7♥") == "NOT_THE_RANK_LED R6.1"


def test_R6_1_no_transfer_after_a_card_was_beaten() -> None:
    table = three()
    table.play("A: 6♥", "A: 6♠", "B: 7♥ beats 6♥")
    assert table.refused("B: transfer 6♦") == "TRANSFER_TOO_LATE R6.1"


def test_R6_1_no_transfer_after_take() -> None:
    table = three()
    table.play("A: 6♥", "B: take")
    assert table.refused("B: transfer 6♦") == "TAKE_DECLARED R7.2"


def test_R6_1_cards_thrown_in_are_transferred_too() -> None:
    table = three()
    table.play("A: 6♥", "A: 6♠", "B: transfer 6♦")
    assert table.on_table == "6♥ 6♠ 6♦"
    assert table.match.unbeaten == 3


def test_C01_a_transfer_with_a_card_not_held_is_refused() -> None:
    table = three()
    table.play("A: 6♥")
    assert table.refused("B: transfer 6♣") == "CARD_NOT_HELD R6.1"
    assert table.hand("B") == "Q♣ 6♦ 7♥ 8♥ 9♥ 7♠"
    table.play("B: transfer 6♦")
    assert table.hand("B") == "Q♣ 7♥ 8♥ 9♥ 7♠", "the card that was played left the hand"


def test_R6_2_no_transfer_to_a_seat_with_too_few_cards() -> None:
    table = endgame_table("6♥ 10♦", "6♦ 8♥", "9♦ 10♠", "J♦ Q♦", trump="♠", transfer=True)
    table.play("A: 6♥", "B: transfer 6♦")  # two attack cards against C, who holds two
    table = endgame_table("6♥ 6♣ 10♦", "6♦ 8♥", "9♦ 10♠", "J♦", trump="♠", transfer=True)
    table.play("A: 6♥", "A: 6♣")
    assert table.refused("B: transfer 6♦") == "TRANSFER_TOO_MANY R6.2"


def test_R6_2_cards_that_the_next_seat_threw_in_no_longer_count_in_its_hand() -> None:
    table = endgame_table("6♥ 10♦", "6♦ 8♥", "6♣ 10♣ J♣", "J♦", trump="♠", transfer=True)
    table.play("A: 6♥", "C: 6♣")  # C holds two cards and would face three
    assert table.refused("B: transfer 6♦") == "TRANSFER_TOO_MANY R6.2"


def test_R6_2_no_transfer_beyond_five_attack_cards_in_the_opening() -> None:
    # A rank has only four cards. More are unbeaten only on tricky tables (R11.1).
    table = three(tricky=True, five_card_opening=True)
    table.play("A: 6♥", "A: 7♦", "A: 8♦", "A: 9♦")
    table.play("B: transfer 6♦")  # five attack cards against C, who holds six
    assert table.refused("C: transfer 6♣") == "TRANSFER_TOO_MANY R6.2"
    table = three(tricky=True, five_card_opening=True)
    table.play("A: 6♥", "A: 7♦", "A: 8♦", "A: 9♦", "A: 10♦")
    assert table.refused("B: transfer 6♦") == "TRANSFER_TOO_MANY R6.2"
    table = three(tricky=True)
    table.play("A: 6♥", "A: 7♦", "A: 8♦", "A: 9♦", "A: 10♦")
    table.play("B: transfer 6♦")  # six attack cards, without the opening


def test_C09_R6_2_the_cap_is_counted_again_from_the_hand_of_the_new_defender() -> None:
    table = endgame_table(
        "6♥ 10♦ 10♥ J♥", "6♦ 8♥ 8♦ 8♣", "7♥ 7♦ 9♣", "J♦ 7♣ Q♦", trump="♠", transfer=True
    )
    assert table.match.cap == 4
    table.play("A: 6♥", "B: transfer 6♦")
    assert table.match.cap == 3, "C holds three"
    table.play("C: 7♥ beats 6♥", "D: 7♣")
    assert table.match.cap == 3, "and is held to the three it had"


def test_R6_3_with_two_seats_the_attack_returns_to_the_first_attacker() -> None:
    table = dealt("6♠ 6♥ 7♦ 8♦ 9♦ 10♦", "6♦ 7♥ 8♥ 9♥ 7♠ Q♣", trump="A♠", transfer=True)
    table.play("A: 6♥", "B: transfer 6♦")
    assert (table.attacker, table.defender) == ("B", "A")
    table.play("A: transfer 6♠")
    assert (table.attacker, table.defender) == ("A", "B")
    assert table.match.unbeaten == 3


def test_R6_3_a_chain_of_transfers_can_go_around_the_table() -> None:
    table = three()
    table.play("A: 6♥", "B: transfer 6♦", "C: transfer 6♣")
    assert (table.attacker, table.defender) == ("C", "A")
    table.play("A: transfer 6♠")
    assert (table.attacker, table.defender) == ("A", "B")
    assert table.on_table == "6♥ 6♦ 6♣ 6♠"
    table.play("B: 7♠ beats 6♠", "B: 7♥ beats 6♥")
    assert table.refused("B: 8♥ beats 6♦") == "DOES_NOT_BEAT R1.3"


def test_R6_3_R8_2_the_seat_that_transferred_draws_first() -> None:
    table = dealt(*TABLE_OF_THREE, trump="A♠", stock="J♦ J♥ J♠ Q♦ Q♥", transfer=True)
    table.play("A: 6♥", "B: transfer 6♦", "C: take")
    draws = table.pass_all()[-1].drew.draws
    assert [(draw.seat, len(draw.cards)) for draw in draws] == [(1, 1), (0, 1)]
    assert "J♦" in table.hand("B")
    assert table.attacker == "A", "the attack passes over C"


def test_R6_3_the_last_card_of_a_hand_can_be_transferred() -> None:
    table = endgame_table("6♥ 10♦", "6♦", "7♥ 7♦ K♣", trump="♠", transfer=True)
    table.play("A: 6♥", "B: transfer 6♦")
    assert table.hand("B") == ""
    assert table.match.in_play == 0b111, "nobody is out before the bout is closed (R9.1)"
    table.play("C: 7♥ beats 6♥", "C: 7♦ beats 6♦")
    assert table.on_clock == "A"
    table.play("A: pass")
    assert table.match.in_play == 0b101
    assert table.attacker == "C"
