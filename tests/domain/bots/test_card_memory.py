"""The card memory of bots: every card that was open to the seat, and no other (R14.1, R14.4)."""

from __future__ import annotations

import random

import pytest

from domain.bots.card_memory import CardMemory, remember_cards
from domain.cards import CARD_BY_NAME, bit, cards_in, mask_of
from domain.match.fold import Match
from durak.v1.events_pb2 import Event
from durak.v1.settings_pb2 import Deck
from durak.v1.table_pb2 import PHASE_PLAYING
from tests.domain.random_play import all_settings, dealt_by_seed, step
from tests.domain.tables import LETTERS, Table, cards, dealt, names, settings


def memory_of(table: Table, letter: str) -> CardMemory:
    seat = LETTERS.index(letter)
    return remember_cards(table.shown_to(seat)[1], seat)


def known(memory: CardMemory, letter: str) -> str:
    return names(cards_in(memory.known[LETTERS.index(letter)]))


def test_R14_4_taken_cards_are_known_to_be_in_that_hand() -> None:
    table = dealt(
        "6♠ 6♥ 7♥ 8♥ 9♥ 10♥", "7♣ 7♦ 8♦ 9♦ 10♦ J♦", trump="A♠", stock="J♣ Q♣", deck=Deck.DECK_36
    )
    table.play("A: 6♥", "B: take", "A: 6♠", "A: pass")
    memory = memory_of(table, "A")
    assert known(memory, "B") == "6♥ 6♠"
    assert known(memory, "A") == names(cards_in(table.match.hands[0]))
    assert memory.hidden_count(1) == 6
    assert memory.stock_count == 22
    assert memory.under_stock == bit(CARD_BY_NAME["A♠"])
    assert not memory.unseen & mask_of(cards("A♠ 6♥ 6♠"))
    assert memory.unseen & mask_of(cards("7♣ Q♦")) == mask_of(cards("7♣ Q♦"))


def test_R14_4_cards_in_the_discard_pile_are_not_unseen() -> None:
    table = dealt("6♠ 6♥ 7♥ 8♥ 9♥ 10♥", "7♠ 8♠ 6♣ 7♣ 8♣ 9♣", trump="A♠")
    table.play("A: 6♥", "B: 7♠ beats 6♥", "A: pass")
    memory = memory_of(table, "A")
    assert names(cards_in(memory.discarded)) == "6♥ 7♠"
    assert not memory.unseen & memory.discarded
    assert known(memory, "B") == ""
    assert memory.hidden_count(1) == 6


def test_R3_3_the_last_card_dealt_is_known_to_all() -> None:
    table = dealt(
        "9♣ 10♣ J♣ Q♣ K♣ A♣",
        "9♦ 10♦ J♦ Q♦ K♦ A♦",
        "9♥ 10♥ J♥ Q♥ K♥ A♥",
        "9♠ 10♠ J♠ Q♠ K♠ A♠",
        trump="A♠",
        deck=Deck.DECK_24,
    )
    memory = memory_of(table, "A")
    assert known(memory, "D") == "A♠"
    assert memory.under_stock == 0
    assert memory.unseen.bit_count() == 17


def missing(memory: CardMemory, letter: str) -> str:
    return names(cards_in(memory.missing[LETTERS.index(letter)]))


def test_R14_4_a_seat_that_takes_a_card_seems_to_miss_higher_cards_of_its_suit() -> None:
    table = dealt("6♠ 6♥ 7♥ 8♥ 9♥ 10♥", "7♣ 7♦ 8♦ 9♦ 10♦ J♦", trump="A♠")
    table.play("A: 10♥", "B: take")
    memory = memory_of(table, "A")
    assert missing(memory, "B") == "J♥ Q♥ K♥ A♥"
    assert missing(memory, "A") == ""


def test_R14_4_a_seat_that_spends_a_trump_seems_to_miss_the_suit_except_for_new_cards() -> None:
    table = dealt("6♠ 7♥ 9♥ 9♣ J♣ Q♣", "7♠ 9♠ 6♣ 7♣ 8♣ 9♦", trump="A♠")
    table.play("A: Q♣", "B: 9♠ beats Q♣")
    assert missing(memory_of(table, "A"), "B") == "K♣ A♣"
    assert memory_of(table, "A").drawn_since == [0, 0]
    table.play("A: pass")  # both draw a card
    assert memory_of(table, "A").drawn_since == [0, 1]  # A knows its own card
    assert memory_of(table, "A").hidden_count(1) == 6


def test_R14_4_a_seat_that_takes_several_cards_may_hold_cards_that_beat_some_of_them() -> None:
    table = dealt("6♠ 6♥ 6♦ 8♥ 9♥ 10♥", "7♣ 7♦ 8♦ 9♦ 10♦ J♦", trump="A♠")
    table.play("A: 6♥", "A: 6♦", "B: take")
    assert missing(memory_of(table, "A"), "B") == ""


def test_there_is_no_memory_before_the_deal() -> None:
    with pytest.raises(ValueError, match="dealt"):
        remember_cards([Event()], 0)
    with pytest.raises(ValueError, match="dealt"):
        remember_cards([], 0)


def assert_correct_and_complete(memory: CardMemory, match: Match) -> None:
    """Everything in the memory is true, and there are as many unseen cards as hidden places."""
    assert memory.known[memory.seat] == match.hands[memory.seat]
    assert memory.hand_sizes == [hand.bit_count() for hand in match.hands]
    assert memory.on_table == match.on_table
    assert memory.discarded == match.discard
    assert memory.stock_count == len(match.stock)
    for cards_known, hand in zip(memory.known, match.hands, strict=True):
        assert cards_known & ~hand == 0
    hidden = sum(memory.hidden_count(seat) for seat in range(len(match.hands)))
    assert memory.unseen.bit_count() == hidden + max(0, memory.stock_count - 1)


@pytest.mark.parametrize("index", range(0, 832, 104))
def test_the_memory_is_correct_and_complete_throughout_random_matches(index: int) -> None:
    wanted = list(all_settings())[index]
    table = dealt_by_seed(wanted, index)
    chance = random.Random(index)
    while table.match.phase == PHASE_PLAYING:
        table.store(step(table, chance))
        if chance.random() < 0.2:
            seat = chance.randrange(wanted.seats)
            assert_correct_and_complete(memory_of(table, LETTERS[seat]), table.match)


def test_with_two_seats_and_an_empty_stock_all_cards_are_known() -> None:
    table = dealt_by_seed(settings(), 7)
    chance = random.Random(7)
    while table.match.stock:
        table.store(step(table, chance))
    assert table.match.phase == PHASE_PLAYING
    memory = memory_of(table, "A")
    assert memory.known[1] | memory.unseen == table.match.hands[1]
