"""The hard bot's use of the exact solver, in endgames where all cards are known (R14.4)."""

from typing import Final

from domain.bots.card_memory import CardMemory
from domain.bots.packed_cards import split, unpack
from domain.bots.simulation import Simulation
from domain.cards import mask_of
from domain.endgame.conversion import position_from_view, to_move_message
from domain.endgame.position import EndgameMove, Position
from domain.endgame.solver import Solution, Solver, Value
from domain.match.state import OPENING_ATTACK_CARDS_MAX
from durak.v1.table_pb2 import Move, TableView

POSITIONS_MAX: Final = 20_000
"""The maximum number of positions that the solver visits for one move of a bot."""
PLAYOUT_POSITIONS_MAX: Final = 2_000
"""The maximum number of positions that the solver visits for the end of one playout."""


def is_endgame(view: TableView) -> bool:
    """Return whether two seats are in play and the stock is empty."""
    return not view.stock_count and sum(not seat.place for seat in view.seats) == 2


def best_moves(view: TableView, memory: CardMemory, positions: int = POSITIONS_MAX) -> list[Move]:
    """Return the moves that keep the best result, as far as the solver's budget can prove it.

    This is a single move if it is proven to win, else all moves that are not proven to be worse
    than another. ``positions`` is the budget. Challenges are not considered. The seat must be on
    the clock and have more than one move.
    """
    solver = Solver(known_position(view, memory))
    solution = solver.solve(positions)
    if solution.exact and solution.value is Value.WIN:
        return [_message(solution.best_move)]
    values = solver.evaluate_moves(positions)
    proven = max((found.value for found in values.values() if found.exact), default=Value.LOSS)
    return [
        _message(move) for move, found in values.items() if found.value >= proven or not found.exact
    ]


def known_position(view: TableView, memory: CardMemory) -> Position:
    """Return the solver's position. The other seat holds all unseen cards: there is no stock."""
    hands = [
        known if seat == view.your_seat else known | memory.unseen
        for seat, known in enumerate(memory.known)
    ]
    return position_from_view(view, hands)


def solve_bout(simulation: Simulation, trump_suit: int, positions: int) -> Solution:
    """Solve the start of a bout of two seats without a stock, for the attacker.

    ``positions`` is the maximum number of positions to visit.
    """
    attacker, defender = (
        mask_of(unpack(card, trump_suit) for card in split(simulation.hands[side]))
        for side in (simulation.attacker, simulation.defender)
    )
    position = Position(
        attacker_hand=attacker,
        defender_hand=defender,
        trump_suit=trump_suit,
        transfer=simulation.variant.transfers,
        draw_allowed=simulation.variant.draw_allowed,
        five_card_limit=simulation.attacks_max == OPENING_ATTACK_CARDS_MAX,
        bouts_without_discard=simulation.bouts_without_discard,
        attacker_seat=simulation.attacker,
        defender_seat=simulation.defender,
    )
    return Solver(position).solve(positions)


def _message(move: EndgameMove) -> Move:
    message = to_move_message(move)
    assert message is not None, "WAIT is not a move of a seat on the clock"
    return message
