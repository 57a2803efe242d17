"""The normal bot (R14.3): saves trumps, presses where the defender seems weak, heeds the stock."""

from collections.abc import Sequence
from typing import Final

from domain.bots.legality import illegal_plays
from domain.bots.observation import Observation, observe
from domain.bots.packed_cards import pack_cards, unpack
from domain.bots.policy import NORMAL, PhasePolicy, Policy
from domain.match.move_messages import attack, challenge, defend, pass_turn, take, transfer
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView

CHALLENGE_ONE_IN: Final = 4
"""Of the moves at which it could challenge an illegal play (R14.5)."""


def choose_move(view: TableView, history: Sequence[Event], seed: int) -> Move:
    """The move of the normal bot. It needs the history on tricky tables alone."""
    if view.moves.challenge and seed % CHALLENGE_ONE_IN == 0:
        illegal = illegal_plays(view, history)
        if illegal:
            return challenge(illegal[0])
    return policy_move(view, NORMAL)


def policy_move(view: TableView, policy: Policy) -> Move:
    """The move of a policy, which does not challenge."""
    moves, sight = view.moves, observe(view)
    phase = policy.at(sight.stock)
    if moves.can_take:
        return _defence(view, sight, phase)
    if not view.table:
        return attack(unpack(phase.lead(sight.hand), sight.trump_suit))
    fitting = pack_cards(moves.attack, sight.trump_suit)
    card = 0
    if fitting:
        card = phase.give(fitting) if view.taking else phase.throw(fitting, sight.weak)
    return attack(unpack(card, sight.trump_suit)) if card else pass_turn()


def _defence(view: TableView, sight: Observation, phase: PhasePolicy) -> Move:
    """As the defender: beat, transfer or take, whichever is worth most."""
    plan = phase.answer(
        sight.hand,
        sight.unbeaten,
        sight.table,
        sight.ranks,
        transfer=bool(view.moves.transfer),
    )
    if not plan:
        return take()
    target, card = plan[0]
    if not target:
        return transfer(unpack(card, sight.trump_suit))
    return defend(unpack(target, sight.trump_suit), unpack(card, sight.trump_suit))
