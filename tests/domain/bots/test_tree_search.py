"""The tree search of the hard bot: its moves are those of the rules, and it finds the best one."""

from __future__ import annotations

import pytest

from domain.bots.card_memory import remember_cards
from domain.bots.determinization import Determinizer, SeededRandom
from domain.bots.evaluation import HAND_EVALUATORS
from domain.bots.hard import to_action
from domain.bots.observation import observe
from domain.bots.packed_cards import pack_cards, pack_mask
from domain.bots.policy import NORMAL
from domain.bots.simulation import Simulation
from domain.bots.tree_search import TreeSearch, apply_action, next_seat, possible_actions
from domain.cards import CARD_BY_NAME
from domain.endgame.conversion import move_of_event, to_move_message
from domain.match.move_messages import list_moves
from domain.match.view import seats_in
from durak.v1.settings_pb2 import Deck
from tests.domain.bots.test_hard import turns
from tests.domain.endgame_tables import endgame_table
from tests.domain.random_play import all_settings, dealt_by_seed
from tests.domain.tables import LETTERS, Table, settings

PLAIN_SETTINGS = [wanted for wanted in all_settings() if not wanted.tricky]


@pytest.mark.parametrize("index", range(3, len(PLAIN_SETTINGS), len(PLAIN_SETTINGS) // 8))
def test_the_actions_of_a_seat_on_the_clock_are_its_legal_moves(index: int) -> None:
    for table, seat in turns(PLAIN_SETTINGS[index], index):
        view, history = table.shown_to(seat)
        samples = Determinizer(view, remember_cards(history, seat))
        simulation = samples.sample(SeededRandom(1))
        seen = observe(view)
        actions = {to_action(move, seen) for move in list_moves(view.moves)} - {None}
        assert set(possible_actions(simulation, seat)) == actions
        has_choice = len(actions) > 1 or seat == view.defender  # a forced pass is not an action
        if has_choice and len(seats_in(table.match.in_play)) == 2:
            assert next_seat(simulation) == seat


@pytest.mark.parametrize("index", range(5, len(PLAIN_SETTINGS), len(PLAIN_SETTINGS) // 8))
def test_an_action_changes_the_table_like_its_move(index: int) -> None:
    """While the bout goes on: the simulation closes a bout in a step of its own."""
    compared = 0
    played, simulation, seen = 0, None, None
    for table, seat in turns(PLAIN_SETTINGS[index], index):
        match = table.match
        found = [move_of_event(record.event) for record in table.records[played:]]
        if simulation is not None and seen is not None and len(found) == 1 and found[0]:
            mover, move = found[0]
            message = to_move_message(move)
            action = None if message is None else to_action(message, seen)
            if action is not None:
                apply_action(simulation, mover, action)
                assert state(simulation) == state(open_simulation(table, seat))
                compared += 1
        played, simulation = len(table.records), open_simulation(table, seat)
        seen = observe(table.shown_to(match.defender)[0])
    assert compared > 10


def open_simulation(table: Table, seat: int) -> Simulation:
    """The table with all hands open."""
    view, history = table.shown_to(seat)
    simulation = Determinizer(view, remember_cards(history, seat)).sample(SeededRandom(1))
    simulation.hands = [pack_mask(hand, table.match.trump_suit) for hand in table.match.hands]
    return simulation


def state(simulation: Simulation) -> tuple[object, ...]:
    return (
        simulation.hands,
        simulation.table,
        simulation.ranks,
        sorted(simulation.unbeaten),
        (simulation.attacker, simulation.defender, simulation.cap, simulation.attacks),
        (simulation.beaten, simulation.taking, simulation.passed),
    )


def search_of(table: Table, letter: str, seed: int, iterations: int) -> tuple[int, list[int]]:
    """The action that the search finds for a seat, and all its actions."""
    seat = LETTERS.index(letter)
    view, history = table.shown_to(seat)
    samples = Determinizer(view, remember_cards(history, seat))
    search = TreeSearch(
        samples,
        HAND_EVALUATORS[Deck.DECK_36],
        NORMAL,
        SeededRandom(seed),
        view.trump_suit - 1,
        ends_known=False,
    )
    actions = possible_actions(samples.sample(SeededRandom(0)), seat)
    return search.best(seat, actions, iterations), actions


def test_the_search_finds_the_only_winning_lead_without_the_solver() -> None:
    """Also where the normal bot, whose policy the playouts follow, leads another card."""
    table = endgame_table("7♥ 6♠", "8♥ 9♣", trump="♠")
    for seed in range(5):
        assert search_of(table, "A", seed, 200)[0] == pack_cards([CARD_BY_NAME["6♠"]], 3)


def test_the_search_reckons_with_the_best_answers_and_not_only_with_those_of_the_policy() -> None:
    """A holds 6♣ K♦, B 9♣ K♥. B takes K♦, and 6♣ is the last card of A. 6♣ first loses."""
    table = endgame_table("6♣ K♦", "9♣ K♥", trump="♠")
    for seed in range(5):
        assert search_of(table, "A", seed, 200)[0] == pack_cards([CARD_BY_NAME["K♦"]], 3)


def test_a_search_depends_on_its_seed_alone() -> None:
    table = dealt_by_seed(settings(), 3)
    letter = LETTERS[seats_in(table.match.on_clock())[0]]
    assert search_of(table, letter, 5, 50) == search_of(table, letter, 5, 50)
    assert len({search_of(table, letter, seed, 2)[0] for seed in range(20)}) > 1
