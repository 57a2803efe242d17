"""The rules as the audit implements them. Expected values are worked out from docs/rules.md."""

import pytest

from domain.audit import deck, score
from domain.audit.bout import Bout, Play, Row
from domain.audit.consequences import Consequence, Discard, Draws, GoingOut, SeatDraw, UnknownDeal
from domain.audit.deck import Deal
from domain.audit.score import Score
from domain.audit.state import State
from domain.audit.table import Table
from durak.v1.events_pb2 import TableOpened
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn

CARDS = {deck.label(card): card for card in range(1, 53)}


def expected(state: State) -> Consequence | UnknownDeal:
    """The consequence that must be the next event."""
    assert state.expected is not None
    return state.expected.event


def cards(words: str) -> list[int]:
    return [CARDS[word] for word in words.split()]


def state_of(*hands: str, stock: str = "", draw_allowed: bool = True, seats: int = 0) -> State:
    """A bout about to start: seat 0 leads, spades are trumps."""
    settings = Settings(
        deck=Deck.DECK_36,
        seats=seats or len(hands),
        throw_in=ThrowIn.THROW_IN_NEIGHBOURS,
        draw_allowed=draw_allowed,
        stake_coins=10,
    )
    state = State(Table(TableOpened(settings=settings)))
    state.apply(Deal([cards(hand) for hand in hands], CARDS["A♠"], cards(stock), 0), 0)
    return state


# --- cards and the shuffle -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "attack", "beats"),
    [
        ("7♥", "6♥", True),
        ("6♥", "7♥", False),
        ("7♦", "6♥", False),
        ("6♠", "A♥", True),
        ("A♥", "6♠", False),
        ("7♠", "6♠", True),
        ("6♠", "7♠", False),
    ],
)
def test_R1_3_which_card_beats_which(card: str, attack: str, beats: bool) -> None:
    assert deck.beats(CARDS[card], CARDS[attack], "♠") is beats


def test_R1_2_decks() -> None:
    assert [deck.label(deck.DECKS[size][0]) for size in (24, 36, 52)] == ["9♣", "6♣", "2♣"]
    assert [len(deck.DECKS[size]) for size in (24, 36, 52)] == [24, 36, 52]


def test_R3_3_the_last_card_dealt_shows_the_trumps_when_the_deck_is_used_up() -> None:
    deal = deck.deal(36, bytes(32), bytes(16), [b""] * 6)
    assert deal.stock == []
    assert deal.trump_card == deal.hands[5][5]


def test_R3_4_the_holder_of_the_lowest_trump_leads() -> None:
    hands = [cards("6♥ 9♠"), cards("A♥ 7♠"), cards("A♠")]
    assert deck.lowest_trump(hands, "♠") == 1
    assert deck.lowest_trump(hands, "♦") is None


# --- the bout ----------------------------------------------------------------------------------


def test_R4_3_R5_2_cap_and_throwers() -> None:
    state = state_of("6♥ 7♥", "8♥ 9♥ 10♥", "6♣", "7♣", "8♣")
    bout = state.bout
    assert bout is not None
    assert (bout.attacker, bout.defender, bout.room) == (0, 1, 3)
    assert bout.throwers == {0, 2}
    assert not bout.throw_in_breaks(2)
    assert [broken.clause for broken in bout.throw_in_breaks(3)] == ["R5.2"]
    bout.rows = [Row(CARDS["6♥"], 0)] * 3
    assert [broken.clause for broken in bout.throw_in_breaks(0)] == ["R4.3"]


def test_R5_1_R6_1_the_ranks_of_throw_ins_and_transfers() -> None:
    bout = Bout(0)
    bout.rows = [Row(CARDS["6♥"], CARDS["7♥"]), Row(CARDS["7♣"], 0)]
    assert bout.rank_breaks(CARDS["6♠"]) is None
    assert bout.rank_breaks(CARDS["7♠"]) is None
    assert bout.rank_breaks(CARDS["8♠"]) is not None
    late = bout.transfer_rank_breaks(CARDS["6♠"])
    assert late is not None
    assert late.expected == "nothing beaten yet"
    bout.rows = [Row(CARDS["6♥"], 0)]
    assert bout.transfer_rank_breaks(CARDS["6♠"]) is None
    assert bout.transfer_rank_breaks(CARDS["7♠"]) is not None


@pytest.mark.parametrize(("held", "limit", "fine"), [(2, 6, True), (1, 6, False), (6, 1, False)])
def test_R6_2_the_next_seat_can_face_the_transfer(held: int, limit: int, fine: bool) -> None:
    bout = Bout(0)
    bout.rows = [Row(CARDS["6♥"], 0)]
    assert (bout.transfer_room_breaks(held, limit) == []) is fine


