"""Play-outs: a simulation that is played to its end goes as a match by the rules does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from domain.bots import Bot
from domain.bots.arena import BotMatch
from domain.bots.normal import policy_move
from domain.bots.packed_cards import BEATERS_OF, SAME_RANK, pack_cards, pack_mask, split, unpack
from domain.bots.policy import NORMAL
from domain.bots.simulation import DRAW, Simulation, Variant
from domain.cards import BEATERS, CARDS, RANK_MASK_OF, cards_in
from durak.v1.events_pb2 import Event, Outcome
from durak.v1.settings_pb2 import Deck, Settings
from durak.v1.table_pb2 import Move, TableView
from tests.domain.tables import settings


@pytest.mark.parametrize("trump_suit", range(4))
def test_R1_3_packed_cards_have_the_same_order_as_cards(trump_suit: int) -> None:
    for card in CARDS:
        bit = pack_cards([card], trump_suit)
        assert unpack(bit, trump_suit) == card
        assert BEATERS_OF[bit] == pack_mask(BEATERS[trump_suit][card], trump_suit)
        assert SAME_RANK[bit] == pack_mask(RANK_MASK_OF[card], trump_suit)
    weakest = split(pack_cards(CARDS, trump_suit))
    assert weakest[:3] == [bit for bit in weakest if SAME_RANK[bit] == SAME_RANK[weakest[0]]][:3]
    assert [unpack(bit, trump_suit) for bit in weakest[39:]] == list(CARDS)[
        13 * trump_suit : 13 * trump_suit + 13
    ]


def policy_of_normal(view: TableView, _: Sequence[Event], __: int) -> Move:
    return policy_move(view, NORMAL)


NORMAL_PLAYER = Bot(policy_of_normal)


def simulation_of(match: BotMatch) -> Simulation:
    """A match just after the deal, with all cards open."""
    state = match.match
    trump_suit = state.trump_suit
    return Simulation(
        [pack_cards(cards_in(hand), trump_suit) for hand in state.hands],
        [pack_cards([card], trump_suit) for card in state.stock],
        state.attacker,
        Variant(state.table.throw_in_all, state.table.transfer, state.table.draw_allowed),
        state.attacks_max,
    )


@pytest.mark.parametrize("transfer", [False, True])
@pytest.mark.parametrize("five_card_opening", [False, True])
@pytest.mark.parametrize("draw_allowed", [False, True])
@pytest.mark.parametrize("deck", [Deck.DECK_24, Deck.DECK_36, Deck.DECK_52])
def test_a_simulation_of_two_seats_ends_like_the_match(
    transfer: bool, five_card_opening: bool, draw_allowed: bool, deck: Deck.ValueType
) -> None:
    wanted = settings(
        transfer=transfer,
        five_card_opening=five_card_opening,
        draw_allowed=draw_allowed,
        deck=deck,
    )
    for number in range(12):
        match = BotMatch(wanted, [NORMAL_PLAYER] * 2, number.to_bytes(32, "big"), (1, 2))
        simulation = simulation_of(match)
        result = match.play()
        durak = DRAW if result.outcome == Outcome.OUTCOME_DRAW else result.durak
        assert simulation.play_out(NORMAL) == durak
        assert simulation.bouts == match.match.bout


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
@pytest.mark.parametrize("throw_in", [1, 2])
def test_a_simulation_of_more_seats_loses_no_card_and_ends(seats: int, throw_in: int) -> None:
    for number in range(12):
        wanted: Settings = settings(seats=seats, throw_in=throw_in, transfer=bool(number % 2))
        match = BotMatch(wanted, [NORMAL_PLAYER] * seats, number.to_bytes(32, "big"), range(seats))
        simulation = simulation_of(match)
        twin = simulation.copy()
        durak = simulation.play_out(NORMAL)
        assert not simulation.stock
        if durak != DRAW:
            assert [seat for seat, hand in enumerate(simulation.hands) if hand] == [durak]
        assert twin.play_out(NORMAL) == durak  # the copy is independent, and play is repeatable
