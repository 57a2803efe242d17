"""R9 Going out and the result, R15 the worked endings."""

from typing import Any

import pytest

from durak.v1.events_pb2 import Outcome
from durak.v1.table_pb2 import PHASE_ENDED
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import Table, dealt, kinds


@pytest.mark.parametrize(
    ("a", "b", "transfer", "moves", "outcome"),
    [
        ("6♥", "7♥", False, "A: 6♥, B: 7♥ beats 6♥", "draw"),
        ("6♥", "7♥ K♣ 8♦", False, "A: 6♥, B: 7♥ beats 6♥", "durak B"),
        ("6♥", "7♣", False, "A: 6♥, B: take", "durak B"),
        ("A♥", "6♠", False, "A: A♥, B: 6♠ beats A♥", "draw"),
        ("A♥ 8♣ 9♦", "6♠", False, "A: A♥, B: 6♠ beats A♥", "durak A"),
        (
            "6♥ 7♥ 9♣",
            "6♣",
            True,
            "A: 6♥, B: transfer 6♣, A: 7♥ beats 6♥, A: 9♣ beats 6♣",
            "draw",
        ),
    ],
)
def test_R15_worked_endings(a: str, b: str, transfer: bool, moves: str, outcome: str) -> None:
    table = endgame_table(a, b, trump="♠", transfer=transfer)
    table.play(*moves.split(", "))
    assert table.outcome == outcome


@pytest.mark.parametrize("others", [[], ["9♣ 9♦"], ["9♣ 9♦", "10♣ 10♦"]])
def test_R9_1_a_seat_with_an_empty_hand_is_not_out_before_the_end_of_the_bout(
    others: list[str],
) -> None:
    table = endgame_table("6♥", "7♥ K♣ 8♦", *others, trump="♠")
    table.play("A: 6♥")
    assert table.hand("A") == ""
    assert table.match.in_play.bit_count() == 2 + len(others)
    assert table.outcome == "goes on"


def test_R9_1_an_empty_hand_is_filled_while_the_stock_lasts() -> None:
    # A plays all six cards and draws six more.
    table = dealt("6♠ 6♥ 6♦ 7♦ 7♥ 7♠", "7♣ 8♥ 8♦ 9♥ 9♦ 10♥", trump="A♠")
    table.play("A: 6♥", "B: 8♥ beats 6♥", "A: 6♦", "B: take", "A: 6♠", "A: pass")
    assert table.match.in_play == 0b11
    assert len(table.hand("A").split()) == 6


def test_C08_the_last_take_of_the_loser_ends_the_match() -> None:
    table = endgame_table("6♥", "7♣", trump="♠")
    events = table.play("A: 6♥", "B: take")
    assert kinds(events) == ["take_declared", "took", "went_out", "finished"]
    assert table.outcome == "durak B"
    assert table.match.phase == PHASE_ENDED
    assert table.places == [1, 2]


def test_R9_2_seats_that_go_out_in_the_same_bout_share_the_place() -> None:
    table = endgame_table("6♥", "7♥ 7♦ K♣", "6♦", "9♦ 10♦ Q♦", trump="♠")
    table.play("A: 6♥", "C: 6♦", "B: 7♥ beats 6♥", "B: 7♦ beats 6♦")
    events = table.pass_all()
    assert kinds(events) == ["passed", "discarded", "went_out"]
    assert list(events[-1].went_out.seats) == [0, 2]
    assert events[-1].went_out.place == 1
    assert (table.attacker, table.defender) == ("B", "D")
    table.play("B: K♣", "D: take")
    assert table.outcome == "durak D"
    assert table.places == [1, 3, 1, 4], "the place after two firsts is the third"


