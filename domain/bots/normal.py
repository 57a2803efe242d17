"""The normal bot: saves trumps, attacks weak suits and watches the stock (R14.3)."""

from collections.abc import Sequence
from typing import Final

from domain.bots.legality import sure_challenge
from domain.bots.observation import Observation, observe
from domain.bots.packed_cards import pack_cards, unpack
from domain.bots.policy import NORMAL, PhasePolicy, Policy
from domain.match.move_messages import attack, defend, pass_turn, take, transfer
from durak.v1.events_pb2 import Event
from durak.v1.table_pb2 import Move, TableView

CHALLENGE_ONE_IN: Final = 4
"""The bot challenges an illegal play at one of this many opportunities (R14.5)."""


def choose_move(view: TableView, history: Sequence[Event], seed: int) -> Move:
    """Return the normal bot's move. It uses the history on tricky tables only."""
    return choose_challenge(view, history, seed) or policy_move(view, NORMAL)


def choose_challenge(view: TableView, history: Sequence[Event], seed: int) -> Move | None:
    """Return a challenge of an illegal play at some opportunities, or None."""
    return sure_challenge(view, history) if seed % CHALLENGE_ONE_IN == 0 else None


def policy_move(view: TableView, policy: Policy) -> Move:
    """Return the move of a policy. A policy never challenges."""
    moves, seen = view.moves, observe(view)
    phase = policy.for_stock(seen.stock, seen.in_play)
    if moves.can_take:
        return _defence(view, seen, phase)
    if not view.table:
        return attack(unpack(phase.lead(seen.hand), seen.trump_suit))
    fitting = pack_cards(moves.attack, seen.trump_suit)
    card = 0
    if fitting:
        card = phase.add_to_take(fitting) if view.taking else phase.throw_in(fitting, seen.weak)
    return attack(unpack(card, seen.trump_suit)) if card else pass_turn()


def _defence(view: TableView, seen: Observation, phase: PhasePolicy) -> Move:
    """Return the defender's most valuable move: beat, transfer or take."""
    plan = phase.defend(
        seen.hand,
        seen.unbeaten,
        seen.table,
        seen.ranks,
        transfer=bool(view.moves.transfer),
    )
    if not plan:
        return take()
    target, card = plan[0]
    if not target:
        return transfer(unpack(card, seen.trump_suit))
    return defend(unpack(target, seen.trump_suit), unpack(card, seen.trump_suit))
