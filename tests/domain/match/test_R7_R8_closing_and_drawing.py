"""R7 How a bout ends, R8 Drawing."""

from durak.v1.events_pb2 import Event, TookReason
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import LETTERS, Table, dealt, kinds, names

THREE = ("6♠ 6♥ 7♦ 8♦ 9♦ 10♦", "6♦ 7♥ 8♥ 9♥ 7♠ Q♣", "6♣ 7♣ 8♣ 9♣ 10♣ J♣")
STOCK = "J♦ J♥ Q♦ Q♥ K♦ K♥ K♣"


def three(stock: str = STOCK) -> Table:
    """Three seats. A leads."""
    return dealt(*THREE, trump="A♠", stock=stock)


def drawn(event: Event) -> list[tuple[str, str]]:
    """The draws of each seat, in order."""
    return [(LETTERS[draw.seat], names(draw.cards)) for draw in event.drew.draws]


def test_R7_1_when_all_cards_are_beaten_and_all_seats_passed_the_table_is_discarded() -> None:
    table = three()
    table.play("A: 6♥", "B: 7♥ beats 6♥", "C: 7♣", "B: 7♠ beats 7♣", "A: pass")
    events = table.play("C: pass")
    assert kinds(events) == ["passed", "discarded", "drew"]
    assert names(events[1].discarded.cards) == "6♥ 7♥ 7♣ 7♠"
    assert table.discard == "7♣ 6♥ 7♥ 7♠"
    assert table.on_table == ""
    assert (table.attacker, table.defender) == ("B", "C"), "the defender attacks next"


def test_R7_1_the_bout_stays_open_until_every_seat_that_may_throw_in_has_passed() -> None:
    table = three()
    assert kinds(table.play("A: 6♥", "B: 7♥ beats 6♥", "A: pass")) == ["passed"]
    assert table.on_clock == "C"


def test_R7_2_the_defender_takes_everything_and_is_skipped() -> None:
    table = three()
    table.play("A: 6♥", "B: 7♥ beats 6♥", "C: 7♣", "B: take", "A: pass")
    events = table.play("C: pass")
    assert kinds(events) == ["passed", "took", "drew"]
    took = events[1].took
    assert (took.seat, took.reason) == (1, TookReason.TOOK_REASON_DECLARED)
    assert names(took.cards) == "6♥ 7♥ 7♣"
    assert table.hand("B") == "7♣ Q♣ 6♦ 6♥ 7♥ 8♥ 9♥ 7♠"
    assert (table.attacker, table.defender) == ("C", "A")


def test_R7_2_take_needs_an_unbeaten_card_and_the_defender() -> None:
    table = three()
    table.play("A: 6♥")
    assert table.refused("C: take") == "NOT_YOUR_TURN R7.2"
    table.play("B: 7♥ beats 6♥")
    assert table.refused("B: take") == "NOTHING_TO_TAKE R7.2"


def test_R7_2_take_cannot_be_withdrawn() -> None:
    table = three()
    table.play("A: 6♥", "B: take")
    assert table.refused("B: 7♥ beats 6♥") == "TAKE_DECLARED R7.2"
    assert table.refused("B: take") == "TAKE_DECLARED R7.2"


def test_R7_2_cards_are_thrown_in_after_take_by_the_same_rules() -> None:
    table = endgame_table("6♥ 6♣ 10♦", "9♥ J♣", "6♦ 10♥ K♥", trump="♠")
    table.play("A: 6♥", "B: take")
    assert table.refused("C: K♥") == "RANK_NOT_ON_TABLE R5.1"
    events = table.play("C: 6♦")  # B held two cards, so the cap is reached
    assert kinds(events) == ["attacked", "took"]
    assert table.hand("B") == "J♣ 6♦ 6♥ 9♥"