def test_R8_2_the_defender_draws_last() -> None:
    state = state_of("6♥", "7♥", "8♥", stock="9♣ 10♣ J♣ Q♣ K♣ A♣ 6♦")
    bout = state.bout
    assert bout is not None
    state.hands[0].clear()
    state.hands[1].clear()
    bout.rows = [Row(CARDS["6♥"], CARDS["7♥"])]
    bout.add_play(5, Play(1, CARDS["7♥"], ""), 0)
    bout.passed = {0, 2}
    state.expect_end_of_bout()
    assert expected(state) == Discard(cards("6♥ 7♥"))
    state.apply(Discard(cards("6♥ 7♥")), 0)
    draws = [SeatDraw(0, cards("9♣ 10♣ J♣ Q♣ K♣ A♣")), SeatDraw(2, cards("6♦"))]
    assert expected(state) == Draws(draws)


# --- the result (R15, first and last card of two hands; R9.4) ------------------------------------


def beaten_with_nothing_left(draw_allowed: bool) -> State:
    state = state_of("6♥", "7♥", draw_allowed=draw_allowed)
    assert state.bout is not None
    for hand in state.hands:
        hand.clear()
    state.bout.rows = [Row(CARDS["6♥"], CARDS["7♥"])]
    state.expect_end_of_bout()
    state.apply(Discard(cards("6♥ 7♥")), 0)
    return state


def test_R9_4_both_hands_empty_is_a_draw() -> None:
    state = beaten_with_nothing_left(draw_allowed=True)
    assert expected(state) == GoingOut([0, 1], 1)
    state.apply(GoingOut([0, 1], 1), 0)
    assert expected(state) == score.settled(10, [0, 1], [[0, 1]], [])


def test_R9_4_the_defender_is_the_durak_if_draws_are_not_allowed() -> None:
    state = beaten_with_nothing_left(draw_allowed=False)
    assert expected(state) == GoingOut([0], 1)
    state.apply(GoingOut([0], 1), 0)
    result = expected(state)
    assert isinstance(result, Score)
    assert (result.durak, result.shares) == (1, {0: 20, 1: 0})


# --- shares ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stake", "went_out", "durak", "shares"),
    [
        (10, [[1]], 0, [0, 20]),  # R12.3: two seats, the winner takes the bank
        # Bank 30, weights 2 1: 20 and 10.
        (10, [[2], [0]], 1, [10, 0, 20]),
        # Bank 21, weights 2 1: 14 and 7; the shared place pools 21: 11 to the first to draw.
        (7, [[1, 0]], 2, [10, 11, 0]),
        # Bank 28, weights 3 2 1: 14, 9, 4, and the 1 left over to the first place.
        (7, [[0], [1], [2]], 3, [15, 9, 4, 0]),
        # The same bank; places 2 and 3 shared: 13, the odd coin to seat 2, which draws earlier.
        (7, [[0], [2, 1]], 3, [15, 6, 7, 0]),
        # Bank 5, weights 4 3 2 1: 2, 1, 1, 0, and 1 left over.
        (1, [[4], [3], [2], [1]], 0, [0, 0, 1, 1, 3]),
        # Bank 600, weights 5 4 3 2 1 of 15: 200 160 120 80 40; places 1 to 3 shared: 160 each.
        (100, [[0, 2, 4], [1], [3]], 5, [160, 80, 160, 40, 160, 0]),
    ],
)
def test_R12_3_R12_4_shares_by_place(
    stake: int, went_out: list[list[int]], durak: int, shares: list[int]
) -> None:
    seats = list(range(len(shares)))
    ending = score.settled(stake, seats, went_out, [durak])
    assert [ending.shares[seat] for seat in seats] == shares
    assert sum(shares) == stake * len(seats)


def test_R9_2_seats_of_one_bout_share_a_place() -> None:
    ending = score.settled(0, range(5), [[3], [1, 0], [4]], [2])
    assert ending.places == {3: 1, 1: 2, 0: 2, 4: 4, 2: 5}


def test_R9_5_R12_5_a_draw_returns_stakes_and_seats_in_play_share_a_place() -> None:
    ending = score.settled(7, range(4), [[3]], [0, 1, 2])
    assert ending.places == {3: 1, 0: 2, 1: 2, 2: 2}
    assert ending.shares == {0: 7, 1: 7, 2: 7, 3: 7}


def test_R12_6_the_leavers_stake_goes_to_the_others_from_the_lowest_seat_up() -> None:
    ending = score.abandoned(7, range(4), 1)  # 7 among three: 3 2 2, beside their own 7
    assert ending.shares == {0: 10, 1: 0, 2: 9, 3: 9}
    assert set(ending.places.values()) == {None}


def test_R12_5_a_cancelled_match_returns_the_stakes() -> None:
    assert score.cancelled(7, [0, 2]).shares == {0: 7, 2: 7}
