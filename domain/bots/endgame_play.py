"""Endings of two seats with an empty stock, where every card's place is known (R14.4)."""

from typing import Final

from domain.bots.card_memory import CardMemory
from domain.bots.packed_cards import split, unpack
from domain.bots.simulation import Simulation
from domain.cards import Card, CardMask, mask_of
from domain.endgame import EndgameMove as Choice
from domain.endgame import MoveKind, Position, Role, Value
from domain.endgame.solver import Solver
from domain.match.move_messages import attack, defend, pass_turn, take, transfer
from domain.match.state import ATTACK_CARDS_MAX_OPENING
from durak.v1.table_pb2 import Move, TableView

POSITIONS_MAX: Final = 20_000
"""Positions that the solver may visit for one move of a bot."""
PLAYOUT_POSITIONS_MAX: Final = 2_000
"""The same for the end of one play-out."""


def is_endgame(view: TableView) -> bool:
    """Two seats are in play and the stock is empty."""
    return not view.stock_count and sum(not seat.place for seat in view.seats) == 2


def best_moves(view: TableView, memory: CardMemory) -> list[Move]:
    """The moves that keep the best result in an ending, as far as the budget can tell.

    One move where it is proven to win; else every move that is not proven to be worse than another.
    The seat must be on the clock, with more than one move; challenges are left out.
    """
    solver = Solver(position(view, memory))
    solution = solver.solve(POSITIONS_MAX)
    if solution.exact and solution.value is Value.WIN:
        return [_move(solution.best_move)]
    values = solver.evaluate_moves(POSITIONS_MAX)
    proven = max((found.value for found in values.values() if found.exact), default=Value.LOSS)
    return [
        _move(choice)
        for choice, found in values.items()
        if found.value >= proven or not found.exact
    ]


def position(view: TableView, memory: CardMemory) -> Position:
    """The ending as the solver takes it."""
    attacker, defender = (_hand(view, memory, seat) for seat in (view.attacker, view.defender))
    unbeaten = [pair.attack_card for pair in view.table if not pair.defence.card]
    beaten = [
        card
        for pair in view.table
        if pair.defence.card
        for card in (pair.attack_card, pair.defence.card)
    ]
    return Position(
        attacker_hand=attacker,
        defender_hand=defender,
        trump_suit=view.trump_suit - 1,
        unbeaten=mask_of(unbeaten),
        beaten=mask_of(beaten),
        taking=view.taking,
        turn=Role.DEFENDER if view.your_seat == view.defender else Role.ATTACKER,
        transfer=view.settings.transfer,
        draw_allowed=view.settings.draw_allowed,
        five_card_limit=view.settings.five_card_opening and not view.discard_count,
        quiet_bouts=view.bouts_without_discard,
        attacker_seat=view.attacker,
        defender_seat=view.defender,
    )


def exact_outcome(world: Simulation, seat: int, trump_suit: int) -> float | None:
    """How a world with two seats and no stock, where a bout begins, ends for one of them.

    1 if the seat wins, 0.5 for a draw, 0 if it is the durak; None if the budget does not tell.
    """
    attacker, defender = (
        mask_of(unpack(card, trump_suit) for card in split(world.hands[side]))
        for side in (world.attacker, world.defender)
    )
    start = Position(
        attacker_hand=attacker,
        defender_hand=defender,
        trump_suit=trump_suit,
        transfer=world.variant.transfers,
        draw_allowed=world.variant.draw_allowed,
        five_card_limit=world.attacks_max == ATTACK_CARDS_MAX_OPENING,
        quiet_bouts=world.dry_bouts,
        attacker_seat=world.attacker,
        defender_seat=world.defender,
    )
    solution = Solver(start).solve(PLAYOUT_POSITIONS_MAX)
    if not solution.exact:
        return None
    value = solution.value if seat == world.attacker else -solution.value
    return (1 + value) / 2


def _hand(view: TableView, memory: CardMemory, seat: int) -> CardMask:
    """A hand: the other seat has all that is unseen, since the stock is empty."""
    own = seat == view.your_seat
    return memory.known[seat] if own else memory.known[seat] | memory.unseen


def _move(choice: Choice) -> Move:
    kind, card, target = choice.kind, _number(choice.card), _number(choice.target)
    match kind:
        case MoveKind.ATTACK:
            return attack(card)
        case MoveKind.DEFEND:
            return defend(target, card)
        case MoveKind.TRANSFER:
            return transfer(card)
        case MoveKind.TAKE:
            return take()
        case MoveKind.PASS:
            return pass_turn()
        case MoveKind.WAIT:
            raise AssertionError("a seat on the clock has nobody to wait for")


def _number(bit: CardMask) -> Card:
    """The number of the card with this bit; 0 for none."""
    return bit.bit_length()  # type: ignore[return-value] # the bit's place is the card's number