def test_R7_3_the_cap_closes_a_defended_bout_at_once() -> None:
    table = endgame_table("6♥ 10♦ 10♣ J♣", "7♥ 8♦ ", "9♣ 9♦", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert table.on_clock == "AC", "B had two cards: one more may come"
    table = endgame_table("6♥ 10♦ 10♣", "7♥", "9♣ 9♦", trump="♠")
    assert kinds(table.play("A: 6♥", "B: 7♥ beats 6♥")) == ["defended", "discarded", "went_out"]


def test_R7_3_the_cap_closes_a_take_at_once() -> None:
    table = endgame_table("6♥ 10♦ 10♣", "7♣", "9♣ 9♦", trump="♠")
    assert kinds(table.play("A: 6♥", "B: take")) == ["take_declared", "took"]


def test_R7_3_the_bout_closes_at_once_when_no_seat_can_throw_in() -> None:
    table = endgame_table("6♥", "7♥ K♣ 8♦", trump="♠")
    events = table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert kinds(events) == ["defended", "discarded", "went_out", "finished"]


def test_R7_3_a_seat_without_a_fitting_card_must_still_pass() -> None:
    # Neither A nor C holds a six or a seven. The other seats may not learn this.
    table = endgame_table("6♥ 10♦ 10♣", "7♥ 8♦ K♦", "9♣ 9♦", trump="♠")
    assert kinds(table.play("A: 6♥", "B: 7♥ beats 6♥")) == ["defended"]
    assert table.on_clock == "AC"
    table.play("A: pass")
    assert kinds(table.play("C: pass")) == ["passed", "discarded"]


def test_R7_4_where_the_next_attacker_is_out_the_next_seat_in_play_attacks() -> None:
    table = endgame_table("6♥ 10♦ 10♣", "7♥", "9♣ 9♦", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥")  # B is the next attacker but is out
    assert (table.attacker, table.defender) == ("C", "A")


def test_R7_4_after_a_take_the_seat_after_the_defender_may_be_out() -> None:
    table = endgame_table("6♥ 10♦ 10♣", "7♣ 8♣", "6♣", "9♦ K♦", trump="♠")
    table.play("A: 6♥", "C: 6♣", "B: take")
    table.pass_all()
    assert table.match.in_play == 0b1011, "C threw in its last card"
    assert (table.attacker, table.defender) == ("D", "A")


def test_R8_1_hands_below_six_draw_up_to_six() -> None:
    table = three()
    table.play("A: 6♥", "A: 6♠", "C: 6♣", "B: 7♥ beats 6♥", "B: take")
    events = table.pass_all()
    assert drawn(events[-1]) == [("A", "J♦ J♥"), ("C", "Q♦")]
    assert len(table.hand("B").split()) == 9, "six, one laid, four picked up; none drawn"
    assert table.match.stock[-1] == dealt(*THREE, trump="A♠", stock=STOCK).match.stock[-4]


def test_R8_2_the_attacker_draws_first_then_clockwise_and_the_defender_last() -> None:
    table = three()
    table.play("A: 6♥", "B: 7♥ beats 6♥", "C: 7♣", "B: 7♠ beats 7♣")
    assert drawn(table.pass_all()[-1]) == [("A", "J♦"), ("C", "J♥"), ("B", "Q♦ Q♥")]


def test_R8_1_the_last_cards_go_to_the_seats_that_draw_first() -> None:
    table = dealt(
        "6♠ 6♥ 6♦ 7♣ 7♦ 7♥",
        "7♠ 8♣ 8♦ 8♥ 8♠ 9♣",
        "6♣ 9♦ 9♥ 9♠ J♣ J♦",
        "J♥ J♠ Q♣ Q♦ Q♥ Q♠",
        "10♣ 10♦ 10♥ 10♠ K♣ K♦",
        stock="K♥ K♠ A♣ A♦ A♥",
        trump="A♠",
    )
    table.play("A: 6♥", "A: 6♦", "C: 6♣", "B: take")
    assert drawn(table.pass_all()[-1]) == [("A", "K♥ K♠"), ("C", "A♣")]
    table.play("C: J♣", "D: take")
    assert drawn(table.pass_all()[-1]) == [("C", "A♦")]
    table.play("E: 10♣", "E: 10♦", "E: 10♥", "A: take")
    # E needs three cards and two are left. The trump card is the last one.
    assert drawn(table.pass_all()[-1]) == [("E", "A♥ A♠")]
    assert table.hand("E") == "K♣ K♦ A♥ 10♠ A♠"
    assert table.match.stock == []
    table.play("B: 7♠", "C: take")
    assert kinds(table.pass_all()) == ["passed", "took"], "nobody draws any more"


def test_C10_a_defender_with_an_empty_hand_still_draws_last() -> None:
    # B beats six cards and has no cards. Three cards are left, and A and C need four.
    table = dealt(
        "2♠ 2♥ 2♦ 3♥ 3♦ 4♥",
        "3♠ 4♦ 5♥ 5♦ 4♠ 5♠",
        "2♣ 3♣ 4♣ K♣ K♦ K♥",
        trump="A♠",
        stock="6♣ 6♦ 6♥ 7♣ 7♦ 7♥ 8♣",
        deck=52,
    )
    table.play("A: 2♥", "B: 5♥ beats 2♥", "A: 2♦", "B: 4♦ beats 2♦", "A: 2♠", "B: 3♠ beats 2♠")
    table.play("C: 2♣", "B: 4♠ beats 2♣", "A: 3♥", "B: 5♠ beats 3♥", "A: 3♦")
    events = table.play("B: 5♦ beats 3♦")
    assert kinds(events) == ["defended", "discarded", "drew"], "six beaten: the cap is reached"
    assert drawn(events[-1]) == [
        ("A", "6♣ 6♦ 6♥ 7♣ 7♦"),
        ("C", "7♥"),
        ("B", "8♣ 5♣ 9♣ 10♣ J♣ Q♣"),
    ]
    assert (table.attacker, table.match.in_play) == ("B", 0b111)
