"""R3 The deal: sitting down, trumps, the first attacker. test_fair_dealing has the shuffle."""

import pytest

from domain.cards import card_name
from domain.match.commands import (
    Actor,
    CancelTable,
    Command,
    Leave,
    Rematch,
    RemovePlayer,
    SeatBot,
    TakeSeat,
    by_player,
)
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.refusal import Refusal
from domain.match.seating import GIVE_UPS_MAX
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_PLAYING, PHASE_WAITING
from tests.domain.tables import (
    SERVER_SEED,
    Table,
    dealt,
    full,
    kinds,
    opened,
    refused,
    settings,
)

ANN, BOB = by_player("player-A"), by_player("player-B")
EASY = BotLevel.BOT_LEVEL_EASY
ALL_36 = (
    "6♣ 7♣ 8♣ 9♣ 10♣ J♣",
    "Q♣ K♣ A♣ 6♦ 7♦ 8♦",
    "9♦ 10♦ J♦ Q♦ K♦ A♦",
    "6♥ 7♥ 8♥ 9♥ 10♥ J♥",
    "Q♥ K♥ A♥ 6♠ 7♠ 8♠",
    "9♠ 10♠ J♠ Q♠ K♠ A♠",
)


def sit(table: Table, letter: str, seat: int | None = None) -> str:
    """Seat a player. Return the events or the refusal in words."""
    return attempt(table, by_player(f"player-{letter}"), TakeSeat(letter, seat))


def attempt(table: Table, actor: Actor, command: Command) -> str:
    """Store the events of a command. Return the events or the refusal in words."""
    outcome = decide(table.match, actor, command)
    if isinstance(outcome, Refusal):
        return refused(outcome)
    return " ".join(kinds(table.store(outcome.events)))


def test_R3_0_cards_are_dealt_when_the_last_free_seat_is_taken() -> None:
    table = opened(settings(seats=3))
    assert sit(table, "A") == "seat_taken"
    assert sit(table, "B", 2) == "seat_taken"
    assert table.match.phase == PHASE_WAITING
    assert sit(table, "C") == "seat_taken dealt"
    assert table.match.phase == PHASE_PLAYING
    assert [seat.player_id for seat in table.match.table.seats if seat] == [
        "player-A",
        "player-C",
        "player-B",
    ]


def test_R3_0_sitting_down_is_refused_where_it_is_not_possible() -> None:
    table = opened(settings(seats=3))
    sit(table, "A", 1)
    assert sit(table, "A") == "ALREADY_SEATED R3.0"
    assert sit(table, "B", 1) == "SEAT_TAKEN R3.0"
    assert sit(table, "B", 3) == "MALFORMED_FIELD R2"
    sit(table, "B")
    sit(table, "C")
    assert sit(table, "D") == "MATCH_NOT_WAITING R3.0"


def test_R3_0_until_the_deal_a_seat_can_be_given_up() -> None:
    table = opened(settings())
    sit(table, "A")
    assert attempt(table, ANN, Leave()) == "seat_vacated"
    assert table.match.table.seats == (None, None)
    sit(table, "B")
    assert sit(table, "A") == "seat_taken dealt"


def test_R3_0_a_player_can_give_up_a_seat_a_limited_number_of_times() -> None:
    """Otherwise one player could make the log of a table arbitrarily long."""
    table = opened(settings(seats=3))
    for _ in range(GIVE_UPS_MAX):
        assert sit(table, "A") == "seat_taken"
        assert attempt(table, ANN, Leave()) == "seat_vacated"
    assert sit(table, "A") == "GIVEN_UP_TOO_OFTEN"
    assert sit(table, "B") == "seat_taken"  # other players still can
    again = Match()
    for record in table.records:
        again.apply(record)
    assert again.table == table.match.table


def test_R3_0_the_owner_can_remove_a_player_until_the_deal() -> None:
    table = opened(settings(seats=3))
    sit(table, "A")
    sit(table, "B")
    assert attempt(table, BOB, RemovePlayer("player-A")) == "NOT_OWNER R3.0"
    assert attempt(table, ANN, RemovePlayer("player-C")) == "PLAYER_NOT_SEATED R3.0"
    assert attempt(table, ANN, RemovePlayer("player-A")) == "MALFORMED_FIELD R3.0"
    assert attempt(table, ANN, RemovePlayer("player-B")) == "seat_vacated"
    assert table.records[-1].event.seat_vacated.removed
    assert table.match.table.seat_of("player-B") is None
    assert attempt(table, ANN, RemovePlayer("player-B")) == "PLAYER_NOT_SEATED R3.0"
    sit(table, "C")
    sit(table, "D")
    assert attempt(table, ANN, RemovePlayer("player-C")) == "MATCH_NOT_WAITING R3.0"


def test_R3_0_a_removed_player_cannot_sit_down_at_this_table_again() -> None:
    table = opened(settings())
    sit(table, "B")
    attempt(table, ANN, RemovePlayer("player-B"))
    assert sit(table, "B") == "REMOVED_FROM_TABLE R3.0"
    assert sit(table, "C") == "seat_taken"  # other players still can
    again = Match()
    for record in table.records:
        again.apply(record)
    assert again.table == table.match.table


def test_R3_0_a_bot_is_not_a_player_to_remove() -> None:
    table = opened(settings(seats=3))
    attempt(table, ANN, SeatBot(EASY))
    assert attempt(table, ANN, RemovePlayer("")) == "PLAYER_NOT_SEATED R3.0"


