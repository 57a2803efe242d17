"""R4 The bout: leading, beating, the cap on attack cards."""

from domain.match.view import table_view
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import Table, dealt, kinds


def attacks_left(table: Table) -> int:
    """The number of attack cards left in every view (R4.4)."""
    left = {table_view(table.match, viewer).attacks_left for viewer in (None, 0, 1)}
    assert len(left) == 1
    return left.pop()


def sixes() -> Table:
    """Two seats. A holds all sixes and leads."""
    return dealt("6♠ 6♥ 6♦ 6♣ 7♥ 7♦", "7♠ 8♦ 8♥ 9♥ 7♣ 8♣", trump="A♠")


def test_R4_1_the_attacker_leads_any_card_and_the_next_seat_defends() -> None:
    for card in ["6♠", "6♥", "6♦", "6♣", "7♥", "7♦"]:
        table = sixes()
        assert (table.attacker, table.defender) == ("A", "B")
        table.play(f"A: {card}")
        assert table.on_table == card


def test_R4_1_no_other_seat_leads() -> None:
    table = sixes()
    assert table.refused("B: 7♠") == "NOT_YOUR_TURN R4.1"
    assert table.refused("B: 7♠ beats 6♥") == "NOTHING_LED R4.1"
    assert table.refused("B: take") == "NOTHING_LED R4.1"
    assert table.refused("A: pass") == "PASS_TOO_EARLY R5.3"


def test_R4_2_attack_cards_are_beaten_in_any_order_one_card_each() -> None:
    table = sixes()
    table.play("A: 6♥", "A: 6♦", "A: 6♣")
    table.play("B: 8♦ beats 6♦", "B: 7♣ beats 6♣", "B: 9♥ beats 6♥")
    assert table.on_table == "6♥ 9♥ 6♦ 8♦ 6♣ 7♣"


def test_R4_2_no_card_is_beaten_twice() -> None:
    table = sixes()
    table.play("A: 6♥", "A: 6♦", "B: 8♥ beats 6♥")
    assert table.refused("B: 9♥ beats 6♥") == "ALREADY_BEATEN R4.2"


def test_R4_2_only_attack_cards_on_the_table_are_beaten() -> None:
    table = sixes()
    table.play("A: 6♥", "B: 8♥ beats 6♥", "A: 6♦")
    assert table.refused("B: 9♥ beats 8♥") == "NO_SUCH_ATTACK_CARD R4.2"
    assert table.refused("B: 9♥ beats 6♣") == "NO_SUCH_ATTACK_CARD R4.2"


def test_R1_3_a_card_that_does_not_beat_is_refused() -> None:
    table = sixes()
    table.play("A: 6♥")
    assert table.refused("B: 8♦ beats 6♥") == "DOES_NOT_BEAT R1.3"
    table.play("B: 7♠ beats 6♥")  # a trump


def test_R1_3_a_trump_is_beaten_by_a_higher_trump_only() -> None:
    table = sixes()
    table.play("A: 6♠")
    assert table.refused("B: 9♥ beats 6♠") == "DOES_NOT_BEAT R1.3"
    table.play("B: 7♠ beats 6♠")


def test_R4_2_only_the_defender_beats() -> None:
    table = sixes()
    table.play("A: 6♥")
    assert table.refused("A: 7♥ beats 6♥") == "NOT_YOUR_TURN R4.2"


def test_C02_a_card_can_be_played_once() -> None:
    table = sixes()
    table.play("A: 6♥")
    assert table.refused("A: 6♥") == "CARD_NOT_HELD R5.1"
    table.play("A: 6♦", "B: 8♥ beats 6♥")
    assert table.refused("B: 8♥ beats 6♦") == "CARD_NOT_HELD R4.2"


def test_C01_cards_that_are_not_held_are_refused() -> None:
    table = sixes()
    assert table.refused("A: 7♠") == "CARD_NOT_HELD R4.1"
    table.play("A: 6♥")
    assert table.refused("B: 10♥ beats 6♥") == "CARD_NOT_HELD R4.2"


def test_R4_3_at_most_as_many_attack_cards_as_the_defender_held() -> None:
    table = endgame_table("6♥ 6♦ 6♣ 10♣", "7♥ 8♣", trump="♠")
    table.play("A: 6♥", "A: 6♦")
    assert attacks_left(table) == 0
    assert table.refused("A: 6♣") == "CAP_REACHED R4.3"


def test_C09_R4_3_the_cap_is_counted_once_from_the_hand_at_the_start() -> None:
    table = endgame_table("6♥ 7♣ 8♦ 7♦", "7♥ 8♣ 9♦ J♦", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥", "A: 7♣", "B: 8♣ beats 7♣", "A: 8♦")
    # B held four cards and holds two. One more attack card is allowed.
    table.play("B: 9♦ beats 8♦")
    assert attacks_left(table) == 1
    assert kinds(table.play("A: 7♦")) == ["attacked"]


def test_R4_3_at_most_six_attack_cards_for_any_hand_of_the_defender() -> None:
    # B takes 6♥ and holds seven cards. A draws 7♠.
    table = dealt("6♥ 6♦ 6♣ 6♠ 7♦ 7♥", "7♣ 8♣ 9♣ 10♣ J♣ 8♠", trump="A♠", stock="7♠")
    table.play("A: 6♥", "B: take", "A: pass")
    assert attacks_left(table) == 6
    table.play("A: 6♦", "A: 6♣", "A: 6♠", "B: 7♣ beats 6♣", "A: 7♦", "A: 7♥")
    assert attacks_left(table) == 1
    table.play("A: 7♠")
    assert attacks_left(table) == 0


def test_R4_3_at_most_five_attack_cards_in_the_opening() -> None:
    table = dealt("6♠ 6♥ 6♦ 6♣ 7♥ 7♦", "7♠ 8♦ 8♥ 9♥ 7♣ 8♣", trump="A♠", five_card_opening=True)
    assert attacks_left(table) == 5
    table.play("A: 6♥", "A: 6♦", "A: 6♣", "A: 6♠", "B: 7♣ beats 6♣", "A: 7♥")
    assert table.refused("A: 7♦") == "CAP_REACHED R4.3"


def test_R4_3_six_from_the_start_without_the_five_card_opening() -> None:
    table = sixes()
    table.play("A: 6♥", "A: 6♦", "A: 6♣", "A: 6♠", "B: 7♣ beats 6♣", "A: 7♥", "A: 7♦")
    assert attacks_left(table) == 0


def test_R4_3_a_take_keeps_the_opening_and_a_defence_ends_it_for_the_next_bout() -> None:
    table = dealt("6♠ 6♥ 6♦ 6♣ 7♥ 7♦", "7♠ 8♦ 8♥ 9♥ 7♣ 8♣", trump="A♠", five_card_opening=True)
    table.play("A: 6♥", "B: take", "A: pass")
    assert attacks_left(table) == 5
    table.play("A: 6♦", "B: 8♦ beats 6♦")
    assert attacks_left(table) == 4, "the bout that is defended still has its five"
    assert kinds(table.play("A: pass")) == ["passed", "discarded", "drew"]
    assert attacks_left(table) == 6


def test_R4_4_the_view_counts_the_attack_cards_left() -> None:
    table = sixes()
    left = [attacks_left(table)]
    for move in ("A: 6♥", "A: 6♦", "B: 8♥ beats 6♥", "B: take", "A: 6♣"):
        table.play(move)
        left.append(attacks_left(table))
    assert left == [6, 5, 4, 4, 4, 3]