def test_R9_2_the_order_of_the_last_cards_in_a_bout_does_not_matter() -> None:
    table = endgame_table("6♥", "7♥", "9♣ 9♦", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥")  # A's hand was empty first
    assert table.outcome == "durak C"
    assert table.places == [1, 1, 3]


def test_R9_3_one_seat_left_with_cards_is_the_durak_and_last() -> None:
    table = endgame_table("6♥", "7♥ K♣", "9♣", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.pass_all()
    assert (table.attacker, table.defender) == ("B", "C")
    table.play("B: K♣", "C: take")
    assert table.outcome == "durak C"
    assert table.places == [1, 2, 3]


def test_C03_R9_4_if_all_hands_are_empty_at_once_it_is_a_draw() -> None:
    table = endgame_table("6♥", "7♥", trump="♠")
    events = table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert kinds(events) == ["defended", "discarded", "went_out", "finished"]
    assert table.outcome == "draw"
    assert table.places == [1, 1]
    assert not table.result.HasField("durak")


def test_R9_4_the_draw_is_between_the_seats_of_the_last_bout() -> None:
    table = endgame_table("6♥", "7♥ K♣", "A♣", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.pass_all()  # A is out first
    table.play("B: K♣", "C: A♣ beats K♣")
    assert table.outcome == "draw"
    assert table.places == [1, 2, 2]


def test_C03_C11_R9_4_where_draws_are_not_allowed_the_defender_of_the_bout_is_the_durak() -> None:
    table = endgame_table("6♥", "7♥", trump="♠", draw_allowed=False)
    events = table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert kinds(events) == ["defended", "discarded", "went_out", "finished"]
    assert list(events[2].went_out.seats) == [0]
    assert table.outcome == "durak B", "the defender laid the last card"
    assert table.places == [1, 2]


@pytest.mark.parametrize("attacker", ["A", "B", "C"])
def test_C11_R9_4_the_defender_is_the_durak_not_the_next_seat(attacker: str) -> None:
    letters = "ABC"
    at = letters.index(attacker)
    hands = ["", "", ""]
    hands[at], hands[(at + 1) % 3], hands[(at + 2) % 3] = "6♥", "7♥ 7♦", "6♦"
    table = endgame_table(*hands, trump="♠", attacker=attacker, draw_allowed=False)
    defender, other = letters[(at + 1) % 3], letters[(at + 2) % 3]
    table.play(f"{attacker}: 6♥", f"{other}: 6♦")
    table.play(f"{defender}: 7♥ beats 6♥", f"{defender}: 7♦ beats 6♦")
    assert table.outcome == f"durak {defender}"
    assert sorted(table.places) == [1, 1, 3]
    assert table.places[letters.index(defender)] == 3


def test_R9_4_where_draws_are_not_allowed_a_take_ends_the_match_as_usual() -> None:
    table = endgame_table("6♥", "7♥", trump="♠", draw_allowed=False)
    table.play("A: 6♥", "B: take")
    assert table.outcome == "durak B"


def take_for_ever(table: Table, bouts: int) -> None:
    """Every attacker leads its first card, and every defender takes."""
    for _ in range(bouts):
        attacker, defender = table.attacker, table.defender
        table.play(f"{attacker}: {table.hand(attacker).split()[0]}", f"{defender}: take")
        table.pass_all()


@pytest.mark.parametrize("draw_allowed", [True, False])
def test_R9_5_fifty_bouts_without_a_discard_are_a_draw_on_any_table(draw_allowed: bool) -> None:
    # With three seats each seat gains one card as defender and loses one as attacker.
    table = endgame_table(
        "6♥ 9♦ K♣", "7♥ 10♦ K♥", "8♥ J♦ K♦ Q♦", trump="♠", draw_allowed=draw_allowed
    )
    dry = table.match.bouts_without_discard
    take_for_ever(table, 49 - dry)
    assert table.outcome == "goes on"
    assert table.match.bouts_without_discard == 49
    take_for_ever(table, 1)
    assert table.outcome == "draw"
    assert table.places == [1, 1, 1]


def test_R9_5_a_discard_resets_the_count() -> None:
    table = endgame_table("6♥ 9♦ K♣", "7♥ 10♦ K♥", "8♥ J♦ K♦ Q♦", trump="♠")
    take_for_ever(table, 30)
    match = table.match
    attacker, defender = table.attacker, table.defender
    pair = beating_pair(table)
    table.play(f"{attacker}: {pair[0]}", f"{defender}: {pair[1]} beats {pair[0]}")
    table.pass_all()
    assert match.bouts_without_discard == 0


def beating_pair(table: Table) -> tuple[str, str]:
    """A card of the attacker and a higher one of its suit in the defender's hand."""
    order = ["6", "7", "8", "9", "10", "J", "Q", "K", "A"]
    for card in table.hand(table.attacker).split():
        for beater in table.hand(table.defender).split():
            higher = order.index(beater[:-1]) > order.index(card[:-1])
            if card[-1] == beater[-1] and higher:
                return card, beater
    raise AssertionError("no such pair")


def test_R9_5_seats_that_went_out_earlier_keep_their_places() -> None:
    table = endgame_table("6♥", "7♥ 10♦ K♥", "8♥ J♦", "8♣ 9♣", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.pass_all()
    take_for_ever(table, 50)
    assert table.outcome == "draw"
    assert table.places == [1, 2, 2, 2]


@pytest.mark.parametrize("seat", ["A", "B", "C"])
def test_C05_R9_6_R10_4_leaving_ends_the_match_as_abandoned(seat: str) -> None:
    table = dealt("6♠ 6♥ 7♦ 8♦ 9♦ 10♦", "6♦ 7♥ 8♥ 9♥ 7♠ Q♣", "6♣ 7♣ 8♣ 9♣ 10♣ J♣", trump="A♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥", "C: 7♣")
    events = table.play(f"{seat}: leave")  # `Table` checks that no card moves
    assert kinds(events) == ["left", "finished"]
    assert table.outcome == f"abandoned by {seat}"
    assert table.places == [0, 0, 0], "neither a draw nor a place"
    assert table.result.outcome == Outcome.OUTCOME_ABANDONED
    assert table.refused("A: pass") == "MATCH_NOT_IN_PLAY R3.0"


def test_R9_1_a_seat_that_is_out_cannot_move() -> None:
    table = endgame_table("6♥", "7♥ K♣", "9♣", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.pass_all()
    moves: list[Any] = ["6♥", "pass", "take", "transfer 6♥", "7♥ beats 6♥"]
    assert {table.refused(f"A: {move}") for move in moves} == {"SEAT_IS_OUT R9.1"}