def test_R13_1_nobody_is_removed_from_a_rematch() -> None:
    old = full(settings())
    old.play("A: leave")
    table = Table()
    attempt(table, BOB, Rematch(old.match, "B", b"", SERVER_SEED, 60, 30))
    assert attempt(table, ANN, RemovePlayer("player-B")) == "SEAT_RESERVED R13.1"


def test_R3_0_the_owner_can_cancel_until_the_deal() -> None:
    table = opened(settings(stake_coins=10))
    sit(table, "B")
    assert attempt(table, BOB, CancelTable()) == "NOT_OWNER R3.0"
    assert attempt(table, ANN, CancelTable()) == "finished"
    assert table.outcome == "cancelled"
    assert (table.places, table.shares) == ([0], [10])  # R9.6, R12.5: one seat was taken
    assert table.match.phase == PHASE_ENDED
    dealt_table = full(settings())
    assert attempt(dealt_table, ANN, CancelTable()) == "MATCH_NOT_WAITING R3.0"


def test_R3_0_R13_1_a_rematch_waits_for_all_its_players_and_each_can_cancel_it() -> None:
    old = full(settings())
    old.play("A: leave")
    rematch = Rematch(old.match, "B", b"", SERVER_SEED, 60, 30)
    for closer in (ANN, BOB):
        table = Table()
        assert attempt(table, BOB, rematch) == "table_opened seat_taken"
        assert table.match.table.owner_id == "player-A"
        assert attempt(table, by_player("player-C"), CancelTable()) == "NOT_OWNER R3.0"
        assert attempt(table, closer, CancelTable()) == "finished"
        assert table.outcome == "cancelled"


def test_R12_7_only_the_owner_seats_bots_and_only_at_free_tables() -> None:
    table = opened(settings(seats=3))
    assert attempt(table, BOB, SeatBot(EASY)) == "NOT_OWNER R3.0"
    assert attempt(table, ANN, SeatBot(EASY, 1)) == "seat_taken"
    staked = opened(settings(stake_coins=1))
    assert attempt(staked, ANN, SeatBot(EASY)) == "NO_BOTS_AT_STAKED_TABLE R12.7"


def test_C06_no_moves_before_the_deal_and_after_the_end() -> None:
    table = opened(settings())
    sit(table, "A")
    for move in ("A: 6♥", "A: pass", "A: take", "A: transfer 6♥", "A: 7♥ beats 6♥"):
        assert table.refused(move) == "MATCH_NOT_IN_PLAY R3.0"
    sit(table, "B")
    table.play("B: leave")
    for move in ("A: 6♥", "A: pass", "B: take", "A: transfer 6♥", "A: 7♥ beats 6♥"):
        assert table.refused(move) == "MATCH_NOT_IN_PLAY R3.0"
    assert table.refused("A: leave") == "MATCH_NOT_IN_PLAY R10.4"


@pytest.mark.parametrize(("deck", "seats"), [(24, 3), (36, 2), (36, 5), (52, 6)])
def test_R3_1_R3_2_six_cards_each_and_the_trump_card_is_drawn_last(deck: int, seats: int) -> None:
    match = full(settings(deck=deck, seats=seats)).match
    assert [hand.bit_count() for hand in match.hands] == [6] * seats
    assert len(match.stock) == deck - 6 * seats
    assert match.stock[0] == match.trump_card  # the end of the list is drawn first
    assert match.trump_suit == (match.trump_card - 1) // 13


@pytest.mark.parametrize(("deck", "seats"), [(36, 6), (24, 4)])
def test_C04_R3_3_a_deal_that_uses_up_the_deck(deck: int, seats: int) -> None:
    table = full(settings(deck=deck, seats=seats))
    match = table.match
    last_dealt = table.records[-1].event.dealt.hands[-1].cards[-1]
    assert match.stock == []
    assert match.trump_card == last_dealt
    assert card_name(last_dealt) in table.hand("ABCDEF"[seats - 1]).split()
    assert match.trump_suit == (last_dealt - 1) // 13


def test_R3_4_the_holder_of_the_lowest_trump_attacks_first() -> None:
    assert dealt(*ALL_36, trump="A♠").attacker == "E"  # holds 6♠; F holds higher ones
    low = dealt("7♠ 6♥ 7♥ 8♥ 9♥ 10♥", "9♠ A♠ K♠ Q♠ J♠ 10♠", "6♣ 7♣ 8♣ 9♣ 10♣ J♣", trump="6♠")
    assert low.attacker == "A"  # 6♠ is under the stock


def test_R3_4_the_first_attacker_holds_the_lowest_trump_of_any_deal() -> None:
    seen = set()
    for seed in range(60):
        table = full(settings(deck=52, seats=4), server_seed=bytes([seed]) * 32)
        deal = table.records[-1].event.dealt
        suit = (deal.trump_card - 1) // 13
        trumps = [
            (c, hand.seat) for hand in deal.hands for c in hand.cards if (c - 1) // 13 == suit
        ]
        if trumps:
            assert deal.first_attacker == min(trumps)[1]
            seen.add(deal.first_attacker)
    assert seen == {0, 1, 2, 3}


def test_R3_5_a_hand_of_six_trumps_is_played_as_dealt() -> None:
    table = dealt("6♠ 7♠ 8♠ 9♠ 10♠ J♠", "6♣ 6♦ 6♥ 7♣ 7♦ 7♥", trump="A♠")
    assert kinds(table.play("A: J♠")) == ["attacked"]
